#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Lays out every C++ file with clang-format 14.
#
#   tools/format.sh             change the files
#   tools/format.sh --check     change nothing; name the lines that differ and fail
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[[ "${1:-}" != --check ]] || mode=(--dry-run --Werror)
folders=()
for folder in src tests bench examples; do
  if [[ -d "$folder" ]]; then folders+=("$folder"); fi
done
find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.h' \) -print0 | sort -z |
  xargs -0 -r clang-format-14 "${mode[@]}"
