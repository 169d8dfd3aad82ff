# SPDX-License-Identifier: Apache-2.0
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from weir_worker import Checkpoints, save_atomically

PACKAGE = os.path.join(os.path.dirname(__file__), "..")


def put(data):
    return lambda file: file.write(data)


def get(file):
    return file.read()


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def names(self):
        return sorted(os.listdir(self.folder))


class AtomicFile(InFolder):
    def test_writes_and_replaces(self):
        path = self.folder / "state"
        save_atomically(path, put(b"one"))
        save_atomically(str(path), put(b"two"))
        self.assertEqual(path.read_bytes(), b"two")
        self.assertEqual(self.names(), ["state"])

    def test_lets_the_writer_seek_and_read(self):
        def write(file):
            file.write(b"????rest")
            file.seek(0)
            file.write(b"head")
            file.seek(0)
            self.assertEqual(file.read(), b"headrest")

        save_atomically(self.folder / "state", write)
        self.assertEqual((self.folder / "state").read_bytes(), b"headrest")

    def test_an_error_leaves_the_old_file_and_nothing_else(self):
        path = self.folder / "state"
        save_atomically(path, put(b"one"))

        def fail(file):
            file.write(b"half")
            raise RuntimeError("out of memory")

        with self.assertRaises(RuntimeError):
            save_atomically(path, fail)
        self.assertEqual(path.read_bytes(), b"one")
        self.assertEqual(self.names(), ["state"])

    def test_the_bytes_and_the_name_reach_the_disk_in_this_order(self):
        calls = []
        real_sync, real_replace = os.fsync, os.replace

        def sync(descriptor):
            calls.append("sync folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "sync file")
            real_sync(descriptor)

        def replace(a, b):
            calls.append("rename")
            real_replace(a, b)

        with mock.patch("os.fsync", sync), mock.patch("os.replace", replace):
            save_atomically(self.folder / "state", put(b"x"))
        self.assertEqual(calls, ["sync file", "rename", "sync folder"])

    def test_is_as_readable_as_any_new_file(self):
        save_atomically(self.folder / "state", put(b"x"))
        (self.folder / "plain").write_bytes(b"x")
        modes = {(self.folder / name).stat().st_mode for name in ("state", "plain")}
        self.assertEqual(len(modes), 1)


class Numbered(InFolder):
    def test_there_is_none_at_first(self):
        checkpoints = Checkpoints(self.folder / "not yet")
        self.assertIsNone(checkpoints.latest())
        self.assertIsNone(checkpoints.load(get))

    def test_loads_what_was_saved(self):
        checkpoints = Checkpoints(self.folder)
        checkpoints.save(10, put(b"ten"))
        checkpoints.save(20, put(b"twenty"))
        self.assertEqual(checkpoints.load(get), (20, b"twenty"))
        self.assertEqual(Checkpoints(self.folder).latest().step, 20)

    def test_keeps_as_many_as_it_is_told(self):
        for keep in (1, 2, 3):
            checkpoints = Checkpoints(self.folder / str(keep), keep)
            for step in range(6):
                checkpoints.save(step, put(b"x"))
            self.assertEqual(len(os.listdir(self.folder / str(keep))), 2 * keep)
            self.assertEqual(checkpoints.latest().step, 5)

    def test_the_same_step_again_is_a_new_checkpoint(self):
        checkpoints = Checkpoints(self.folder)
        first = checkpoints.save(5, put(b"a"))
        second = checkpoints.save(5, put(b"b"))
        self.assertNotEqual(first.path, second.path)
        self.assertEqual(checkpoints.load(get), (5, b"b"))

    def test_falls_back_when_the_newest_is_damaged(self):
        def cut(path):
            os.truncate(path, path.stat().st_size - 1)

        def flip(path):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)

        def lengthen(path):
            path.write_bytes(path.read_bytes() + b"\0")

        def remove(path):
            path.unlink()

        for damage in (cut, flip, lengthen, remove):
            for part in ("", ".manifest"):
                with self.subTest(damage=damage.__name__, part=part):
                    checkpoints = Checkpoints(self.folder)
                    checkpoints.save(1, put(b"before"))
                    newest = checkpoints.save(2, put(b"newest"))
                    damage(newest.path.with_name(newest.path.name + part))
                    self.assertEqual(checkpoints.load(get), (1, b"before"))
                    checkpoints.save(3, put(b"after"))
                    self.assertEqual(checkpoints.load(get), (3, b"after"))

    def test_every_length_of_a_cut_is_noticed(self):
        checkpoints = Checkpoints(self.folder, keep=2)
        checkpoints.save(1, put(b"before"))
        newest = checkpoints.save(2, put(b"0123456789"))
        manifest = newest.path.with_name(newest.path.name + ".manifest")
        for path in (newest.path, manifest):
            whole = path.read_bytes()
            for length in range(len(whole)):
                path.write_bytes(whole[:length])
                self.assertEqual(checkpoints.latest().step, 1, f"{path.name} cut to {length}")
            path.write_bytes(whole)
            self.assertEqual(checkpoints.latest().step, 2)

    def test_a_damaged_one_is_not_counted_as_kept(self):
        checkpoints = Checkpoints(self.folder, keep=2)
        checkpoints.save(1, put(b"one"))
        second = checkpoints.save(2, put(b"two"))
        os.truncate(second.path, 1)
        third = checkpoints.save(3, put(b"three"))
        os.truncate(third.path, 1)
        self.assertEqual(checkpoints.load(get), (1, b"one"))

    def test_an_error_while_saving_leaves_what_was_there(self):
        checkpoints = Checkpoints(self.folder, keep=1)
        checkpoints.save(1, put(b"one"))
        before = self.names()
        with self.assertRaises(ZeroDivisionError):
            checkpoints.save(2, lambda file: 1 / 0)
        self.assertEqual(self.names(), before)
        self.assertEqual(checkpoints.load(get), (1, b"one"))

    def test_leaves_other_files_alone(self):
        for name in ("notes.txt", "checkpoint-best", "checkpoint-12.pt", "checkpoint-00000001.pt"):
            (self.folder / name).write_bytes(b"mine")
        checkpoints = Checkpoints(self.folder, keep=1)
        for step in range(3):
            checkpoints.save(step, put(b"x"))
        for name in ("notes.txt", "checkpoint-best", "checkpoint-12.pt", "checkpoint-00000001.pt"):
            self.assertEqual((self.folder / name).read_bytes(), b"mine")

    def test_is_in_the_folder_that_weir_gives(self):
        with mock.patch.dict(os.environ, {"WEIR_CHECKPOINT_DIR": str(self.folder)}):
            Checkpoints().save(4, put(b"x"))
        self.assertEqual(Checkpoints(self.folder).latest().step, 4)

    def test_refuses_what_cannot_be(self):
        with self.assertRaises(ValueError):
            Checkpoints(self.folder, keep=0)
        with self.assertRaises(ValueError):
            Checkpoints(self.folder).save(-1, put(b"x"))


class Killed(InFolder):
    """kill -9 at any moment of a save: at the next start there is a whole checkpoint, and never an older one than was reported."""

    SCRIPT = (
        "import sys, weir_worker\n"
        "checkpoints = weir_worker.Checkpoints(sys.argv[1], keep=int(sys.argv[2]))\n"
        "step = 0\n"
        "while True:\n"
        "    step += 1\n"
        "    data = step.to_bytes(8, 'little') * 4096\n"
        "    checkpoints.save(step, lambda file: [file.write(data[i:i + 512]) for i in range(0, len(data), 512)])\n"
        "    print(step, flush=True)\n"
    )

    def run_and_kill(self, keep, seconds):
        command = [sys.executable, "-c", self.SCRIPT, str(self.folder), str(keep)]
        with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PACKAGE}, stdout=subprocess.PIPE) as job:
            first = job.stdout.readline()
            time.sleep(seconds)
            job.send_signal(signal.SIGKILL)
            lines = [first] + job.stdout.read().splitlines()
        return int([line for line in lines if line.strip()][-1])

    def test_never_loses_what_was_saved(self):
        rng = random.Random(9)
        for round_number in range(24):
            keep = rng.choice([1, 2])
            reported = self.run_and_kill(keep, rng.uniform(0.0, 0.02))
            step, data = Checkpoints(self.folder, keep).load(get)
            self.assertIn(step, (reported, reported + 1), round_number)
            self.assertEqual(data, step.to_bytes(8, "little") * 4096)
