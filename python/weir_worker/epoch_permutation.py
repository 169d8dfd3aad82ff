# SPDX-License-Identifier: Apache-2.0
"""The order of the samples of an epoch, computed one by one.

A shuffled list would have to be kept, or made again from its start after each resize, and every language shuffles in its own way. This
permutation is a formula of (length, seed, epoch, position): no memory, any position at once, integers only, so C++ and
Python give the same order.

It is a Feistel network: a position is cut into two halves of equal bits, and each round adds a hash of one half to the other, which can be
undone, so no two positions meet. Halves of equal bits make a domain that is a power of four. Numbers beyond the length
are sent through again until one falls inside (cycle walking); that keeps it a permutation, and takes less than four turns on average, because the
domain is less than four times the length. A short data set takes more turns: 256 is the smallest domain, because a network on so few
positions gives only even permutations of them, and walking through a larger one gives all.
"""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, the step of splitmix64
_MIX_A = 0xBF58476D1CE4E5B9
_MIX_B = 0x94D049BB133111EB
_ROUNDS = 8
_LEAST_HALF_BITS = 4
LONGEST = 1 << 62


class EpochPermutation:
    """A permutation of 0..length-1. Equal arguments give equal orders, everywhere."""

    def __init__(self, length: int, seed: int, epoch: int) -> None:
        if not 0 <= length <= LONGEST:
            raise ValueError(f"length is {length}, expected 0 to 2^62")
        self._length = length
        bits_of_largest = max(length - 1, 0).bit_length()
        self._half_bits = max(_LEAST_HALF_BITS, (bits_of_largest + 1) // 2)
        start = _mix(_mix(seed & _MASK) + (epoch & _MASK) & _MASK)
        self._keys = tuple(_mix(start + (i + 1) * _GOLDEN & _MASK) for i in range(_ROUNDS))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, position: int) -> int:
        """The sample at a position of the epoch."""
        if not 0 <= position < self._length:
            raise IndexError(f"position {position} of {self._length}")
        value = self._once(position)
        while value >= self._length:
            value = self._once(value)
        return value

    def _once(self, value: int) -> int:
        bits = self._half_bits
        down = 64 - bits
        left, right = value >> bits, value & ((1 << bits) - 1)
        for key in self._keys:
            hashed = (right ^ key) * _MIX_A & _MASK
            hashed = (hashed ^ hashed >> 32) * _MIX_B & _MASK
            left, right = right, left ^ hashed >> down
        return left << bits | right


def _mix(value: int) -> int:
    """The finishing step of splitmix64: every bit of the input reaches every bit of the output."""
    value = (value ^ value >> 30) * _MIX_A & _MASK
    value = (value ^ value >> 27) * _MIX_B & _MASK
    return value ^ value >> 31
