#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server, a small day of real jobs, and what became of them: admission, a refusal with its counter-offer, resizing,
# completion. On a terminal it ends with `weir top`; otherwise by itself.
#
#   tools/run_live_demo.sh [FOLDER-OF-THE-PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(cd "${1:-build/release/bin}" && pwd):$PATH"

state=$(mktemp -d)
export WEIR_STATE=$state/state XDG_CONFIG_HOME=$state
weir serve --cluster 1x4xCPU --port 0 2>"$state/server.log" &
server=$!
finish() {
  # Jobs outlive a server by design; a demonstration cleans up.
  weir jobs --json 2>/dev/null | python3 -c '
import json, sys
over = ("finished", "failed", "cancelled", "refused")
print(*[job["id"] for job in json.load(sys.stdin)["jobs"] if job["phase"] not in over])' |
    xargs -r -n1 weir cancel >/dev/null 2>&1 || true
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  rm -rf "$state"
}
trap finish EXIT
for _ in $(seq 100); do
  [[ -s $WEIR_STATE/url ]] && break
  kill -0 "$server" 2>/dev/null || { cat "$state/server.log" >&2; exit 1; }
  sleep 0.1
done
cat "$state/server.log"

show() {
  echo
  echo "\$ $*"
  "$@"
}
echo
echo "== a training job with a deadline, and a small day of other work"
show weir submit --dry-run examples/live/train.yaml
show weir submit examples/live/train.yaml
show weir submit examples/live/day.yaml
echo
echo "== a job that cannot be done in time is refused, with the earliest deadline that can be promised"
echo
echo "\$ weir submit examples/live/too-soon.yaml"
weir submit examples/live/too-soon.yaml || echo "(exit code $?: refused)"
sleep 3
echo
echo "== an urgent job: the training job makes room and goes on from its checkpoint"
show weir submit examples/live/urgent.yaml
sleep 1
show weir jobs
if [[ -t 1 ]]; then
  echo
  echo "== live, until Ctrl-C"
  sleep 2
  weir top || true
else
  for _ in $(seq 120); do
    active=0
    for phase in queued running paused; do
      active=$((active + $(weir jobs --json --phase "$phase" | grep -c '"id"' || true)))
    done
    [[ $active -eq 0 ]] && break
    sleep 1
  done
fi
echo
echo "== what became of them"
show weir jobs
show weir logs train
show weir explain train
missed=$(weir jobs --json | grep -c '"met_deadline": *false' || true)
if [[ $missed -ne 0 ]]; then
  echo "a promise was broken" >&2
  exit 1
fi
