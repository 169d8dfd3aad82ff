#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Habits of the repository that a compiler does not see. Each is one ctest, tree.<name>.
#
#   tools/check_tree.sh [NAME...]     default: all
#
#   licence      every source file starts with its SPDX line
#   readmes      every folder of src/ has a README.md
#   sizes        no file over 1 MB
#   unfinished   no left-over notes to self
#   paths        no path of one person's machine in sources or docs
#   registries   no address of a package registry in lock files
#   mistakes     what tools/mistakes.txt would break is still there to be broken
#   format       clang-format 14 would change nothing (exit code 77, skipped, when not installed)
#
# Looks at the files git tracks and at new ones that it does not ignore.
set -euo pipefail
cd "$(dirname "$0")/.."

# files [PATHSPEC...]: one existing file per line.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@"
  else
    local names=() pattern
    for pattern in "$@"; do names+=(-o -path "./$pattern" -o -name "$pattern"); done
    find . \( -path ./build -o -path ./out -o -path ./ui/node_modules -o -path ./ui/dist \) -prune -o -type f \( "${names[@]:1}" \) -print | sed 's|^\./||'
  fi | while IFS= read -r file; do
    if [[ -f "$file" ]]; then printf '%s\n' "$file"; fi
  done
}

# search REGEX PATHSPEC...: the matching lines; finding none is no error.
search() {
  local regex=$1
  shift
  files "$@" | tr '\n' '\0' | { xargs -0 -r grep -HnIE -- "$regex" || true; }
}

# report TITLE: fails when standard input has a line, and shows the lines.
report() {
  local found
  found=$(cat)
  [[ -n "$found" ]] || return 0
  printf '%s:\n%s\n' "$1" "$found" >&2
  return 1
}

check_licence() {
  files '*.cpp' '*.h' '*.cmake' 'CMakeLists.txt' '*/CMakeLists.txt' '*.sh' '*.py' Makefile .ci/run \
    '*.svelte' '*.ts' '*.js' '*.mjs' '*.css' '*.html' |
    while IFS= read -r file; do
      if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then echo "  $file"; fi
    done |
    report "no SPDX-License-Identifier in the first two lines"
}

check_readmes() {
  for folder in src/*/; do
    [[ -f "$folder/README.md" ]] || echo "  ${folder%/}"
  done | report "folders without a README.md"
}

check_sizes() {
  files '*' | tr '\n' '\0' | xargs -0 -r stat -c '%s %n' |
    awk '$1 > 1048576 { print "  " $2, $1, "bytes" }' |
    report "files over 1 MB; generate or fetch them instead"
}

check_unfinished() {
  search '\b(TO''DO|FIX''ME|XX''X)\b' '*' |
    report "notes to self; finish it or open an issue"
}

# Scripts make their own temporary folders, so only sources, build files and documents are read.
check_paths() {
  search '(^|[^A-Za-z0-9_.~-])/(work|tmp|home|root|Users)/' \
    '*.cpp' '*.h' '*.md' '*.cmake' '*.txt' '*.json' '*.yaml' '*.yml' '*.csv' '*.svelte' '*.ts' '*.js' '*.mjs' '*.css' '*.html' |
    report "paths that exist on one machine only"
}

# Lock files name packages and their checksums; everybody has a registry of their own.
check_registries() {
  search '"resolved": *"' '*package-lock.json' |
    report "addresses of a package registry; set omit-lockfile-registry-resolved=true and install again"
}

check_mistakes() {
  local file from rest
  while IFS='|' read -r file from rest; do
    [[ -n "$file" && "$file" != \#* ]] || continue
    grep -qF -- "$from" "$file" 2>/dev/null || echo "  $file: $from"
  done <tools/mistakes.txt |
    report "lines of tools/mistakes.txt whose code has changed; break what is there now"
}

check_measurements() {
  local file told
  for file in docs/measurements/*.csv.gz; do
    told=$(grep -oP "^\\| .${file##*/}. \\| \\K[0-9,]+" docs/measurements/README.md | tr -d ,)
    [[ "$told" = $(($(zcat "$file" | grep -vc '^#') - 1)) ]] || echo "  $file"
  done |
    report "tables whose rows docs/measurements/README.md does not count, or counts otherwise"
}

check_format() {
  if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: clang-format-14 is not installed (tools/install_deps.sh format)"
    return 77
  fi
  tools/format.sh --check || { echo "make format lays these out" >&2; return 1; }
}

[[ $# -gt 0 ]] || set -- licence readmes sizes unfinished paths registries mistakes measurements format
status=0
for name in "$@"; do
  declare -F "check_$name" >/dev/null || { echo "check_tree: no check \"$name\"" >&2; exit 2; }
  code=0
  "check_$name" || code=$?
  # One check alone may report "skipped"; among others a skip is no failure.
  if [[ $code -eq 77 && $# -gt 1 ]]; then code=0; fi
  [[ $code -eq 0 ]] || status=$code
done
exit "$status"
