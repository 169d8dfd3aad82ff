#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What `make run` shows: a server that runs a small day of real jobs; a night of training jobs with deadlines, under weir's policy and its rivals;
# then every placement policy on weir's own synthetic trace and, when the public data is there, on
# Alibaba's openb trace (1,213 nodes, 6,212 GPUs). Prints the tables and writes a report for each.
# Needs the release build.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly weir=build/release/bin/weir
readonly seeds=42..46
readonly openb=${WEIR_DATA:-../shared/data}/openb
readonly nodes=$openb/openb_node_list_gpu_node.csv.gz
readonly tasks=$openb/openb_pod_list_default.csv.gz

mkdir -p out
echo "== weir serve: real jobs on this machine"
tools/run_live_demo.sh build/release/bin
echo
echo "== a night of training jobs with deadlines: who keeps its promises?"
"$weir" simulate --cluster 4x8xA100 --jobs examples/night.yaml --curves examples/curves --policy all \
  --report out/deadlines.html
echo
echo "== weir's synthetic trace: all policies, seeds $seeds"
"$weir" simulate --policy all --seeds "$seeds" --report out/report.html

if [[ -r "$nodes" && -r "$tasks" ]]; then
  echo
  echo "== openb, the trace of a production cluster: all policies, seeds $seeds"
  mv out/report.html out/report-synthetic.html
  "$weir" simulate --nodes "$nodes" --tasks "$tasks" --policy all --seeds "$seeds" --report out/report.html
  echo
  echo "Plots: out/deadlines.html, out/report.html (openb) and out/report-synthetic.html; they open without a network."
else
  echo
  echo "Plots: out/deadlines.html and out/report.html; they open without a network."
  echo "For the trace of a production cluster, put openb under WEIR_DATA; looked in $openb."
fi
