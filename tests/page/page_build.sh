#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/build_page.sh: two builds at once make one page, and a page whose sources have not changed is not built again.
# Works on a copy of the sources, so that no build folder is disturbed.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ -f ui/node_modules/.package-lock.json ]] && command -v node npm >/dev/null ||
  { echo "skipped: ui/node_modules is not there (tools/install_page_deps.sh)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/docs/reference" "$folder/tools"
tar -c --exclude=node_modules --exclude=dist --exclude='*.generated.*' ui docs/openapi.yaml docs/reference tools/build_page.sh | tar -x -C "$folder"
ln -s "$PWD/ui/node_modules" "$folder/ui/node_modules"
cd "$folder"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

tools/build_page.sh first >said-1 2>&1 &
tools/build_page.sh second >said-2 2>&1 || { cat said-2 >&2; fail "the second build"; }
wait $! || { cat said-1 >&2; fail "the first build"; }
diff -r first second || fail "two builds at once give two pages"
[[ $(cat said-1 said-2 | grep -c 'bytes in all') -eq 1 ]] || fail "the page was not built exactly once"

tools/build_page.sh third >said-3
[[ ! -s said-3 ]] || fail "nothing changed, and the page was built again"
diff -r first third || fail "a third folder has another page"

sed -i 's/<title>/<title>changed /' ui/index.html
tools/build_page.sh third >said-4
grep -q 'bytes in all' said-4 || fail "a changed source was not noticed"
! diff -rq first third >/dev/null || fail "a changed source changed nothing"

echo 'this is no program (' >ui/src/main.ts
! tools/build_page.sh third >said-5 2>&1 || fail "a page that cannot be built is no mistake"
grep -q 'the page could not be built' said-5 || { cat said-5 >&2; fail "it does not say what failed"; }
