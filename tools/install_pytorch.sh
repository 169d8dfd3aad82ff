#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs a current PyTorch in an environment of its own in build/pytorch, from PyPI: about 3 GB to fetch, 6 GB on disk.
# Debian's is too old to trace networks (tools/collect). No GPU is needed.
#
#   make deps-pytorch     also installs what this needs: tools/install_deps.sh parsers
set -euo pipefail
cd "$(dirname "$0")/.."
readonly folder=build/pytorch
readonly targets=(torch==2.15.0 numpy)

wanted=$(sha256sum "$0")
[[ "$wanted" != "$(cat "$folder/.installed-from" 2>/dev/null)" ]] || exit 0
echo "install_pytorch: installing ${targets[*]}"
rm -rf "$folder"
mkdir -p "$folder"
if ! { /usr/bin/python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "${targets[@]}"; }; then
  echo "install_pytorch: no environment; call make deps-pytorch, look at the messages above" >&2
  exit 1
fi
echo "$wanted" >"$folder/.installed-from"
