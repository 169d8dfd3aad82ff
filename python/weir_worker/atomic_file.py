# SPDX-License-Identifier: Apache-2.0
"""A file is there whole, or the one before it still is, whatever happens in between."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Callable, Union

PARTIAL_SUFFIX = ".partial"

Write = Callable[[BinaryIO], object]


def save_atomically(path: Union[str, "os.PathLike[str]"], write: Write) -> None:
    """Calls `write` with a binary file, and gives it the name `path` when all of it has reached the disk.

    The file is written beside its place, because only within a file system is a change of name one step. For PyTorch:
    save_atomically(path, lambda file: torch.save(state, file)).
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    try:
        with open(partial, "w+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """The new name is in the folder, and the folder has to reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
