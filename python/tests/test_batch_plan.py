# SPDX-License-Identifier: Apache-2.0
import math
import os
import random
import unittest
from fractions import Fraction
from unittest import mock

from weir_worker import batch_plan


def random_plans(seed):
    """The plans of all ranks for one random batch."""
    rng = random.Random(seed)
    size = rng.randint(1, 40)
    batch = rng.randint(1, rng.choice([5, 50, 5000]))
    most = rng.choice([None, 1, rng.randint(1, 64)])
    return batch, most, [batch_plan(batch, size, rank, most) for rank in range(size)]


class Plans(unittest.TestCase):
    def test_divides_evenly_where_it_can(self):
        plan = batch_plan(256, world_size=4, rank=2)
        self.assertEqual((plan.local_batch, plan.accumulation_steps, plan.imbalance), (64, 1, 0.0))
        self.assertEqual(plan.weights, (0.25,))

    def test_takes_several_passes_when_a_gpu_cannot_hold_its_part(self):
        plan = batch_plan(256, world_size=2, rank=0, most_local=48)
        self.assertEqual(plan.micro_batches, (43, 43, 42))
        self.assertEqual(plan.accumulation_steps, 3)

    def test_deals_the_rest_to_the_first_ranks(self):
        plans = [batch_plan(10, 3, rank, most_local=2) for rank in range(3)]
        self.assertEqual([plan.samples for plan in plans], [4, 3, 3])
        self.assertEqual([plan.first for plan in plans], [0, 4, 7])
        self.assertEqual([plan.micro_batches for plan in plans], [(2, 2), (2, 1), (2, 1)])
        self.assertEqual(plans[0].imbalance, 4 * 3 / 10 - 1)

    def test_a_rank_with_a_sample_less_than_passes_skips_one(self):
        plans = [batch_plan(3, 2, rank, most_local=1) for rank in range(2)]
        self.assertEqual([plan.micro_batches for plan in plans], [(1, 1), (1,)])

    def test_a_rank_may_have_nothing(self):
        plan = batch_plan(2, world_size=3, rank=2)
        self.assertEqual((plan.samples, plan.micro_batches, plan.weight, plan.local_batch), (0, (), 0.0, 0))

    def test_the_whole_batch_and_nothing_but_it(self):
        for seed in range(2000):
            batch, most, plans = random_plans(seed)
            with self.subTest(seed=seed):
                self.assertEqual(sum(sum(plan.micro_batches) for plan in plans), batch)
                for plan, after in zip(plans, plans[1:]):
                    self.assertEqual(plan.first + plan.samples, after.first)
                self.assertEqual(plans[0].first, 0)

    def test_weights_add_up_to_one(self):
        for seed in range(2000):
            batch, _, plans = random_plans(seed)
            with self.subTest(seed=seed):
                self.assertAlmostEqual(math.fsum(w for plan in plans for w in plan.weights), 1.0, places=12)
                self.assertEqual(sum(Fraction(plan.samples, batch) for plan in plans), 1)
                for plan in plans:
                    self.assertAlmostEqual(math.fsum(plan.weights), plan.weight, places=12)

    def test_no_micro_batch_is_empty_or_too_large(self):
        for seed in range(2000):
            _, most, plans = random_plans(seed)
            sizes = [size for plan in plans for size in plan.micro_batches]
            with self.subTest(seed=seed):
                self.assertGreaterEqual(min(sizes), 1)
                self.assertLessEqual(max(sizes), most or max(sizes))
                steps = [plan.accumulation_steps for plan in plans]
                self.assertLessEqual(max(steps) - min(steps), 1)

    def test_weighted_means_are_the_mean_of_the_batch(self):
        for seed in range(200):
            batch, _, plans = random_plans(seed)
            rng = random.Random(seed)
            losses = [rng.uniform(-1, 1) for _ in range(batch)]
            total = 0.0
            for plan in plans:
                start = plan.first
                for size, weight in zip(plan.micro_batches, plan.weights):
                    total += weight * math.fsum(losses[start : start + size]) / size
                    start += size
            self.assertAlmostEqual(total, math.fsum(losses) / batch, places=12)

    def test_comes_from_the_environment(self):
        with mock.patch.dict(os.environ, {"RANK": "1", "WORLD_SIZE": "2"}):
            self.assertEqual(batch_plan(7), batch_plan(7, 2, 1))

    def test_refuses_what_cannot_be(self):
        for arguments in [(0, 1, 0), (-1, 1, 0), (8, 0, 0), (8, 2, 2), (8, 2, -1), (8, 1, 0, 0)]:
            with self.assertRaises(ValueError):
                batch_plan(*arguments)
