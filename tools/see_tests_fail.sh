#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A test that cannot fail proves nothing. This breaks the code in a copy of the tree, one mistake at a time,
# and demands that the named tests notice. Each line of the list: file | what to replace | by what | program | tests.
#
#   tools/see_tests_fail.sh [PATTERN]     only the mistakes whose line matches
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=${1:-.}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 tar -cf - --no-recursion | tar -xf - -C "$copy"

build() { cmake --build "$copy/build" --target "$1" -j "$(nproc)" >"$copy/build.log" 2>&1; }

cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG -Wno-error" -DWEIR_BENCH=OFF >"$copy/configure.log"

failures=0
count=0
while IFS='|' read -r file from to program tests; do
  [[ -n "$file" && "$file" != \#* ]] || continue
  grep -q -- "$pattern" <<<"$file|$from|$to|$program|$tests" || continue
  count=$((count + 1))
  cp "$file" "$copy/$file"
  FROM="$from" TO="$to" python3 - "$copy/$file" <<'PY' || { echo "NOT FOUND  $file: $from"; failures=$((failures + 1)); continue; }
import os, sys
path = sys.argv[1]
text = open(path).read()
if text.count(os.environ["FROM"]) < 1:
    sys.exit(1)
open(path, "w").write(text.replace(os.environ["FROM"], os.environ["TO"].replace("\\n", "\n"), 1))
PY
  if ! build "$program"; then
    echo "NO BUILD   $file: $from -> $to"; tail -n 5 "$copy/build.log"; failures=$((failures + 1))
  elif timeout 120 "$copy/build/bin/$program" --gtest_filter="$tests" >"$copy/test.log" 2>&1; then
    echo "UNNOTICED  $file: $from -> $to   ($tests)"; failures=$((failures + 1))
  elif ! grep -q '\[ RUN ' "$copy/test.log"; then
    echo "NO TEST    $tests"; failures=$((failures + 1))
  else
    echo "noticed    $file: $from -> $to   ($tests)"
  fi
  cp "$file" "$copy/$file"
done <tools/mistakes.txt
echo "$count mistakes made, $failures not noticed"
[[ $failures -eq 0 ]]
