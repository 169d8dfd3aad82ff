#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Where there is no node on PATH, everything is configured as always, and the program has no page: nothing in the build asks
# for node or npm. tools/fresh_machine.sh builds all of it on a machine without them.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# All programs there are, but for these.
mkdir "$folder/bin"
IFS=: read -ra places <<<"$PATH"
for place in "${places[@]}"; do
  for program in "$place"/*; do
    name=${program##*/}
    [[ ! -x "$program" || "$name" =~ ^(node|nodejs|npm|npx)$ ]] || ln -sf "$program" "$folder/bin/$name"
  done
done
export PATH=$folder/bin
! command -v node npm >/dev/null || fail "node is on PATH still"

cmake --preset release -B "$folder/build" >"$folder/said" 2>&1 || { cat "$folder/said" >&2; fail "cannot be configured"; }
grep -q 'The page is left out: node and npm are not on PATH' "$folder/said" || fail "it does not say that the page is left out"
! grep -q 'build_page' "$folder/build/build.ninja" || fail "the build asks for the page"
ninja -C "$folder/build" CMakeFiles/weir_dashboard.dir/src/dashboard/embedded_page.cpp.o >"$folder/said" 2>&1 ||
  { cat "$folder/said" >&2; fail "cannot be compiled"; }
! nm "$folder/build/CMakeFiles/weir_dashboard.dir/src/dashboard/embedded_page.cpp.o" | grep -q weir_page_bytes ||
  fail "there is a page"
