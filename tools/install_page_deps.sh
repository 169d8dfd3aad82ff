#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Downloads the packages the page is built with into ui/node_modules, exactly as ui/package-lock.json names them, and
# only when that file has changed since the last time. The build itself downloads nothing.
#
#   tools/install_page_deps.sh     needs node and npm: tools/install_deps.sh page
set -euo pipefail
cd "$(dirname "$0")/../ui"
readonly stamp=node_modules/.installed-from

fail() {
  echo "install_page_deps: $*" >&2
  exit 1
}

[[ -f package-lock.json ]] || fail "ui/package-lock.json is not there; check it out again"
wanted=$(sha256sum package-lock.json)
[[ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]] || exit 0
command -v node npm >/dev/null || fail "node and npm are not on PATH; call tools/install_deps.sh page"
node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' || fail "node $(node --version) is too old: 18 or newer is needed"

# One at a time, and not while a build uses them.
mkdir -p ../build/page
exec 9>../build/page/lock
flock 9
[[ "$wanted" != "$(cat "$stamp" 2>/dev/null)" ]] || exit 0

echo "install_page_deps: installing what ui/package-lock.json names"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm ci --no-audit --no-fund --no-update-notifier >"$log" 2>&1 </dev/null 9>&-; then
  head -n 12 "$log" >&2
  fail "npm ci failed; look at its messages above"
fi
echo "$wanted" >"$stamp"
