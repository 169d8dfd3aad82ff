# SPDX-License-Identifier: Apache-2.0
"""Numbered checkpoints in a folder, of which the newest whole one counts.

Each is a file `checkpoint-00000007` and a manifest `checkpoint-00000007.manifest` with its step, size and CRC-32, written last. One
that has no manifest or does not fit it is no checkpoint: the one before it is taken. One process at a time writes to a folder: rank 0.
"""

import contextlib
import os
import re
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Callable, List, NamedTuple, Optional, Union

from weir_worker.atomic_file import PARTIAL_SUFFIX, Write, save_atomically
from weir_worker.progress_report import reporter

_NAME = re.compile(r"checkpoint-(\d{8,18})")
_MANIFEST_SUFFIX = ".manifest"
_MANIFEST = re.compile(
    r"weir-checkpoint 1\nstep (\d{1,18})\nsize (\d{1,18})\ncrc32 ([0-9a-f]{8})\n"
)
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """One that was found to be whole."""

    number: int
    step: int
    path: Path


class Loaded(NamedTuple):
    """What `read` returned, and the step of the checkpoint it was read from."""

    step: int
    value: Any


class _Manifest(NamedTuple):
    step: int
    size: int
    crc32: str


class Checkpoints:
    """The checkpoints of one job, in WEIR_CHECKPOINT_DIR unless another folder is given. `keep` of them stay."""

    def __init__(self, folder: Union[str, "os.PathLike[str]", None] = None, keep: int = 2) -> None:
        if keep < 1:
            raise ValueError(f"keep is {keep}, expected 1 or more")
        self._folder = Path(folder if folder is not None else os.environ.get("WEIR_CHECKPOINT_DIR", "checkpoints"))
        self._keep = keep

    def save(self, step: int, write: Write) -> Checkpoint:
        """Writes a new checkpoint, then removes the oldest. On any error those that were there still are."""
        if step < 0:
            raise ValueError(f"step is {step}, expected 0 or more")
        began = time.monotonic()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._remove_partial_files()
        number = max(self._numbers(), default=0) + 1
        path = self._path(number)
        save_atomically(path, write)
        with open(path, "rb") as file:
            manifest = _describe(file, step)
        save_atomically(_manifest_path(path), lambda file: file.write(_encode(manifest)))
        self._remove_old()
        reporter().tell("saved", time.monotonic() - began)
        return Checkpoint(number, step, path)

    def latest(self) -> Optional[Checkpoint]:
        """The newest whole checkpoint, or None."""
        for number in sorted(self._numbers(), reverse=True):
            manifest = _read_manifest(self._path(number))
            if manifest is None:
                continue
            with contextlib.suppress(OSError), open(self._path(number), "rb") as file:
                if _fits(file, manifest):
                    return Checkpoint(number, manifest.step, self._path(number))
        return None

    def load(self, read: Callable[[BinaryIO], Any]) -> Optional[Loaded]:
        """Calls `read` with the newest whole checkpoint, such as load(torch.load). None when there is none."""
        checkpoint = self.latest()
        loaded = None
        if checkpoint is not None:
            with open(checkpoint.path, "rb") as file:
                loaded = Loaded(checkpoint.step, read(file))
        reporter().tell("loaded")
        return loaded

    def _path(self, number: int) -> Path:
        return self._folder / f"checkpoint-{number:08d}"

    def _numbers(self) -> List[int]:
        """Of all there is, whole or not: a number is never used again while a file has it."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        matches = (_NAME.fullmatch(name.replace(_MANIFEST_SUFFIX, "")) for name in names)
        return list({int(match.group(1)) for match in matches if match})

    def _remove_partial_files(self) -> None:
        """What a process that was killed while it saved has left."""
        for name in os.listdir(self._folder):
            if name.startswith(".checkpoint-") and name.endswith(PARTIAL_SUFFIX):
                _remove(self._folder / name)

    def _remove_old(self) -> None:
        """A damaged one is not counted as kept. The manifest goes first: without it there is no checkpoint."""
        kept = 0
        for number in sorted(self._numbers(), reverse=True):
            path = self._path(number)
            if kept < self._keep and _has_its_size(path):
                kept += 1
                continue
            _remove(_manifest_path(path))
            _remove(path)


def _manifest_path(path: Path) -> Path:
    return path.with_name(path.name + _MANIFEST_SUFFIX)


def _facts(step: int, size: int) -> str:
    return f"weir-checkpoint 1\nstep {step}\nsize {size}\n"


def _encode(manifest: _Manifest) -> bytes:
    return f"{_facts(manifest.step, manifest.size)}crc32 {manifest.crc32}\n".encode()


def _describe(file: BinaryIO, step: int) -> _Manifest:
    """The manifest of the file as it is. The checksum is of the file and of what the manifest says."""
    size = os.fstat(file.fileno()).st_size
    checksum = 0
    for block in iter(lambda: file.read(_BLOCK_BYTES), b""):
        checksum = zlib.crc32(block, checksum)
    checksum = zlib.crc32(_facts(step, size).encode(), checksum)
    return _Manifest(step, size, f"{checksum:08x}")


def _read_manifest(path: Path) -> Optional[_Manifest]:
    try:
        text = _manifest_path(path).read_bytes().decode("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    match = _MANIFEST.fullmatch(text)
    return _Manifest(int(match.group(1)), int(match.group(2)), match.group(3)) if match else None


def _fits(file: BinaryIO, manifest: _Manifest) -> bool:
    return os.fstat(file.fileno()).st_size == manifest.size and _describe(file, manifest.step) == manifest


def _has_its_size(path: Path) -> bool:
    manifest = _read_manifest(path)
    try:
        return manifest is not None and path.stat().st_size == manifest.size
    except OSError:
        return False


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
