#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A script of ui/package.json: the page's unit tests, or its types.
#
#   tests/page/npm.sh test|check     exit code 77, skipped, where Node or ui/node_modules are missing
set -euo pipefail
cd "$(dirname "$0")/../../ui"

skip() {
  echo "skipped: $*"
  [[ "${WEIR_PAGE_TESTS:-}" != required ]] || { echo "but the tests of the page are required here" >&2; exit 1; }
  exit 77
}

command -v npm >/dev/null || skip "npm is not on PATH (tools/install_deps.sh page)"
[[ -d node_modules/vitest ]] || skip "ui/node_modules is not there (tools/install_page_deps.sh)"
npm_config_offline=true npm_config_update_notifier=false exec npm run --silent "$1"
