# SPDX-License-Identifier: Apache-2.0
"""What runs beside a training script under weir. Outside weir the same script runs alone."""

from weir_worker.atomic_file import save_atomically
from weir_worker.batch_plan import BatchPlan, batch_plan
from weir_worker.checkpoints import Checkpoint, Checkpoints, Loaded
from weir_worker.elastic_sampler import ElasticSampler, GlobalBatch
from weir_worker.environment import rank, world_size
from weir_worker.epoch_permutation import EpochPermutation
from weir_worker.progress_report import ProgressReporter, report
from weir_worker.stop_request import (
    STOPPED_TO_BE_RESUMED,
    StopRequest,
    leave,
    should_checkpoint,
    should_leave,
    start,
)

__all__ = [
    "BatchPlan",
    "Checkpoint",
    "Checkpoints",
    "ElasticSampler",
    "EpochPermutation",
    "GlobalBatch",
    "Loaded",
    "ProgressReporter",
    "STOPPED_TO_BE_RESUMED",
    "StopRequest",
    "batch_plan",
    "leave",
    "rank",
    "report",
    "save_atomically",
    "should_checkpoint",
    "should_leave",
    "start",
    "world_size",
]
