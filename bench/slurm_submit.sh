#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The peer of serve_bench: submissions to a real Slurm on this machine, by sbatch and over slurmrestd. Starts
# munged, slurmctld, slurmd and slurmrestd on loopback with a configuration of its own in a temporary folder,
# and stops them. The figures are printed as serve_bench prints ours.
#
#   bench/slurm_submit.sh BIN_FOLDER [HTTP_COUNT [SBATCH_COUNT]]     exit status 77: Slurm is not here
#
# Settings, for trying others: SLURM_SCHEDULER (SchedulerParameters), REST_THREADS, REST_CLIENTS; SLURM_FOLDER,
# where its files are made and left. Thousands of files that were deleted a minute ago make ext4 slow at
# creating new ones, and slurmctld creates some for each job: tools/bench.sh removes them when all is over.
set -euo pipefail
readonly bin=${1:?bench/slurm_submit.sh BIN_FOLDER [HTTP_COUNT [SBATCH_COUNT]]}
readonly http_count=${2:-10000} sbatch_count=${3:-1000}
readonly clients=${REST_CLIENTS:-64}
PATH=$PATH:/usr/sbin

skip() {
  echo "slurm_submit: $*"
  exit 77
}
for program in munged slurmctld slurmd slurmrestd sbatch scontrol; do
  command -v "$program" >/dev/null || skip "no $program here; tools/install_deps.sh slurm installs it"
done
[[ $(id -u) -eq 0 ]] || skip "needs root: slurmctld and slurmrestd must run as different users"

folder=$(mktemp -d ${SLURM_FOLDER:+-p "$SLURM_FOLDER"})
pids=()
clean_up() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    # slurmctld saves its state at the end, which may take a while.
    for _ in {1..100}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  [[ -n "${SLURM_FOLDER:-}" ]] || rm -rf "$folder"
}
trap clean_up EXIT

fail() {
  echo "slurm_submit: $*; its logs end with:" >&2
  tail -q -n 5 "$folder"/*.log "$folder"/*.out >&2 || true
  exit 1
}
start() {
  local output=$folder/$1.out
  [[ $1 != slurmrestd ]] || output=/dev/null  # it says two lines for each request and cannot be told not to
  "$@" >"$output" 2>&1 &
  pids+=("$!")
}
wait_for() {
  local what=$1
  shift
  for _ in {1..150}; do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  fail "$what does not answer"
}

read -r ctld_port slurmd_port rest_port < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')
chmod 755 "$folder"
mkdir "$folder/state" "$folder/spool"
(umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key" && head -c 32 /dev/urandom >"$folder/jwt.key")
# No accounting, no prolog, next to no logs, scheduling put off (the jobs are held anyway), a job limit that
# is not reached. Other settings that were tried are in docs/benchmarks.md.
cat >"$folder/slurm.conf" <<END
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$ctld_port
SlurmdPort=$slurmd_port
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$folder/jwt.key
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldDebug=error
SlurmdDebug=error
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=${SLURM_SCHEDULER:-defer,batch_sched_delay=20,sched_interval=600,bf_interval=600}
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
MaxJobCount=1000000
MessageTimeout=100
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
printf '#!/bin/sh\nsleep 100000\n' >"$folder/job.sh"

export SLURM_CONF=$folder/slurm.conf
start munged --force --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munged.seed"
wait_for munged test -S "$folder/munge.socket"
start slurmctld -D -c
wait_for slurmctld scontrol ping
start slurmd -D -N localhost
SLURM_JWT=$(scontrol token lifespan=86400 | sed 's/^SLURM_JWT=//') || fail "slurmctld gives no token"
SLURM_JWT=daemon start slurmrestd -u nobody -g nogroup -s openapi/v0.0.38 -a rest_auth/jwt \
  -t "${REST_THREADS:-20}" "127.0.0.1:$rest_port"
export SLURM_JWT
wait_for slurmrestd "$bin/slurm_submit" http 1 1 "$rest_port"

cpu_of() {  # in ticks of 10 ms, all of its threads
  awk '{print $14 + $15}' "/proc/$1/stat"
}
echo "$(slurmctld -V); the controller saves its state every few seconds, not before it answers"
"$bin/slurm_submit" http "$clients" $((http_count / 10)) "$rest_port" >/dev/null
ctld=$(cpu_of "${pids[1]}") rest=$(cpu_of "${pids[3]}")
"$bin/slurm_submit" http "$clients" "$http_count" "$rest_port" || fail "slurmrestd lost submissions"
ctld=$(($(cpu_of "${pids[1]}") - ctld)) rest=$(($(cpu_of "${pids[3]}") - rest))
echo "  CPU per submission: slurmctld $((ctld * 10000 / http_count)) us, slurmrestd $((rest * 10000 / http_count)) us;" \
  "memory $(ps -o rss= -p "${pids[1]},${pids[3]}" | awk '{s += $1} END {printf "%d", s / 1024}') MiB"
"$bin/slurm_submit" command 64 "$sbatch_count" sbatch -H "$folder/job.sh" || fail "sbatch lost submissions"
