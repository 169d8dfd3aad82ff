#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves the promise of the README: a bare Debian 12 with git and make, a clone, one command.
# Makes such a machine in a temporary folder, clones this checkout's HEAD into it, and runs each
# argument there as one command, with its time:
#
#   tools/fresh_machine.sh                              the program without Node and with it, make run, make test, a clean
#                                                       build without ccache
#   tools/fresh_machine.sh "make deps" "make build"     other commands
#
# The data of WEIR_DATA (default ../shared/data) is copied next to the clone when it exists.
# Packages come from where this machine's own apt and npm get them. Root only; nothing is left mounted,
# because all mounts live in a namespace that ends with the script. KEEP=1 keeps the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly suite=bookworm

fail() {
  echo "fresh_machine: $*" >&2
  exit 1
}

[[ $(id -u) -eq 0 ]] || fail "needs root for chroot; call it with sudo"
if [[ -z "${WEIR_FRESH_NAMESPACE:-}" ]]; then
  exec env WEIR_FRESH_NAMESPACE=1 unshare --mount --propagation private "$0" "$@"
fi
readonly clean_build='make clean && cmake --preset release >/dev/null && CCACHE_DISABLE=1 cmake --build --preset release -j $(nproc)'
# Node is not there yet: the program must not need it. `make run` installs it, and the same build folder gets the page.
readonly without_node='tools/install_deps.sh core tests && cmake --preset release >/dev/null &&
  cmake --build --preset release -j $(nproc) --target weir && tests/dashboard.py build/release/bin/weir | tee shown && grep "the notice is served" shown'
readonly has_page='tests/dashboard.py build/release/bin/weir | tee shown && grep "the page has" shown'
[[ $# -gt 0 ]] || set -- "$without_node" "make run" "$has_page" "make test" "$clean_build"
tools/install_deps.sh chroot

machine=$(mktemp -d -t weir-fresh.XXXXXX)
chmod 755 "$machine"  # a real root folder is readable; apt downloads as its own user
clean_up() {
  umount "$machine/proc" "$machine/dev/pts" "$machine/dev/shm" 2>/dev/null || true
  if [[ -n "${KEEP:-}" ]]; then
    echo "fresh_machine: kept $machine"
  else
    rm -rf --one-file-system "$machine"
  fi
}
trap clean_up EXIT

# Each step's output is the caller's to read; the times are repeated together at the end.
times=()
step() {
  local title=$1 start=$SECONDS
  shift
  echo "== $title"
  "$@" || fail "failed after $((SECONDS - start)) s: $title"
  times+=("$(printf '%6d s  %s' $((SECONDS - start)) "$title")")
}

mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
  awk -v suite="$suite" '$2 == suite { print $1; exit }')
[[ -n "$mirror" ]] || fail "this machine's apt has no source for $suite"

bare_machine() {
  debootstrap --variant=minbase --include=git,make,ca-certificates "$suite" "$machine" "$mirror" \
    >"$machine.log" 2>&1 || { tail -n 20 "$machine.log" >&2; return 1; }
  rm -f "$machine.log"
}
same_apt_as_here() {
  rm -f "$machine"/etc/apt/sources.list
  cp -a /etc/apt/sources.list* "$machine/etc/apt/"
  cp -a /etc/apt/trusted.gpg* "$machine/etc/apt/" 2>/dev/null || true
  apt-config dump | grep '^Acquire::' >"$machine/etc/apt/apt.conf.d/00host" || true
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
  if compgen -G '/usr/local/share/ca-certificates/*.crt' >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$machine/usr/local/share/ca-certificates/"
    chroot "$machine" update-ca-certificates >/dev/null 2>&1
  fi
}
same_npm_as_here() {
  command -v npm >/dev/null || return 0
  local key value
  for key in registry cafile; do
    value=$(npm config get "$key" 2>/dev/null)
    [[ "$value" == null ]] || echo "$key=$value"
  done >"$machine/root/.npmrc"
}
mount_system() {
  mount -t proc proc "$machine/proc"
  mkdir -p "$machine/dev/pts" "$machine/dev/shm"
  mount -t devpts -o ptmxmode=0666,newinstance devpts "$machine/dev/pts"
  mount -t tmpfs tmpfs "$machine/dev/shm"
}
clone() {
  mkdir -p "$machine/src"
  git clone -q "file://$PWD" "$machine/src/weir"
  local data=${WEIR_DATA:-../shared/data}
  [[ -d "$data" ]] || return 0
  mkdir -p "$machine/src/shared"
  cp -rL "$data" "$machine/src/shared/data"
}
# Only these reach the machine from here: no settings, no caches, no stdin.
in_machine() {
  chroot "$machine" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${CI:+CI="$CI"} \
    bash -c "cd /src/weir && $1" </dev/null
}

step "debootstrap $suite" bare_machine
same_apt_as_here
same_npm_as_here
mount_system
clone
for command in "$@"; do
  step "$command" in_machine "$command"
done

echo "== fresh machine: all of it worked, on $(nproc) cores"
printf '%s\n' "${times[@]}"
