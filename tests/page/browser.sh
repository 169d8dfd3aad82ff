#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# One file of ui/e2e: the page in a real Chromium, with a real server and real jobs.
#
#   tests/page/browser.sh NAME [FOLDER-OF-THE-PROGRAMS]     for example: tests/page/browser.sh signs_in
#
# Exit code 77, skipped, where Node, ui/node_modules or Chromium are missing; a failure with WEIR_PAGE_TESTS=required. A test that
# fails leaves a picture and a trace in out/page-tests.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $*"
  [[ "${WEIR_PAGE_TESTS:-}" != required ]] || { echo "but the tests of the page are required here" >&2; exit 1; }
  exit 77
}

command -v node >/dev/null || skip "node is not on PATH (tools/install_deps.sh page)"
[[ -d ui/node_modules/playwright-core ]] || skip "ui/node_modules is not there (tools/install_page_deps.sh)"
[[ -x "${CHROMIUM:-/usr/bin/chromium}" ]] || skip "Chromium is not installed (tools/install_deps.sh browser)"
WEIR_BIN=$(cd "${2:-build/release/bin}" && pwd)
export WEIR_BIN
exec node "ui/e2e/$1.mjs"
