#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every command that the documentation shows in a ```sh block, page by page, each page in an empty folder.
# An example that no longer works is a failing test.
#
#   tools/run_docs.sh FOLDER-OF-THE-PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(cd "$1" && pwd):$PATH"
failed=0
for page in README.md docs/tasks/*.md; do
  work=$(mktemp -d)
  awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" >"$work/commands.sh"
  if (cd "$work" && bash -euo pipefail commands.sh >output.txt 2>&1); then
    echo "$page: $(wc -l <"$work/commands.sh") lines of commands work"
  else
    echo "$page: a command fails" >&2
    tail -n 20 "$work/output.txt" >&2
    failed=1
  fi
  rm -rf "$work"
done
exit "$failed"
