#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The checks that take too long for every change. Goes on after a failure, so that one night tells
# all; fails at the end if any step did. `make nightly` installs the packages first.
#
#   tools/nightly.sh [FUZZ_SECONDS]     for each fuzz target; default 600
set -uo pipefail
cd "$(dirname "$0")/.."
readonly fuzz_seconds=${1:-600}
exec </dev/null

results=()
failures=0
step() {
  local title=$1 start=$SECONDS verdict=ok
  shift
  echo "== $title"
  "$@" || { verdict=FAILED; failures=$((failures + 1)); }
  results+=("$(printf '%-6s %6d s  %s' "$verdict" $((SECONDS - start)) "$title")")
}
clang_tests() {
  { [[ -f build/clang/build.ninja ]] || cmake --preset clang; } &&
    cmake --build --preset clang -j "$(nproc)" && ctest --preset clang -j "$(nproc)"
}
same_bytes() { tools/same_bytes.sh build/release/bin/weir build/clang/bin/weir; }

step "tests: all on the release build, then all under sanitizers" make test FULL=1
step "tests: thread sanitizer" make tsan
step "tests: clang" clang_tests
step "same bytes from g++ and clang, on 1 and 2 threads" same_bytes
step "every header compiles on its own" make headers
step "clang-tidy" make tidy
step "coverage" make coverage
step "published results: 17 lists, all policies, 10 seeds" tools/check_sweep.py
step "every rival on every published trace" tools/check_rivals.py
step "a plan for every profiled model" tools/check_plans.py
step "plans against layers and GPUs" tools/check_plans.py --scale
step "torture: kills, full disk, damage, clock" make torture
step "a real Kubernetes control plane, at full size" make test-kubernetes FULL=1
step "200 short jobs each second for a minute, through the server" \
  build/release/bin/serve_soak build/release/bin/weir 200 60 195
step "100,000 random requests made from the contract, under sanitizers" \
  tests/api_fuzz.py build/asan/bin/weir --requests 100000
step "six real training jobs on two slots, 20 times" tests/training/mix.py build/release/bin --runs 20
step "what a rescale costs, cold and warm" tests/training/rescale_cost.py build/release/bin
step "benchmarks" make bench
step "fuzzing, $fuzz_seconds s per target" tools/fuzz.sh "$fuzz_seconds"

echo "== nightly: $failures of ${#results[@]} steps failed, $SECONDS s"
printf '%s\n' "${results[@]}"
[[ $failures -eq 0 ]]
