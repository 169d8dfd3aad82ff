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
  [[ $program != */serve_bench ]] || continue
  echo
  echo "== $(basename "$program")"
  "$program" "$@"
done

# The page in a real browser; ten minutes of it show that it does not grow.
echo
echo "== page_bench"
page_status=0
if command -v node >/dev/null; then bench/page_bench.mjs || page_status=$?; else page_status=77; fi
[[ $page_status -eq 0 || $page_status -eq 77 ]] || page_failed=true

# A cluster of 5,000 nodes and 20,000 pods on a real API server, watched.
echo
echo "== kubernetes_scale"
if [[ -x build/kubernetes/bin/kube-apiserver ]]; then
  tests/kubernetes/scale_test.py --bin build/release/bin || kubernetes_failed=true
else
  echo "not run: tests/kubernetes/build_servers.sh has not been run"
fi

# The server beside Slurm, in turns; then the server alone with a long past.
readonly bin=build/release/bin rounds=3 promised=10
rate_of() { sed -n "s|^$1.* \([0-9]*\) /s .*|\1|p"; }
echo
echo "== serve_bench"
slurm_folder=$(mktemp -d)
trap 'rm -rf "$slurm_folder"' EXIT
chmod 755 "$slurm_folder"
ratios=()
for ((round = 1; round <= rounds; ++round)); do
  echo "-- round $round of $rounds, load $(cut -d' ' -f1 /proc/loadavg)"
  ours=$("$bin/serve_bench" "$bin/weir" 50000 submissions) || { echo "$ours"; exit 1; }
  echo "$ours"
  status=0
  peer=$(SLURM_FOLDER=$slurm_folder bench/slurm_submit.sh "$bin") || status=$?
  echo "$peer"
  if [[ $status -eq 77 ]]; then
    echo "no ratio: there is no Slurm to compare with"
    break
  fi
  [[ $status -eq 0 ]] || exit 1
  best=$({ rate_of slurmrestd <<<"$peer"; rate_of sbatch <<<"$peer"; } | sort -n | tail -n 1)
  ratios+=("$(rate_of 'submit, durable: without deadline' <<<"$ours" | awk -v peer="$best" '{printf "%.1f", $1 / peer}')")
done
if [[ ${#ratios[@]} -gt 0 ]]; then
  median=$(printf '%s\n' "${ratios[@]}" | sort -n | sed -n "$((${#ratios[@]} / 2 + 1))p")
  echo "durable submissions, to the better of sbatch and slurmrestd: ${ratios[*]}; median ${median}x, promised ${promised}x"
fi
"$bin/serve_bench" "$bin/weir" 50000 past
if [[ ${#ratios[@]} -gt 0 ]] && awk -v m="$median" -v p="$promised" 'BEGIN {exit !(m < p)}'; then
  echo "  NOT MET: at least ${promised}x the better of sbatch and slurmrestd"
  exit 1
fi
if [[ ${kubernetes_failed:-false} == true ]]; then
  echo "  NOT MET: a limit of the large cluster, above"
  exit 1
fi
if [[ ${page_failed:-false} == true ]]; then
  echo "  NOT MET: a limit of the page, above"
  exit 1
fi
