#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds a real Kubernetes control plane for tests: kube-apiserver, kube-controller-manager, kube-scheduler, kubectl,
# etcd, and kwok, which plays the kubelets of nodes that do not exist. The programs are tool dependencies of the two
# Go modules beside this script; what is up to date is not built again.
#
#   tests/kubernetes/build_servers.sh [FOLDER]     default: build/kubernetes/bin
#
# Cold, with the modules still to fetch: about 7 minutes on 2 cores, 3 GB of Go's caches.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/kubernetes/bin}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

fail() {
  echo "build_servers: $*" >&2
  exit 1
}

export CGO_ENABLED=0 GOFLAGS=-mod=readonly
# A Go that is too old fetches the one go.mod names.
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
command -v go >/dev/null || PATH=$PATH:/usr/lib/go-1.23/bin # where Debian puts it
command -v go >/dev/null || fail "no go on PATH; tools/install_deps.sh kubernetes installs one"

# The servers tell this version to everybody who asks.
kubernetes=$(sed -n 's/^\tk8s.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$here/servers/go.mod")
[[ "$kubernetes" =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+$ ]] || fail "servers/go.mod: no version of k8s.io/kubernetes"
flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=$kubernetes -X $package.gitMajor=${BASH_REMATCH[1]} -X $package.gitMinor=${BASH_REMATCH[2]}"
done

# build MODULE PROGRAM...: unless its stamp says that these programs come from this go.mod with these flags.
build() {
  local module=$1 stamp=$folder/.$1.stamp sum program start=$SECONDS
  shift
  sum=$({ cat "$here/$module/go.mod" "$here/$module/go.sum"; echo "$flags"; } | sha256sum)
  if [[ -f "$stamp" && "$(cat "$stamp")" == "$sum" ]]; then
    local is_complete=true
    for program in "$@"; do [[ -x "$folder/$program" ]] || is_complete=false; done
    if $is_complete; then
      return
    fi
  fi
  echo "build_servers: building $* (minutes, when Go's cache is cold)"
  local fresh
  fresh=$(mktemp -d "$folder/.fresh.XXXXXX")
  (cd "$here/$module" && go build -trimpath -ldflags "$flags" -o "$fresh" tool) || { rm -rf "$fresh"; fail "go build failed in $module"; }
  if [[ -x "$fresh/server" ]]; then mv "$fresh/server" "$fresh/etcd"; fi # its main package has no name of its own
  for program in "$@"; do mv "$fresh/$program" "$folder/$program" || fail "$module did not make $program"; done
  rm -rf "$fresh"
  echo "$sum" >"$stamp"
  echo "build_servers: $* built in $((SECONDS - start)) s"
}

build servers etcd kube-apiserver kube-controller-manager kube-scheduler kubectl
build kwok kwok
