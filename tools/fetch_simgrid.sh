#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# SimGrid for network_bench: Debian's library, installed, and its headers, unpacked into build/simgrid. The package with
# the headers cannot be installed beside libboost1.81-dev. Configure again afterwards: cmake --preset release
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh simgrid
[[ ! -e build/simgrid/usr/include/simgrid/s4u.hpp ]] || exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
(cd "$folder" && apt-get -q -o APT::Sandbox::User=root download libsimgrid-dev)
mkdir -p build/simgrid
dpkg -x "$folder"/libsimgrid-dev_*.deb build/simgrid
