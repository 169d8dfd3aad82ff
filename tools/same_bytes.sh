#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same seed gives the same bytes, whichever compiler and however many threads: inflation and churn on the
# synthetic trace, three openb lists when the public data is there, and every record of a night of training jobs.
#
#   tools/same_bytes.sh PROGRAM...     compares the results of all of them, on 1 and on 2 threads
set -euo pipefail
openb=${WEIR_DATA:-$(dirname "$0")/../../shared/data}/openb
lists=()
for list in default gpuspec33 multigpu50; do
  [[ -r $openb/openb_pod_list_$list.csv.gz ]] && lists+=("$openb/openb_pod_list_$list.csv.gz")
done

root=$(dirname "$0")/..

results() {  # PROGRAM THREADS
  "$1" simulate --cluster 4x8xA100 --jobs "$root/examples/night.yaml" --curves "$root/examples/curves" --policy all \
    --job-speed 0.9,1.1 --threads "$2" --json --log "$small/night.jsonl"
  cat "$small"/night.*.jsonl
  "$1" simulate --policy all --seeds 42..44 --threads "$2" --json
  "$1" simulate --protocol churn --policy fgd,ev-plus --load 1 --queue backfill --seeds 42,43 --threads "$2" --json \
    --nodes "$small/nodes.csv" --tasks "$small/tasks.csv"
  [[ ${#lists[@]} -eq 0 ]] || "$1" simulate --policy all --seeds 42,43 --threads "$2" --json --bound \
    --nodes "$openb/openb_node_list_gpu_node.csv.gz" --tasks "$(IFS=,; echo "${lists[*]}")"
}

small=$(mktemp -d)
trap 'rm -rf "$small"' EXIT
"$1" trace synth --out "$small" --node-count 60 --job-count 400 >/dev/null
expected=
for program in "$@"; do
  for threads in 1 2; do
    actual=$(results "$program" "$threads" 2>/dev/null | sed "s|$small||g" | sha256sum)
    echo "${actual%% *}  $program, $threads threads"
    [[ "$actual" == "${expected:=$actual}" ]] || { echo "same_bytes: the results differ" >&2; exit 1; }
  done
done
