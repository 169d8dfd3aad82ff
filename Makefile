# SPDX-License-Identifier: Apache-2.0
#
# The front door. `make` alone explains it. Every target installs the packages it needs first
# (tools/install_deps.sh) and configures a build folder only once; ninja keeps it up to date.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The recipes run ninja, which uses all cores itself.
.NOTPARALLEL:

JOBS ?= $(shell nproc)

# Tests run in other folders: a relative WEIR_DATA must still mean the same place.
ifdef WEIR_DATA
  export WEIR_DATA := $(abspath $(WEIR_DATA))
endif

# A change is judged by the same random cases as the one before it; nights and other folders try new
# ones. RC_PARAMS= (empty) does so here, too.
ifndef FULL
  export RC_PARAMS ?= seed=20261116
endif

.PHONY: help run build test bench nightly deps format tidy fuzz coverage asan tsan headers torture test-kubernetes test-collector clean

help:
	@echo 'weir: which deadlines can be promised, and which policy strands the fewest GPUs?'
	@echo
	@echo 'Start here'
	@echo '  make run        build, compare all policies, print the tables, write out/*.html'
	@echo '  make test       all tests, on the release build or under the sanitizers; FULL=1: on both'
	@echo '  make bench      how fast it decides, with the machine beside the figures'
	@echo
	@echo 'While you work'
	@echo '  make build      the program only: build/release/bin/weir'
	@echo '  make format     let clang-format lay out the sources'
	@echo '  make tidy       clang-tidy over the sources'
	@echo '  make asan       the half of them under the address and undefined-behaviour sanitizers; FULL=1: all'
	@echo '  make tsan       tests of the concurrent parts under the thread sanitizer'
	@echo '  make fuzz       feed the parsers strange files; FUZZ_SECONDS=10 for each parser'
	@echo '  make coverage   which lines the tests reach: out/coverage/index.html'
	@echo '  make headers    every header compiles on its own'
	@echo
	@echo 'Now and then'
	@echo '  make deps       install the packages for all of the above'
	@echo '  make deps-torch PyTorch and Gloo for examples/train and their tests, about 500 MB'
	@echo '  make test-kubernetes'
	@echo '                  against a real Kubernetes control plane, which is built with Go the first time;'
	@echo '                  TESTS="situations cache" runs some, FULL=1 runs all at full size'
	@echo '  make test-collector'
	@echo '                  networks traced by tools/collect, with a current PyTorch from PyPI, about 3 GB'
	@echo '  make torture    500 kills of the server under load, a full disk, a damaged store, a set clock'
	@echo '  make nightly    everything that takes longer than a coffee'
	@echo '  make clean      remove build/ and out/'
	@echo
	@echo 'Public traces are found through WEIR_DATA (default ../shared/data); weir works without them.'

run: build
	@tools/run_main_job.sh

build: deps-build build/release/build.ninja
	@cmake --build --preset release -j $(JOBS) --target weir

# Two builds, because they find different mistakes: the one users run, and the one that checks
# every access. Each unit test is in one of them; with FULL=1 all tests are in both.
test: test-release asan

.PHONY: test-release
test-release: deps-build
	@cmake --preset release -D WEIR_TESTS=$(if $(FULL),all,rest) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

asan: deps-build
	@cmake --preset asan -D WEIR_TESTS=$(if $(FULL),all,core) >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)

# Only the layers that start threads.
tsan: deps-build build/tsan/build.ninja
	@cmake --build --preset tsan -j $(JOBS) --target simulate_test transport_test control_test
	@ctest --preset tsan -j $(JOBS)

bench: deps-build build/release/build.ninja
	@cmake --build --preset release -j $(JOBS)
	@tools/bench.sh

torture: deps-build build/release/build.ninja
	@cmake --build --preset release -j $(JOBS) --target weir weir-supervisor weir-torture-job
	@tests/torture/torture.py --bin build/release/bin

# The tests of tools/collect that trace networks: they skip where PyTorch is Debian's or none.
test-collector: deps-pytorch
	@build/pytorch/bin/python -W ignore tools/collect/collect_test.py

test-kubernetes: deps-build deps-kubernetes build/release/build.ninja
	@tests/kubernetes/build_servers.sh
	@cmake --build --preset release -j $(JOBS) --target weir kube_cache_dump
	@tests/kubernetes/run.py --bin build/release/bin $(if $(FULL),--full) $(TESTS)

fuzz: deps-fuzz
	@tools/fuzz.sh "$${FUZZ_SECONDS:-10}"

format: deps-format
	@tools/format.sh

tidy: deps-tidy build/tidy/build.ninja
	@cmake --build --preset tidy -j $(JOBS) -- -k 0

coverage: deps-coverage build/coverage/build.ninja
	@cmake --build --preset coverage -j $(JOBS)
	@tools/coverage.sh $(JOBS)

headers: deps-build build/dev/build.ninja
	@cmake --build --preset dev -j $(JOBS) --target all_verify_interface_header_sets

nightly: deps deps-torch deps-parsers
	@tools/nightly.sh

deps:
	@tools/install_deps.sh all
	@tools/install_page_deps.sh

.PHONY: deps-build deps-page deps-format deps-fuzz deps-tidy deps-coverage deps-torch deps-parsers deps-pytorch deps-kubernetes
deps-build: deps-page
	@tools/install_deps.sh core tests
# Everything but the page works without it.
deps-page:
	@tools/install_deps.sh page && tools/install_page_deps.sh || \
	  echo 'make: warning: weir is built without its page; the lines above say why' >&2
deps-format:
	@tools/install_deps.sh format
deps-fuzz:
	@tools/install_deps.sh core clang
deps-tidy:
	@tools/install_deps.sh core tests clang tidy
deps-coverage:
	@tools/install_deps.sh core tests nightly
deps-kubernetes:
	@tools/install_deps.sh kubernetes
deps-torch:
	@tools/install_deps.sh torch
# What reads exported plans (tests/exports).
deps-parsers:
	@tools/install_deps.sh torch parsers
	@tools/install_export_parsers.sh
deps-pytorch:
	@tools/install_deps.sh parsers
	@tools/install_pytorch.sh

build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@

clean:
	rm -rf build out ui/dist
