# SPDX-License-Identifier: Apache-2.0
import json
import random
import unittest

from weir_worker import ElasticSampler, EpochPermutation, batch_plan


def train(samplers, plans, steps):
    """The ranks in lockstep, for some steps: the samples of each global batch, in the order of the ranks."""
    seen = []
    loops = [sampler.batches(plan) for sampler, plan in zip(samplers, plans)]
    for _ in range(steps):
        parts = [next(loop, None) for loop in loops]
        if None in parts:
            break
        seen.append([index for part in parts for index in part.indices])
        for sampler, part in zip(samplers, parts):
            sampler.advance(part)
    return seen


def ranks(size, length, seed, global_batch, most_local=None, shuffle=True):
    samplers = [ElasticSampler(length, seed, size, rank, shuffle) for rank in range(size)]
    return samplers, [batch_plan(global_batch, size, rank, most_local) for rank in range(size)]


class Sampler(unittest.TestCase):
    def test_one_rank_sees_the_permutation(self):
        samplers, plans = ranks(1, 10, 3, 4)
        order = [EpochPermutation(10, 3, 0)[i] for i in range(10)]
        self.assertEqual(train(samplers, plans, 9), [order[:4], order[4:8], order[8:]])

    def test_without_shuffling_the_order_is_that_of_the_data(self):
        samplers, plans = ranks(3, 8, 3, 5, shuffle=False)
        self.assertEqual(train(samplers, plans, 9), [[0, 1, 2, 3, 4], [5, 6, 7]])

    def test_the_order_does_not_depend_on_the_number_of_ranks(self):
        for seed in range(100):
            rng = random.Random(seed)
            length, batch = rng.randint(1, 300), rng.randint(1, 60)
            alone = train(*ranks(1, length, seed, batch), 10**6)
            together = train(*ranks(rng.randint(2, 9), length, seed, batch, rng.choice([None, 1, 3])), 10**6)
            self.assertEqual(together, alone, seed)

    def test_any_sequence_of_resizes_sees_each_sample_once_in_the_same_order(self):
        for seed in range(100):
            rng = random.Random(seed)
            length, batch = rng.randint(1, 300), rng.randint(1, 40)
            state, seen = None, []
            while sum(len(part) for part in seen) < length:
                samplers, plans = ranks(rng.randint(1, 8), length, seed if state is None else 999, batch)
                for sampler in samplers:
                    if state is not None:
                        sampler.load_state_dict(json.loads(state))
                seen += train(samplers, plans, rng.randint(0, 4))
                states = {json.dumps(sampler.state_dict()) for sampler in samplers}
                self.assertEqual(len(states), 1)
                state = states.pop()
            self.assertEqual(seen, train(*ranks(1, length, seed, batch), 10**6), seed)
            self.assertEqual(sorted(index for part in seen for index in part), list(range(length)))

    def test_micro_batches_are_the_samples_of_the_rank(self):
        samplers, plans = ranks(2, 50, 1, 20, most_local=3)
        for sampler, plan in zip(samplers, plans):
            for batch in sampler.batches(plan):
                pieces = batch.micro_batches
                self.assertEqual([index for piece in pieces for index in piece], list(batch.indices))
                self.assertEqual(len(pieces), len(batch.weights))
                self.assertLessEqual(max(len(piece) for piece in pieces), 3)
            flat = [piece for batch in sampler.batches(plan) for piece in batch.micro_batches]
            self.assertEqual(list(sampler.micro_batches(plan)), flat)

    def test_the_last_batch_is_smaller_and_weighted_as_such(self):
        samplers, plans = ranks(2, 7, 1, 4)
        last = [list(sampler.batches(plan))[-1] for sampler, plan in zip(samplers, plans)]
        self.assertEqual([batch.plan.global_batch for batch in last], [3, 3])
        self.assertAlmostEqual(sum(weight for batch in last for weight in batch.weights), 1.0)

    def test_reading_ahead_consumes_nothing(self):
        (sampler,), (plan,) = ranks(1, 100, 1, 10)
        ahead = sampler.batches(plan)
        first = next(ahead)
        for _ in range(5):
            next(ahead)
        sampler.advance(first)
        self.assertEqual(sampler.consumed, 10)
        self.assertEqual(next(sampler.batches(plan)).first, 10)

    def test_refuses_a_batch_out_of_turn(self):
        (sampler,), (plan,) = ranks(1, 100, 1, 10)
        first, second = list(sampler.batches(plan))[:2]
        with self.assertRaises(ValueError):
            sampler.advance(second)
        sampler.advance(first)
        with self.assertRaises(ValueError):
            sampler.advance(first)

    def test_a_new_epoch_begins_anew_in_another_order(self):
        samplers, plans = ranks(1, 64, 1, 64)
        first = train(samplers, plans, 1)
        samplers[0].set_epoch(1)
        second = train(samplers, plans, 1)
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first[0]), sorted(second[0]))

    def test_the_epoch_under_way_goes_on(self):
        (sampler,), (plan,) = ranks(1, 100, 1, 10)
        sampler.advance(next(sampler.batches(plan)))
        sampler.set_epoch(0)
        self.assertEqual(sampler.consumed, 10)

    def test_says_so_when_nobody_advanced(self):
        (sampler,), (plan,) = ranks(1, 100, 1, 10)
        list(sampler.batches(plan))
        with self.assertRaisesRegex(RuntimeError, "advance"):
            sampler.set_epoch(1)

    def test_refuses_a_checkpoint_of_other_data(self):
        state = ElasticSampler(99, 1, 1, 0).state_dict()
        sampler = ElasticSampler(100, 1, 1, 0)
        with self.assertRaisesRegex(ValueError, "99 samples, the data set has 100"):
            sampler.load_state_dict(state)
        for wrong in ({"version": 2}, {"consumed": 101}, {"consumed": -1}, {"epoch": -1}):
            with self.assertRaises(ValueError):
                sampler.load_state_dict({**sampler.state_dict(), **wrong})

    def test_refuses_the_plan_of_another_rank(self):
        sampler = ElasticSampler(100, 1, 2, 0)
        with self.assertRaises(ValueError):
            sampler.batches(batch_plan(8, 2, 1))

    def test_nothing_is_an_epoch_too(self):
        samplers, plans = ranks(2, 0, 1, 4)
        self.assertEqual(train(samplers, plans, 5), [])
