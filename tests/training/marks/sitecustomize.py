# SPDX-License-Identifier: Apache-2.0
"""Found through PYTHONPATH, it runs in every interpreter that a job of the tests starts, so the scripts stay as users have them.

Appends to WEIR_TEST_MARKS/marks "begin GENERATION RANK PID SECONDS", "end ..." at an orderly end, and "clash ..." when a process of
another generation still lives: each holds a lock of its own as long as it does, however it ends.
"""
import atexit
import fcntl
import glob
import os
import time


def _mark(word):
    place = (os.environ["WEIR_GENERATION"], os.environ["RANK"], os.getpid())
    line = f"{word} {place[0]} {place[1]} {place[2]} {time.clock_gettime(time.CLOCK_BOOTTIME):.6f}\n"
    descriptor = os.open(os.path.join(_folder, "marks"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, line.encode())  # one write, so that lines do not mix
    os.close(descriptor)


def _is_held(path):
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


_folder = os.environ.get("WEIR_TEST_MARKS")
if _folder and "WEIR_GENERATION" in os.environ:
    _own = os.path.join(_folder, f"{os.environ['WEIR_GENERATION']}.{os.getpid()}.lock")
    _lock = open(_own, "wb")  # open until the process is gone
    fcntl.flock(_lock, fcntl.LOCK_EX)
    _mark("begin")
    for _other in glob.glob(os.path.join(_folder, "*.lock")):
        if os.path.basename(_other).split(".")[0] != os.environ["WEIR_GENERATION"] and _is_held(_other):
            _mark("clash")
    atexit.register(_mark, "end")
