# SPDX-License-Identifier: Apache-2.0
"""A piece of PyTorch that is another one for a while."""
import contextlib


@contextlib.contextmanager
def replaced(owner, name, value):
    """What a class inherits is uncovered again, not copied into it."""
    own = vars(owner)
    was_own, before = name in own, own.get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if was_own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)
