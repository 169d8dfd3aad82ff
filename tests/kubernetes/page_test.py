#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a server that observes, in a real Chromium: ui/e2e/observes_kubernetes.mjs. Skipped where Node or Chromium
are missing.

    tests/kubernetes/page_test.py [--bin FOLDER]
"""
import os
import sys

sys.dont_write_bytecode = True

from control_plane import HERE
from weir_program import parser


def main():
    options = parser(__doc__).parse_args()
    browser = HERE.parent / "page" / "browser.sh"
    os.execv(browser, [str(browser), "observes_kubernetes", str(options.bin.resolve())])


if __name__ == "__main__":
    main()
