# SPDX-License-Identifier: Apache-2.0
import random
import unittest

from weir_worker import EpochPermutation


def order(length, seed, epoch):
    permutation = EpochPermutation(length, seed, epoch)
    return [permutation[i] for i in range(length)]


def correlation(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    product = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    return product / (sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)) ** 0.5


class Permutation(unittest.TestCase):
    def test_every_seed_and_epoch_gives_a_permutation(self):
        rng = random.Random(1)
        lengths = list(range(70)) + [255, 256, 257, 1023, 1024, 1025, 4096, 4097]
        for length in lengths + [rng.randint(1, 3000) for _ in range(60)]:
            seed, epoch = rng.getrandbits(64), rng.randint(0, 1000)
            self.assertEqual(sorted(order(length, seed, epoch)), list(range(length)), (length, seed, epoch))

    def test_other_seeds_and_epochs_give_other_orders(self):
        orders = {tuple(order(50, seed, epoch)) for seed in range(20) for epoch in range(20)}
        self.assertEqual(len(orders), 400)

    def test_long_data_sets_need_no_memory(self):
        permutation = EpochPermutation(10**15, 3, 4)
        seen = {permutation[i] for i in range(1000)}
        self.assertEqual(len(seen), 1000)
        self.assertTrue(all(0 <= value < 10**15 for value in seen))

    def test_has_no_visible_correlation(self):
        # With 5000 positions the correlation of two random orders is within 0.071 in all but one of a million.
        for seed in range(6):
            here = order(5000, seed, 0)
            self.assertLess(abs(correlation(here, list(range(5000)))), 0.071)
            self.assertLess(abs(correlation(here, order(5000, seed, 1))), 0.071)
            self.assertLess(abs(correlation(here, order(5000, seed + 1, 0))), 0.071)
            self.assertLess(abs(correlation(here[1:], here[:-1])), 0.071)

    def test_every_place_is_as_likely_as_any_other(self):
        # Where each of 10 samples falls, over 4000 epochs: chi squared with 81 degrees of freedom, 160 is beyond one in a million.
        counts = [[0] * 10 for _ in range(10)]
        for epoch in range(4000):
            for place, sample in enumerate(order(10, 7, epoch)):
                counts[sample][place] += 1
        chi_squared = sum((count - 400) ** 2 / 400 for row in counts for count in row)
        self.assertLess(chi_squared, 160)

    def test_all_orders_of_a_short_data_set_come(self):
        orders = [tuple(order(4, 11, epoch)) for epoch in range(2400)]
        counts = [orders.count(one) for one in set(orders)]
        self.assertEqual(len(counts), 24)
        # 23 degrees of freedom.
        self.assertLess(sum((count - 100) ** 2 / 100 for count in counts), 70)

    def test_odd_and_even_orders_come_alike(self):
        # A network on 16 positions gives even ones only.
        def is_odd(one):
            return sum(one[i] > one[k] for i in range(16) for k in range(i + 1, 16)) % 2 == 1

        odd = sum(is_odd(order(16, 3, epoch)) for epoch in range(400))
        self.assertTrue(150 < odd < 250, odd)  # five standard deviations

    def test_neighbours_are_torn_apart(self):
        here = order(10000, 5, 5)
        still_together = sum(1 for a, b in zip(here, here[1:]) if abs(a - b) == 1)
        self.assertLess(still_together, 15)  # 2 on average

    def test_knows_its_ends(self):
        permutation = EpochPermutation(5, 0, 0)
        self.assertEqual(len(permutation), 5)
        for position in (-1, 5):
            with self.assertRaises(IndexError):
                permutation[position]
        for length in (-1, 2**62 + 1):
            with self.assertRaises(ValueError):
                EpochPermutation(length, 0, 0)
