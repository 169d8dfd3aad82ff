#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the coverage build and writes out/coverage/index.html: which lines of src/ they
# reach. Tests and test helpers themselves do not count. Needs the built preset coverage.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly jobs=${1:-$(nproc)}
find build/coverage -name '*.gcda' -delete
ctest --preset coverage -j "$jobs"

mkdir -p out/coverage
lcov --quiet --capture --directory build/coverage --base-directory "$PWD" --no-external \
  --rc geninfo_unexecuted_blocks=1 --output-file out/coverage/all.info
lcov --quiet --remove out/coverage/all.info '*_test.cpp' '*_testing.h' --output-file out/coverage/src.info
genhtml --quiet --legend --title weir --prefix "$PWD" out/coverage/src.info --output-directory out/coverage
lcov --summary out/coverage/src.info 2>&1 | grep -E 'lines|functions'
echo "Lines one by one: out/coverage/index.html"
