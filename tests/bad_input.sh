#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Wrong inputs of every kind, given to the real program: exit code 2, every mistake named with file, line and field,
# nothing written, no memory wasted.
#
#   tests/bad_input.sh PROGRAM     MEMORY_LIMIT_KB=200000 also limits its memory
set -euo pipefail
weir=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

printf '%s\n' 'sn,cpu_milli,memory_mib,gpu,model' 'n1,64000,262144,2,P100' 'n2,96000,393216,8,T4' >nodes.csv
head='name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec'
printf '%s\n' "$head" 'p1,4000,8192,1,500,' 'p2,4000,8192,1,1000,T4' >tasks.csv
failures=0

# expect TITLE TEXT... -- ARGUMENTS...: the program must refuse and its message must have every TEXT.
expect() {
  local title=$1 texts=() status=0
  shift
  while [[ $1 != -- ]]; do texts+=("$1"); shift; done
  shift
  ([[ -z ${MEMORY_LIMIT_KB:-} ]] || ulimit -v "$MEMORY_LIMIT_KB"; timeout 60 "$weir" "$@" >out.txt 2>err.txt) || status=$?
  local verdict=ok
  [[ $status -eq 2 ]] || verdict="exit code $status instead of 2"
  for text in "${texts[@]}"; do grep -qF -- "$text" err.txt || verdict="no \"$text\" in the message"; done
  [[ ! -s out.txt ]] || verdict="something was printed"
  [[ ! -e report.html && ! -e runs.csv ]] || verdict="a file was written"
  echo "$title: $verdict"
  [[ $verdict == ok ]] || { failures=$((failures + 1)); cat err.txt; }
}
simulate() { printf '%s\n' simulate --nodes "${1:-nodes.csv}" --tasks "${2:-tasks.csv}" --report report.html --csv runs.csv; }
with_tasks() { mapfile -t arguments < <(simulate nodes.csv "$1"); }
with_nodes() { mapfile -t arguments < <(simulate "$1" tasks.csv); }

sed '1s/num_gpu/gpus/; 1s/cpu_milli/cpu/' tasks.csv >columns.csv; with_tasks columns.csv
expect 'two columns missing' 'columns.csv:1: column cpu_milli is missing' 'columns.csv:1: column num_gpu is missing' -- "${arguments[@]}"
printf '%s\n' "$head" 'p1,-1,8192,1,500,' 'p2,4000,lots,1,500,' 'p3,4000,8192,1,0.5,' >cells.csv; with_tasks cells.csv
expect 'negative and non-numeric cells' 'cells.csv:2: cpu_milli is "-1"' 'cells.csv:3: memory_mib is "lots"' 'cells.csv:4: gpu_milli is "0.5"' -- "${arguments[@]}"
printf '%s\n' "$head" 'p1,4000,8192,2,500,' >share.csv; with_tasks share.csv
expect 'several GPUs with a share' 'share.csv:2: gpu_milli is "500", expected 1000' -- "${arguments[@]}"
printf '%s\n' "$head" 'p1,4000,8192,1,500,H900' >model.csv; with_tasks model.csv
expect 'unknown GPU model' 'model.csv:2: gpu_spec is "H900"' 'T4' -- "${arguments[@]}"
printf '%s\n' "$head" 'p1,4000,8192' >ragged.csv; with_tasks ragged.csv
expect 'a row with too few cells' 'ragged.csv:2:' -- "${arguments[@]}"
gzip -c tasks.csv | head -c 40 >cut.csv.gz; with_tasks cut.csv.gz
expect 'truncated gzip' 'cut.csv.gz:' 'complete gzip file' -- "${arguments[@]}"
: >empty.csv; with_tasks empty.csv
expect 'empty file' 'empty.csv:' 'empty' -- "${arguments[@]}"
truncate -s 1G line.csv; with_tasks line.csv
expect 'a line of 1 GB' 'line.csv:1: line is "longer than 1 MiB"' -- "${arguments[@]}"
gzip -1 -c line.csv >line.csv.gz; rm line.csv; with_tasks line.csv.gz
expect 'a line of 1 GB in gzip' 'line.csv.gz:1: line is "longer than 1 MiB"' -- "${arguments[@]}"
with_tasks no-such.csv
expect 'no such file' 'no-such.csv' -- "${arguments[@]}"
printf '%s\n' 'sn,cpu_milli,memory_mib,gpu,model' 'n1,64000,1,2,' 'n1,-5,1,99,T4' >badnodes.csv; with_nodes badnodes.csv
expect 'mistakes in the node list' 'badnodes.csv:2: model' 'badnodes.csv:3: cpu_milli' 'badnodes.csv:3: gpu is "99"' -- "${arguments[@]}"
printf '%s\n' 'traces:' '  - {job: a.csv, cluster: 2x8xA100, curves: c}' 'policies: [wier]' 'seeds: 42' >compare.yaml
expect 'mistakes in a comparison' 'compare.yaml:2:' 'compare.yaml:3: policy is "wier"' 'compare.yaml:4: seeds' -- \
  simulate --compare compare.yaml --report report.html --csv runs.csv
printf '%s\n' 'traces:' '  - {jobs: no.csv, cluster: 2x8xA100, curves: none}' >absent.yaml
expect 'a comparison of files that are not there' 'none' -- simulate --compare absent.yaml --report report.html --csv runs.csv
{ echo "$head"; for i in $(seq 100); do echo "p$i,-1,8192,1,500,"; done; } >many.csv; with_tasks many.csv
expect 'a hundred mistakes: twenty are shown' 'many.csv:21: cpu_milli' -- "${arguments[@]}"
printf 'jobs:\n  - {name: a, gpsu: 1}\n  - {name: b, gpus: 99}\n' >jobs.yaml; with_tasks jobs.yaml
expect 'mistakes in YAML' 'jobs.yaml:2:' 'gpus' 'jobs.yaml:3:' -- "${arguments[@]}"
mapfile -t arguments < <(simulate)
expect 'unknown policies' '--policy is "fdg"' 'did you mean fgd?' '--policy is "none"' -- "${arguments[@]}" --policy fdg,none
expect 'wrong options' '--seeds is "x..y"' '--threads is "-3"' '--polcy' -- simulate --seeds x..y --threads -3 --polcy fgd

# Training jobs.
mkdir curves
printf '%s\n' 'global_batch_size,1,2,4' '64,1.5,2.8,5' >curves/bert.csv
trace='job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu'
printf '%s\n' "$trace" 'a,0,1000,bert,4000,64,1' >jobs.csv
train() { printf '%s\n' simulate --cluster "${1:-2x4xT4}" --jobs "${2:-jobs.csv}" --curves "${3:-curves}" --report report.html --csv runs.csv; }
with_jobs() { mapfile -t arguments < <(train 2x4xT4 "$1"); }
printf '%s\n' "$trace" 'a,-5,1000,bert,4000,64,1' 'b,0,lots,bert,4000,64,1' 'c,9,1,bert,3,64,1' 'd,0,1,bret,9,64,1' >badjobs.csv; with_jobs badjobs.csv
expect 'mistakes in a training trace' 'badjobs.csv:2: submission_time' 'badjobs.csv:3: num_iteration is "lots"' 'badjobs.csv:4: deadline' 'badjobs.csv:5: model_name is "bret"' 'did you mean bert?' -- "${arguments[@]}"
printf 'jobs:\n  - {name: a, model: bert, batch: 64, iterations: 0}\n  - {name: a, modle: bert, batch: 64, iterations: 9}\n' >badjobs.yaml; with_jobs badjobs.yaml
expect 'mistakes in training YAML' 'badjobs.yaml:2: iterations' 'badjobs.yaml:3:' 'model' -- "${arguments[@]}"
gzip -c jobs.csv | head -c 40 >jobs.csv.gz; with_jobs jobs.csv.gz
expect 'a truncated training trace' 'jobs.csv.gz:' 'complete gzip file' -- "${arguments[@]}"
mapfile -t arguments < <(train 0x4xT4)
expect 'a cluster without nodes' '0x4xT4' -- "${arguments[@]}"
mapfile -t arguments < <(train 2x4xT4 jobs.csv no-such-folder)
expect 'no such curves' 'no-such-folder' -- "${arguments[@]}"
mapfile -t arguments < <(train)
expect 'options of tasks and of jobs mixed' 'option is "--load"' 'option is "--bound"' '--policy is "fgd"' '--slot is "x"' -- "${arguments[@]}" --load 1 --bound --policy fgd --slot x
expect 'an unknown training policy' '--policy is "elasticflo"' 'did you mean elasticflow?' -- "${arguments[@]}" --policy elasticflo
printf 'tenants:\n  - {name: a, guaranteed: 9}\n  - {name: a, wieght: 2}\n' >tenants.yaml
expect 'mistakes in a file of tenants' 'tenants.yaml:2: guaranteed is "9"' 'tenants.yaml:3: field is "wieght"' 'did you mean weight?' 'line 2 has this one' -- "${arguments[@]}" --tenants tenants.yaml
expect 'tenants under a policy without shares' '--policy (beside --tenants) is "edf"' -- "${arguments[@]}" --tenants tenants.yaml --policy edf
expect 'tenants served under a policy without shares' '--tenants is "tenants.yaml"' '--policy weir' -- serve --state refused --cluster 1x2xCPU --policy edf --tenants tenants.yaml
expect 'explain an unknown job' '--job is "b"' -- explain --cluster 2x4xT4 --jobs jobs.csv --curves curves --job b
echo '{"schema":1' >broken.jsonl
expect 'explain from a broken log' 'broken.jsonl:1' -- explain --log broken.jsonl --job a
expect 'what-if without anything' 'what-if is "nothing to suppose"' -- what-if
expect 'what-if of a wrong number' '--add-nodes is "0"' -- what-if --add-nodes 0
expect 'what-if of nodes that are unclear' '--add-nodes is "1,a:2"' -- what-if --add-nodes 1,a:2
expect 'a command of another name' 'simulate --compare' -- compare night.yaml
expect 'GPU types without a log' '--gpu-file' -- what-if --policy fifo --gpu-file gpus.yaml
expect 'what-if of a broken log' 'broken.jsonl:1' -- what-if --from-log broken.jsonl --policy fifo
printf 'supply: nowhere.csv\npue: 0.5\nbudget: {kg_co2: -1, from: monday}\nprcie: 1\n' >energy.yaml
expect 'an energy file with mistakes' 'energy.yaml:1: supply is "nowhere.csv"' 'energy.yaml:2: pue is "0.5"' 'energy.yaml:3: kg_co2 is "-1"' 'energy.yaml:3: from is "monday"' 'energy.yaml:3: until' 'energy.yaml:4:' -- serve --state refused --cluster 1x2xCPU --policy green --energy energy.yaml
printf 'utc_time,carbon_g_per_kwh\n2026-01-01T00:00Z,5\n2026-01-01T01:00Z,-5\n' >negative.csv
printf 'supply: negative.csv\n' >energy.yaml
expect 'a supply with negative carbon' 'negative.csv:3' -- serve --state refused --cluster 1x2xCPU --policy green --energy energy.yaml
printf 'utc_time,carbon_g_per_kwh\n2026-01-01T00:00Z,5\n2026-01-01T01:00Z,5\n' >grid.csv
printf 'supply: grid.csv\nbudget: {money: 1, from: 2026-01-01T00:00:00Z, until: 2027-01-01T00:00:00Z}\n' >energy.yaml
expect 'a budget of money with a supply of grams' 'energy.yaml:2: budget is "money"' 'kg_co2' -- serve --state refused --cluster 1x2xCPU --policy green --energy energy.yaml
expect 'a budget under a policy that minds none' 'budget' '--policy green' -- serve --state other --cluster 1x2xCPU --energy energy.yaml
expect 'a carbon report of no time' '--since is "noon"' '--until is "yesterday"' -- carbon report --since noon --until yesterday
expect 'a carbon report of a log and a server' '--server' -- carbon report --log broken.jsonl --server http://127.0.0.1:1
expect 'what-if of a log and a server' '--server' -- what-if --from-log broken.jsonl --policy fifo --server http://127.0.0.1:1
expect 'explain without anything' '--job is missing' -- explain

# Carbon, price and power over time.
carbon() { mapfile -t arguments < <(printf '%s\n' carbon savings --report report.html --file "$@"); }
printf '%s\n' utc_time,carbon 2021-01-01T00:00Z,1 >unit.csv; carbon unit.csv
expect 'a series without a unit' 'unit.csv:1: column is "carbon"' 'carbon_g_per_kwh' -- "${arguments[@]}"
printf '%s\n' utc_time,carbon_g_per_kwh,price_eur_per_kwh 2021-01-01T00:00Z,1,1 >mixed.csv; carbon mixed.csv
expect 'mixed units' 'mixed.csv:1: columns is "carbon_g_per_kwh, price_eur_per_kwh"' -- "${arguments[@]}"
printf '%s\n' utc_time,carbon_g_per_kwh 2021-01-01T00:00Z,-1 2021-01-01T01:00Z,nan 2021-01-01T02:00Z,1 2021-01-01T02:00Z,1 \
  2021-01-01T01:00Z,1 >rows.csv; carbon rows.csv
expect 'wrong rows of a series' 'rows.csv:2: carbon_g_per_kwh is "-1"' 'rows.csv:3: carbon_g_per_kwh is "nan"' 'line 4 has this one' \
  'rows in the order of time' -- "${arguments[@]}"
printf '%s\n' utc_time,carbon_g_per_kwh 2021-01-01T00:00Z,1 2021-01-01T01:00Z,1 2021-01-01T09:00Z,1 >gap.csv; carbon gap.csv
expect 'missing hours' 'gap.csv:4: utc_time is "2021-01-01T09:00:00Z", expected no more than 3h missing' -- "${arguments[@]}"
printf '%s\n' time,carbon_g_per_kwh 2021-03-28T02:30,1 >local.csv; carbon local.csv
expect 'local times without an offset' 'local.csv:2: time is "2021-03-28T02:30", expected an offset' -- "${arguments[@]}"
{ echo utc_time,carbon_g_per_kwh; for h in $(seq 10 23); do echo "2021-01-01T$h:00Z,5"; done; } >short.csv; carbon short.csv --hours 6 --within 24
expect 'a series shorter than the window' '--within is "24"' '14 hours at most' -- "${arguments[@]}"
printf '%s\n' issue_utc_time,utc_time,price_eur_per_kwh 2021-01-01T10:00Z,2021-01-01T10:00Z,1 >price.csv; carbon short.csv --forecast price.csv
expect 'a forecast in another unit' 'price.csv:1: unit is "price in EUR/kWh"' -- "${arguments[@]}"
mkdir -p data/carbon/intensity; cp short.csv data/carbon/intensity/ciso_2021.csv
export WEIR_DATA=$work/data
expect 'an unknown region' '--region is "caiso", expected one of ciso; did you mean ciso?' -- carbon savings --region caiso
expect 'options of series that do not fit' '--region' '--within' -- carbon savings --file short.csv --region ciso --hours 6

# The network.
printf '%s\n' 'fabric:' '  kind: leaf-spine' '  leaves: 4' '  gpus_per_leaf: 8' '  spines: 4' '  nic: -100Gbps' '  uplink: fast' >speeds.yaml
expect 'a link with less than no capacity' 'speeds.yaml:6: nic is "-100Gbps"' 'speeds.yaml:7: uplink is "fast"' -- network simulate --fabric speeds.yaml --report report.html
printf '%s\n' 'fabric:' '  kind: optical' '  leaves: 3' '  gpus_per_leaf: 2' '  optical_switches: 2' '  circuits:' \
  '    - {switch: 0, leaf: 0, to_leaf: 1}' '    - {switch: 0, leaf: 1, to_leaf: 2}' >circuits.yaml
expect 'a circuit used twice' 'circuits.yaml:8: circuit is "leaf 1 used 2 times on switch 0"' -- network simulate --fabric circuits.yaml --report report.html
sed '8d' circuits.yaml >apart.yaml
expect 'a fabric in two parts' '2 of 6 GPUs that gpu 0 cannot reach' -- network simulate --fabric apart.yaml --report report.html
printf '%s\n' 'fabric:' '  kind: torus' >torus.yaml
expect 'an unknown kind of fabric' 'torus.yaml:2: kind is "torus", expected one of leaf-spine' -- network simulate --fabric torus.yaml --report report.html
expect 'a job larger than the fabric' '--ranks is "9", expected 2 to 8' -- network simulate --fabric leaf-spine:2x4x4 --ranks 9 --report report.html
mkdir -p speeds; printf '%s\n' 'global_batch_size,1,2,64' '8,1,2,40' >speeds/a.csv
printf '%s\n' 'jobs:' '  - {name: giant, model: a, batch: 8, iterations: 10, submit: 0s, gpus: 64, rigid: true}' >giant.yaml
on_fabric() { arguments=(simulate --cluster 4x8xA100 --jobs giant.yaml --curves speeds --report report.html "$@"); }
on_fabric --fabric leaf-spine:4x8x8
expect 'a training job larger than the fabric' 'giant.yaml: gpus of giant is "64", expected at most 32' -- "${arguments[@]}"
on_fabric --fabric leaf-spine:3x8x8
expect 'nodes without a leaf' 'leaves is "3 x 1 nodes", expected room for the 4 nodes' -- "${arguments[@]}"
on_fabric --fabric circuits.yaml --placement isolated-optical
expect 'a circuit used twice by the scheduler' 'circuits.yaml:8: circuit is "leaf 1 used 2 times on switch 0"' -- "${arguments[@]}"
on_fabric --placement isolated
expect 'a placement without a fabric' '--placement' '--fabric beside it' -- "${arguments[@]}"

[[ $failures -eq 0 ]] || { echo "bad_input: $failures failed" >&2; exit 1; }
