#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets, replays every stored corpus, then fuzzes each target for a while.
#
#   tools/fuzz.sh [SECONDS]     fresh fuzzing for each target; default 10, 0 = replay only
#
# The stored corpora stay as they are: new inputs are collected in out/fuzz/corpus, inputs that
# crash in out/fuzz/<target>-*. To keep one, copy it to tests/fuzz/corpus/<target>/.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly seconds=${1:-10}
readonly stored=tests/fuzz/corpus
# An input is a whole file; 64 KiB reaches every state of the parsers, 2 GiB stops a runaway allocation.
readonly limits=(-max_len=65536 -rss_limit_mb=2048 -timeout=25 -print_final_stats=0)

[[ -f build/fuzz/build.ninja ]] || cmake --preset fuzz
cmake --build --preset fuzz -j "$(nproc)" --target fuzzers

export ASAN_SYMBOLIZER_PATH=${ASAN_SYMBOLIZER_PATH:-$(command -v llvm-symbolizer-14 || true)}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

shopt -s nullglob
programs=(build/fuzz/bin/*_fuzz)
[[ ${#programs[@]} -gt 0 ]] || { echo "fuzz: no fuzz targets were built" >&2; exit 1; }

rm -rf out/fuzz
mkdir -p out/fuzz
failed=()
for program in "${programs[@]}"; do
  target=$(basename "$program" _fuzz)
  corpus=out/fuzz/corpus/$target
  log=out/fuzz/$target.log
  mkdir -p "$corpus"
  inputs=("$stored/$target"/*)
  [[ ${#inputs[@]} -eq 0 ]] || cp "${inputs[@]}" "$corpus/"

  run=("$program" "${limits[@]}" "-artifact_prefix=out/fuzz/$target-")
  ok=true
  "${run[@]}" -runs=0 "$corpus" >"$log" 2>&1 </dev/null || ok=false
  if $ok && [[ "$seconds" -gt 0 ]]; then
    "${run[@]}" "-max_total_time=$seconds" "$corpus" >>"$log" 2>&1 </dev/null || ok=false
  fi
  if $ok; then
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log" | tail -n 1)
    found=("$corpus"/*)
    echo "fuzz: $target: ${#inputs[@]} stored inputs replayed, ${runs:-0} fresh runs, corpus now ${#found[@]}"
  else
    failed+=("$target")
    tail -n 60 "$log" >&2
    echo "fuzz: $target: FAILED, see $log" >&2
  fi
done
[[ ${#failed[@]} -eq 0 ]] || { echo "fuzz: failed: ${failed[*]}" >&2; exit 1; }
