#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every command that the documentation shows in a ```sh block, page by page, each page in a folder that has
# nothing but the examples.
# An example that no longer works is a failing test, and so is an output that the page shows and the commands no
# longer print (``` blocks without a language).
#
#   tools/run_docs.sh FOLDER-OF-THE-PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(cd "$1" && pwd):$PATH"
failed=0
for page in README.md docs/failures.md docs/models/network.md docs/planner.md docs/security.md docs/tasks/*.md; do
  work=$(mktemp -d)
  cp -r examples "$work/examples"
  # Servers that a page starts end with it, also when it fails; so do their jobs.
  echo 'trap "kill \$(jobs -p) 2>/dev/null || true" EXIT' >"$work/commands.sh"
  awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" >>"$work/commands.sh"
  awk '/^```$/ { on = !on && !sh; sh = 0; next } /^```[a-z]/ { sh = 1 } on' "$page" >"$work/shown.txt"
  export WEIR_STATE=$work/state XDG_CONFIG_HOME=$work
  if (cd "$work" && bash -euo pipefail commands.sh >output.txt 2>&1 && ! grep -vxFf output.txt shown.txt); then
    echo "$page: $(wc -l <"$work/commands.sh") lines of commands work"
  else
    echo "$page: a command fails, or does not print what the page shows" >&2
    tail -n 20 "$work/output.txt" >&2
    failed=1
  fi
  pkill -KILL -f "weir-supervisor $work/" || true
  for _ in 1 2 3 4 5; do rm -rf "$work" 2>/dev/null && break || sleep 0.2; done
done
exit "$failed"
