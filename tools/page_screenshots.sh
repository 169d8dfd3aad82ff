#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays a small busy day on a real server and takes pictures of every view of the page, light and dark, wide and narrow, into
# docs/images/page. By hand or at night: it takes some minutes.
#
#   tools/page_screenshots.sh [FOLDER]     needs tools/install_deps.sh page browser, tools/install_page_deps.sh, make build
set -euo pipefail
cd "$(dirname "$0")/.."
exec node ui/e2e/screenshots.mjs "$@"
