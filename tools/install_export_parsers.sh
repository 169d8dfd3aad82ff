#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the parsers of the trainers that plans are exported to, in an environment of its own in
# build/export-parsers: the configuration of DeepSpeed, torchtitan and InternEvo, from PyPI. Their kernels and models
# are not built, and torch is Debian's.
#
#   make deps-parsers     also installs what this needs: tools/install_deps.sh torch parsers
set -euo pipefail
cd "$(dirname "$0")/.."
readonly folder=build/export-parsers
# The versions of tests/exports/grammar.json.
readonly targets=(deepspeed==0.19.8 torchtitan==0.2.2 InternEvo==0.5.2)
readonly needs=('tyro>=0.9,<2' 'pydantic>=2,<3' hjson py-cpuinfo einops psutil tqdm packaging msgpack numpy'<2')

fail() {
  echo "install_export_parsers: $*" >&2
  exit 1
}

wanted=$(sha256sum "$0")
[[ "$wanted" != "$(cat "$folder/.installed-from" 2>/dev/null)" ]] || exit 0
echo "install_export_parsers: installing ${targets[*]}"
rm -rf "$folder"
mkdir -p "$folder"
# Debian's python3 it is, whatever else is on PATH: it has torch.
/usr/bin/python3 -m venv --system-site-packages "$folder" || fail "no environment; call make deps-parsers"
"$folder/bin/pip" install --quiet "${needs[@]}" || fail "pip failed; look at its messages above"
DS_BUILD_OPS=0 "$folder/bin/pip" install --quiet --no-deps --no-build-isolation "${targets[@]}" ||
  fail "pip failed; look at its messages above"
echo "$wanted" >"$folder/.installed-from"
