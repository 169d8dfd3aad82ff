#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays 195job on 16 x 8 A100 with energy in it, in several ways, and has tools/check_energy.py count again what each run
# did and drew from its record log: docs/evidence.md, "Energy and carbon".
#
#   tools/check_energy_runs.sh build/release/bin/energy_run
#
# Needs the public data (WEIR_DATA, default ../shared/data): without it the check is skipped, or fails when CI=true.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.."
data=${WEIR_DATA:-../shared/data}
if [[ ! -d $data/carbon || ! -d $data/elasticflow ]]; then
  echo "skipped: no data in $data (WEIR_DATA)"
  [[ ${CI:-} == true ]] && exit 1 || exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
jobs=$data/elasticflow/traces/195job.csv.gz
curves=$data/elasticflow/throughput_a100
failures=0

# check REGION DAY POLICY [energy_run's options]; a cap is checked, too.
check() {
  local region=$1 day=$2 policy=$3
  shift 3
  local series=$data/carbon/intensity/${region}_2020_2021.csv.gz cap=()
  for word in "$@"; do [[ $word == cap=* ]] && cap=(--cap-watts "${word#cap=}"); done
  "$program" "$policy" 16x8xA100 "$jobs" "$curves" "$series" "$day" "$folder/run.jsonl" "$@" >"$folder/run.json"
  if ! grep -q '"missed_after_admission":0,' "$folder/run.json"; then
    echo "$policy $*: broke a promise"
    failures=$((failures + 1))
  fi
  printf '%s %s %s %s: ' "$region" "$day" "$policy" "$*"
  PYTHONDONTWRITEBYTECODE=1 tools/check_energy.py --log "$folder/run.jsonl" --jobs "$jobs" --curves "$curves" \
    --intensity "$series" --day "$day" --expect "$folder/run.json" "${cap[@]}" || failures=$((failures + 1))
}

check ciso 2021-07-14 elastic-capped deadlines=0
check ciso 2021-07-14 green deadlines=0 price=0
check ciso 2021-07-14 green deadlines=0 price=5
check de 2021-10-06 green deadlines=0 price=40
check pjm 2021-08-25 green deadlines=0 budget=2000000
check ciso 2021-07-14 green deadlines=0 price=1 cap=20000
check ciso 2021-07-14 green budget=2000000
[[ $failures -eq 0 ]]
