# SPDX-License-Identifier: Apache-2.0
"""How each test of training starts: TEST.py BIN [NAME...], BIN the folder of the programs."""
import importlib.util
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # tests leave nothing in the source tree
SKIPPED = 77

_programs = None


def need_torch():
    """Leaves with 77, which ctest takes for skipped."""
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {sys.executable} has no torch (make deps-torch)")
        sys.exit(SKIPPED)


def program(test, name):
    """Its path; the test is skipped where it was not built."""
    path = _programs / name
    if not path.exists():
        test.skipTest(f"{name} was not built")
    return str(path)


def main():
    global _programs
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-THE-PROGRAMS [TEST...]")
    _programs = Path(sys.argv.pop(1)).resolve()
    unittest.main(module="__main__", verbosity=2)
