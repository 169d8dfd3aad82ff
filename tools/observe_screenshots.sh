#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Crowds a small cluster of a real Kubernetes control plane and takes pictures of the page that observes it, light and dark, wide and
# narrow, into docs/images/page. By hand or at night: it takes some minutes.
#
#   tools/observe_screenshots.sh [FOLDER]     needs what tools/page_screenshots.sh needs, and tests/kubernetes/build_servers.sh
set -euo pipefail
cd "$(dirname "$0")/.."
exec node ui/e2e/observe_screenshots.mjs "$@"
