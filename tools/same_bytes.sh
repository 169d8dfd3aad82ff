#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same seed gives the same bytes, whichever compiler and however many threads.
#
#   tools/same_bytes.sh PROGRAM...     compares the results of all of them, on 1 and on 2 threads
set -euo pipefail
expected=
for program in "$@"; do
  for threads in 1 2; do
    actual=$("$program" simulate --policy all --seeds 42..44 --threads "$threads" --json | sha256sum)
    echo "${actual%% *}  $program, $threads threads"
    [[ "$actual" == "${expected:=$actual}" ]] || { echo "same_bytes: the results differ" >&2; exit 1; }
  done
done
