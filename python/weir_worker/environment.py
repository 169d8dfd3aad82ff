# SPDX-License-Identifier: Apache-2.0
"""Which of how many processes this one is. Alone it is rank 0 of 1."""

import os
from typing import Optional, Tuple


def world_size() -> int:
    """The number of processes that train together (WORLD_SIZE)."""
    return _number("WORLD_SIZE", 1)


def rank() -> int:
    """The number of this process among them (RANK)."""
    return _number("RANK", 0)


def checked_place(size: Optional[int], number: Optional[int]) -> Tuple[int, int]:
    """World size and rank, from the environment where they are not given."""
    size = world_size() if size is None else size
    number = rank() if number is None else number
    if size < 1:
        raise ValueError(f"world_size is {size}, expected 1 or more")
    if not 0 <= number < size:
        raise ValueError(f"rank is {number}, expected 0 to {size - 1}")
    return size, number


def _number(variable: str, alone: int) -> int:
    text = os.environ.get(variable, "")
    if not text:
        return alone
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'{variable} is "{text}", expected a number') from None
