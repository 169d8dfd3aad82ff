#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renews the outputs that documentation pages show, after a change that moves them.

    tools/renew_docs.py FOLDER-OF-THE-PROGRAM PAGE...

A plain ``` block that follows a ```sh block gets what those commands print now. Only blocks that are
there already; read the difference before you commit it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.compile(r"(```sh\n(?P<commands>.*?)```\n\n```\n)(?P<output>.*?)(```\n)|```sh\n(?P<alone>.*?)```\n", re.S)


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    environment = dict(os.environ, PATH=f"{Path(sys.argv[1]).resolve()}:{os.environ['PATH']}")
    for page in map(Path, sys.argv[2:]):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "examples", Path(folder) / "examples")

            def run(commands):
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment,
                                      capture_output=True, text=True)
                if done.returncode not in (0, 3):
                    sys.exit(f"{page}: {commands}\nexit code {done.returncode}\n{done.stderr}")
                return done.stdout

            def renewed(match):
                if match["alone"] is not None:
                    run(match["alone"])
                    return match[0]
                printed = run(match["commands"])
                # Pages may show the beginning only.
                shown = match["output"].count("\n")
                lines = printed.splitlines(keepends=True)
                text = "".join(lines[:shown]) if len(lines) > shown + 4 else printed
                return match[1] + text.rstrip("\n") + "\n" + match[4]

            page.write_text(BLOCKS.sub(renewed, page.read_text()))
        print(f"renewed {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
