#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages weir needs, and only those that are missing.
# This is the one list: nothing else in the repository names a Debian package.
#
#   tools/install_deps.sh [GROUP...]     default: core tests
#   tools/install_deps.sh --list [GROUP...]   print the packages, install nothing
#
# Debian 12 or a relative with the same package names. Needs root or sudo when something is missing.
set -euo pipefail

declare -A packages=(
  # Compile and link the weir program.
  [core]="g++ cmake ninja-build ccache git
          libexpected-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev zlib1g-dev
          libboost1.81-dev libcurl4-openssl-dev libssl-dev libsqlite3-dev libsimdjson-dev"
  # Unit, property and system tests; python3 compares results with the published tables.
  [tests]="libgtest-dev libgmock-dev librapidcheck-dev python3 python3-yaml curl faketime"
  # Build the page in ui/ (tools/install_page_deps.sh gets what it is built with). Skipped where node and npm are on PATH
  # already: which ones is their user's choice.
  [page]="nodejs npm"
  # The page's tests in a real browser, its screenshots and its benchmark.
  [browser]="chromium fonts-dejavu-core"
  # The second compiler, libFuzzer, and the symbolizer that makes its stack traces readable.
  [clang]="clang-14 libclang-rt-14-dev llvm-14"
  # Layout.
  [format]="clang-format-14"
  # Static analysis; needs the group clang as well.
  [tidy]="clang-tidy-14"
  # The coverage report.
  [nightly]="lcov"
  # examples/train and their tests: PyTorch and Gloo. About 500 MB, so only when asked for: not in "all".
  [torch]="python3-torch libgloo-dev"
  # The environments of tools/install_export_parsers.sh, which needs the group torch as well, and tools/install_pytorch.sh.
  # Not in "all".
  [parsers]="python3-venv"
  # What network_bench compares with (tools/fetch_simgrid.sh). Only when asked for: not in "all".
  [simgrid]="libsimgrid3.32"
  # The programs of a Kubernetes control plane for tests are built with Go (tests/kubernetes/build_servers.sh), which
  # fetches the version they ask for itself. The package is in Debian's backports; skipped where a Go is on PATH.
  [kubernetes]="golang-1.23-go openssl python3 python3-yaml"
  # What the weir program needs to run, without what it is built with: deploy/Containerfile.
  [runtime]="libssl3 ca-certificates libcurl4 libfmt9 libsimdjson14 libsqlite3-0 libstdc++6 libyaml-cpp0.7 zlib1g"
  # A clean machine inside this one: tools/fresh_machine.sh.
  [chroot]="debootstrap"
  # The peer of `make bench`. Its packages may start munge as a service; the benchmark uses none of them
  # but its own.
  [slurm]="slurmctld slurmd slurm-client slurmrestd slurm-wlm-jwt-plugin munge"
)
readonly all_groups="core tests page browser format clang tidy nightly kubernetes chroot slurm"

fail() {
  echo "install_deps: $*" >&2
  exit 1
}

readonly least_node=18
has_node() {
  command -v npm >/dev/null &&
    node -e "process.exit(parseInt(process.versions.node) >= $least_node ? 0 : 1)" 2>/dev/null
}

# Since 1.21 Go fetches a newer one when a module asks for it.
readonly least_go=21
has_go() {
  local version
  version=$(go env GOVERSION 2>/dev/null) && [[ "$version" =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= least_go))
}

list_only=false
if [[ "${1:-}" == --list ]]; then
  list_only=true
  shift
fi
groups=("$@")
[[ ${#groups[@]} -gt 0 ]] || groups=(core tests)
[[ "${groups[*]}" != all ]] || read -ra groups <<<"$all_groups"

wanted=()
for group in "${groups[@]}"; do
  [[ -n "${packages[$group]:-}" ]] || fail "no group \"$group\"; write one or more of: $all_groups torch parsers simgrid runtime, or all"
  if [[ "$group" == page ]] && ! $list_only && has_node; then continue; fi
  read -r -d '' -a members <<<"${packages[$group]}" || true
  for member in "${members[@]}"; do
    if [[ "$member" == golang-* ]] && ! $list_only && has_go; then continue; fi
    wanted+=("$member")
  done
done

[[ ${#wanted[@]} -gt 0 ]] || exit 0
if $list_only; then
  printf '%s\n' "${wanted[@]}" | sort -u
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this system has no apt. Install what Debian 12 calls: ${wanted[*]}; then call cmake --workflow --preset dev"
fi

# dpkg-query fails when a package is unknown, which is an answer here.
known=$(dpkg-query -W -f '${Package}=${db:Status-Abbrev}\n' "${wanted[@]}" 2>/dev/null || true)
installed=" $(sed -n 's/=ii *$//p' <<<"$known" | tr '\n' ' ') "
missing=()
for package in "${wanted[@]}"; do
  [[ "$installed" == *" $package "* ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || fail "missing: ${missing[*]}. Run as root, or install sudo: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
echo "install_deps: installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null; }
apt update >/dev/null || fail "apt-get update failed; look at its messages above"
# Debian 12's own Go is too old. Its backports come from the mirror this machine uses.
if [[ " ${missing[*]} " == *" golang-"* ]] && [[ -z $(apt-cache madison "${missing[@]}" 2>/dev/null | grep golang-) ]]; then
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" "Identifier: Packages" | head -n 1)
  [[ -n "$release" && -n "$mirror" ]] || fail "no Go in this system's packages; put Go 1.$least_go or newer on PATH"
  echo "install_deps: adding $release-backports, for Go"
  echo "deb $mirror $release-backports main" | "${as_root[@]}" tee /etc/apt/sources.list.d/weir-backports.list >/dev/null
  apt update >/dev/null || fail "apt-get update failed; look at its messages above"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  fail "apt-get could not install: ${missing[*]}"
fi
