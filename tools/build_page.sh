#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the page in ui/ and puts what the program embeds into a folder: embedded_page.bin and .inc.
# The build calls it; it downloads nothing. All build folders share one page, in build/page: it is built again only
# when its sources have changed, and by one build at a time.
#
#   tools/build_page.sh FOLDER     needs node and npm on PATH, and tools/install_page_deps.sh before
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
readonly folder page=build/page

fail() {
  echo "build_page: $*" >&2
  exit 1
}

# All that the page is made of. cmake/page.cmake watches the same files.
sources() {
  find ui -maxdepth 1 -type f
  find ui/src ui/public ui/tools -type f ! -name '*.generated.*' 2>/dev/null || true
  echo docs/openapi.yaml
  echo docs/reference/job.schema.json
}
digest_of_sources() { sources | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum | sha256sum; }

command -v node >/dev/null && command -v npm >/dev/null ||
  fail "node and npm are not on PATH any more; call tools/install_deps.sh page, or cmake again to build without the page"

mkdir -p "$page"
exec 9>"$page/lock"
flock 9

before=$(digest_of_sources)
if [[ ! -f "$page/embedded_page.inc" || "$before" != "$(cat "$page/sources" 2>/dev/null)" ]]; then
  rm -f "$page/sources"
  # Offline: whatever is missing is an error here, not a download.
  (exec 9>&-; cd ui && npm_config_offline=true npm_config_update_notifier=false npm run --silent build) >"$page/log" 2>&1 || {
    cat "$page/log" >&2
    fail "the page could not be built; the messages above say why"
  }
  node ui/tools/bundle.mjs ui/dist "$page"
  echo "$before" >"$page/sources"
fi
cp "$page/embedded_page.bin" "$page/embedded_page.inc" "$folder/"
