#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tasks/train-elastically.md, in their order, with a server of their own. They stand there as indented text,
because tools/run_docs.sh must work without PyTorch.

    tests/training/page_test.py BIN     without PyTorch exit code 77: skipped
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import start_tests

if __name__ == "__main__":
    start_tests.need_torch()

from live_job import Cluster

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tasks" / "train-elastically.md"


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.weir = start_tests.program(self, "weir")
        start_tests.program(self, "weir-example-picture")
        # The python3 that runs this test has torch; another may come first.
        path = os.pathsep.join([str(Path(sys.executable).parent), str(Path(self.weir).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CONFIG_HOME": str(self.folder),
                            "WEIR_STATE": str(self.folder / "state")}

    def run_command(self, command):
        done = subprocess.run(command, shell=True, cwd=ROOT, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        return done.stdout

    def test_the_commands_work(self):
        Cluster(self, self.weir, self.folder, self.environment)
        commands = re.findall(r"^    (weir (?!serve).*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreaterEqual(len(commands), 6)
        said = {command: self.run_command(command) for command in commands}
        for name in ("elastic", "picture"):
            self.assertIn("finished", said[f"weir submit --wait examples/train/{name}.yaml"])
        self.assertIn("finished", self.run_command("weir job plain"))
        self.assertIn("step 2000 loss", self.run_command("weir logs plain"))

    def test_the_job_is_that_of_the_page(self):
        """What the page shows of plain.yaml stands there, but for the comments."""
        file = re.sub(r" +#.*$", "", (ROOT / "examples" / "train" / "plain.yaml").read_text(), flags=re.MULTILINE)
        shown = re.search(r"^    name: plain\n(    .*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE).group(0)
        for line in shown.splitlines():
            self.assertIn(line.strip(), file.splitlines())


if __name__ == "__main__":
    start_tests.main()
