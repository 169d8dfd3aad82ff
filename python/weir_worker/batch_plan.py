# SPDX-License-Identifier: Apache-2.0
"""The same global batch on any number of GPUs.

The samples of a global batch are dealt to the ranks as evenly as they can be (they differ by one at most), one stretch of
the batch to each, in the order of the ranks. What a rank cannot hold at once it takes in several micro-batches and adds the gradients up.

A mean loss over a micro-batch of m samples counts m / global_batch; these weights add up to 1 over all ranks, also where the division
is uneven. DDP divides the sum of the ranks by their number, so multiply by `world_size` there.
"""

from dataclasses import dataclass
from typing import Optional, Tuple

from weir_worker.environment import checked_place
from weir_worker.progress_report import reporter


@dataclass(frozen=True)
class BatchPlan:
    """One rank's part of a global batch. most_local: the samples a GPU can hold at once; None when all fit."""

    global_batch: int
    world_size: int
    rank: int
    most_local: Optional[int] = None

    @property
    def first(self) -> int:
        """Where this rank's samples begin within the global batch."""
        each, more = divmod(self.global_batch, self.world_size)
        return self.rank * each + min(self.rank, more)

    @property
    def samples(self) -> int:
        """How many samples of each global batch this rank takes. 0 when there are more ranks than samples."""
        each, more = divmod(self.global_batch, self.world_size)
        return each + (1 if self.rank < more else 0)

    @property
    def most_samples(self) -> int:
        """How many the busiest rank takes."""
        return -(-self.global_batch // self.world_size)

    @property
    def micro_batches(self) -> Tuple[int, ...]:
        """The sizes of this rank's micro-batches, none of them empty. Synchronise in the last one.

        A rank with fewer samples than passes skips a pass. One without samples has none, and takes part in the reduction with zeros.
        """
        passes = min(self._passes(), self.samples)
        if passes == 0:
            return ()
        each, more = divmod(self.samples, passes)
        return (each + 1,) * more + (each,) * (passes - more)

    @property
    def accumulation_steps(self) -> int:
        """How many micro-batches this rank adds up for a step."""
        return len(self.micro_batches)

    @property
    def local_batch(self) -> int:
        """The largest of this rank's micro-batches."""
        return max(self.micro_batches, default=0)

    @property
    def weights(self) -> Tuple[float, ...]:
        """What the mean loss of each micro-batch counts in the mean of the global batch."""
        return tuple(size / self.global_batch for size in self.micro_batches)

    @property
    def weight(self) -> float:
        """What this rank counts."""
        return self.samples / self.global_batch

    @property
    def imbalance(self) -> float:
        """How much longer the busiest rank takes than it would if the batch could be divided evenly: 0.1 is 10 %."""
        return self.most_samples * self.world_size / self.global_batch - 1.0

    def of(self, global_batch: int) -> "BatchPlan":
        """The same for another batch: the last one of an epoch is smaller."""
        return _checked(global_batch, self.world_size, self.rank, self.most_local)

    def _passes(self) -> int:
        """The same on all ranks, so that they reach the reduction together."""
        return 1 if self.most_local is None else -(-self.most_samples // self.most_local)


def batch_plan(
    global_batch: int,
    world_size: Optional[int] = None,
    rank: Optional[int] = None,
    most_local: Optional[int] = None,
) -> BatchPlan:
    """This rank's part of a global batch. World size and rank come from the environment unless given."""
    plan = _checked(global_batch, world_size, rank, most_local)
    reporter().note_batch([plan.global_batch, plan.local_batch, plan.accumulation_steps])
    return plan


def _checked(global_batch: int, world_size: Optional[int], rank: Optional[int], most_local: Optional[int]) -> BatchPlan:
    if global_batch < 1:
        raise ValueError(f"global_batch is {global_batch}, expected 1 or more")
    if most_local is not None and most_local < 1:
        raise ValueError(f"most_local is {most_local}, expected 1 or more")
    size, number = checked_place(world_size, rank)
    return BatchPlan(global_batch, size, number, most_local)
