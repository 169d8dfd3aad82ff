#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ui/tools/bundle.mjs: the same files give the same bytes, and what the program could not serve is refused.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dist=$folder/dist
failed=0

# A page of three files, fresh each time.
new_page() {
  rm -rf "$dist"
  mkdir -p "$dist/assets"
  printf '<!doctype html>%0500d' 0 >"$dist/index.html"
  printf 'let x = 1;%0500d' 0 >"$dist/assets/app-1a2b.js"
  head -c 300 /dev/urandom >"$dist/assets/font-3c.woff2"
}
bundle() { node ui/tools/bundle.mjs "$dist" "$1"; }

# refused WHAT TEXT: the bundle fails and says so.
refused() {
  if bundle "$folder/none" >"$folder/said" 2>&1 || ! grep -q -- "$2" "$folder/said"; then
    echo "FAILED: $1 must be refused with \"$2\"; it said:" >&2
    cat "$folder/said" >&2
    failed=1
  fi
}

new_page
bundle "$folder/first" >"$folder/said"
touch -d 2001-01-01 "$dist"/assets/*
bundle "$folder/second" >/dev/null
diff -r "$folder/first" "$folder/second" || { echo "FAILED: the same files give other bytes" >&2; failed=1; }
grep -q 'bytes in all, compressed' "$folder/said" || { echo "FAILED: it tells no sizes" >&2; failed=1; }
[[ $(grep -c '^{"/' "$folder/first/embedded_page.inc") -eq 3 ]] || { echo "FAILED: not a row for each file" >&2; failed=1; }
grep -q 'woff2", "font/woff2", "[0-9a-f]*", {[0-9]*, 300}, {[0-9]*, 0}' "$folder/first/embedded_page.inc" ||
  { echo "FAILED: what does not get smaller is not compressed" >&2; failed=1; }

new_page && rm "$dist/index.html" && refused "a page without an index" "has no index.html"
new_page && mkdir "$dist/fonts" && refused "another folder" "fonts/ is not served"
new_page && mkdir "$dist/assets/deep" && refused "a folder in assets" "assets/ has no folders"
new_page && echo x >"$dist/assets/a.exe" && refused "an unknown kind of file" "no known media type"
new_page && echo x >"$dist/assets/a b.js" && refused "a name with a space" "letters, digits"
new_page && head -c 400001 /dev/urandom >"$dist/assets/large.png" && refused "a large page" "at most 400000"
exit "$failed"
