# SPDX-License-Identifier: Apache-2.0
"""The same samples in the same order on any number of GPUs.

The order of an epoch depends on the seed and the epoch alone. How far the epoch is, is one number: the samples that all ranks
together have consumed. It goes into the checkpoint, and whoever comes back, with more ranks or fewer, goes on from there: each
sample is seen once in an epoch, in the same global batches.

    plan = batch_plan(256)
    for batch in sampler.batches(plan):
        for indices, weight in zip(batch.micro_batches, batch.weights):
            ...                          # gradients of weight * mean loss
        optimizer.step()
        sampler.advance(batch)           # consumed, from now on

Looking at batches consumes nothing: a data loader may read ahead, and a checkpoint still says what was trained on.
"""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Tuple

from weir_worker.batch_plan import BatchPlan
from weir_worker.environment import checked_place
from weir_worker.epoch_permutation import LONGEST, EpochPermutation

_VERSION = 1


@dataclass(frozen=True)
class GlobalBatch:
    """One step's samples, as far as this rank is concerned."""

    first: int  # position in the epoch of the global batch's first sample
    plan: BatchPlan  # of this batch: the last one of an epoch may be smaller
    indices: Tuple[int, ...]  # this rank's samples, in order

    @property
    def micro_batches(self) -> List[List[int]]:
        """This rank's samples, in the pieces that fit its GPU."""
        pieces = []
        start = 0
        for size in self.plan.micro_batches:
            pieces.append(list(self.indices[start : start + size]))
            start += size
        return pieces

    @property
    def weights(self) -> Tuple[float, ...]:
        """What the mean loss of each micro-batch counts."""
        return self.plan.weights


class ElasticSampler:
    """Deals the samples of an epoch to the ranks, global batch by global batch."""

    def __init__(
        self,
        length: int,
        seed: int,
        world_size: Optional[int] = None,
        rank: Optional[int] = None,
        shuffle: bool = True,
    ) -> None:
        if not 0 <= length <= LONGEST:
            raise ValueError(f"length is {length}, expected 0 to 2^62")
        self._world_size, self._rank = checked_place(world_size, rank)
        self._length = length
        self._seed = seed
        self._shuffle = shuffle
        self._epoch = 0
        self._consumed = 0
        self._was_read_to_the_end = False

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def consumed(self) -> int:
        """Samples of this epoch that all ranks together have trained on."""
        return self._consumed

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch. The one that is under way goes on where it is."""
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}, expected 0 or more")
        if epoch == self._epoch:
            return
        if self._was_read_to_the_end and self._consumed == 0:
            raise RuntimeError("an epoch ended and nothing was consumed: call advance(batch) after each step")
        self._epoch = epoch
        self._consumed = 0
        self._was_read_to_the_end = False

    def batches(self, plan: BatchPlan) -> Iterator[GlobalBatch]:
        """The rest of the epoch, this rank's samples of each global batch."""
        if (plan.world_size, plan.rank) != (self._world_size, self._rank):
            raise ValueError(
                f"the plan is for rank {plan.rank} of {plan.world_size}, the sampler for {self._rank} of {self._world_size}"
            )
        return self._batches(plan)

    def micro_batches(self, plan: BatchPlan) -> Iterator[List[int]]:
        """The same, piece by piece: what a DataLoader takes as batch_sampler."""
        for batch in self.batches(plan):
            yield from batch.micro_batches

    def advance(self, batch: GlobalBatch) -> None:
        """Notes that all ranks have trained on the batch. The next one of the epoch comes next, and no other."""
        if batch.first != self._consumed:
            raise ValueError(f"the batch begins at {batch.first}, but {self._consumed} samples are consumed")
        self._consumed += batch.plan.global_batch

    def state_dict(self) -> Dict[str, Any]:
        """What a checkpoint keeps. The same on all ranks."""
        return {
            "version": _VERSION,
            "length": self._length,
            "seed": self._seed,
            "shuffle": self._shuffle,
            "epoch": self._epoch,
            "consumed": self._consumed,
        }

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on where the checkpoint was, in its order, whatever the number of ranks is now."""
        if state["version"] != _VERSION:
            raise ValueError(f"the sampler's state has version {state['version']}, expected {_VERSION}")
        if state["length"] != self._length:
            raise ValueError(f"the checkpoint is of {state['length']} samples, the data set has {self._length}")
        if not 0 <= state["consumed"] <= self._length or state["epoch"] < 0:
            raise ValueError(f"the checkpoint is at sample {state['consumed']} of epoch {state['epoch']}")
        self._seed = state["seed"]
        self._shuffle = state["shuffle"]
        self._epoch = state["epoch"]
        self._consumed = state["consumed"]
        self._was_read_to_the_end = False

    def _batches(self, plan: BatchPlan) -> Iterator[GlobalBatch]:
        epoch, first = self._epoch, self._consumed
        order = EpochPermutation(self._length, self._seed, epoch) if self._shuffle else range(self._length)
        while first < self._length:
            part = plan.of(min(plan.global_batch, self._length - first))
            start = first + part.first
            indices = tuple(order[position] for position in range(start, start + part.samples))
            yield GlobalBatch(first, part, indices)
            first += part.global_batch
        if self._epoch == epoch:
            self._was_read_to_the_end = True
