#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every benchmark of the release build, with the machine beside the figures.
#
#   tools/bench.sh [argument of the benchmark programs...]     for example --benchmark_filter=fgd
set -euo pipefail
cd "$(dirname "$0")/.."

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "machine   ${cpu:-$(uname -m)}, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) when started"
echo "compiler  $(c++ --version | head -n 1), preset release"
echo "source    $(git describe --always --dirty 2>/dev/null || echo 'no git')"

shopt -s nullglob
programs=(build/release/bin/*_bench)
[[ ${#programs[@]} -gt 0 ]] || { echo "bench: no benchmark programs in build/release/bin" >&2; exit 1; }
for program in "${programs[@]}"; do
  echo
  echo "== $(basename "$program")"
  "$program" "$@"
done
