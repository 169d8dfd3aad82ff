# SPDX-License-Identifier: Apache-2.0
import os
import unittest
from unittest import mock

import weir_worker
from weir_worker.environment import checked_place


class Environment(unittest.TestCase):
    def test_is_rank_0_of_1_outside(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual((weir_worker.rank(), weir_worker.world_size()), (0, 1))

    def test_reads_what_weir_sets(self):
        with mock.patch.dict(os.environ, {"RANK": "3", "WORLD_SIZE": "4"}):
            self.assertEqual((weir_worker.rank(), weir_worker.world_size()), (3, 4))
            self.assertEqual(checked_place(None, None), (4, 3))

    def test_takes_what_is_given_before_what_is_set(self):
        with mock.patch.dict(os.environ, {"RANK": "3", "WORLD_SIZE": "4"}):
            self.assertEqual(checked_place(8, 7), (8, 7))

    def test_says_what_is_wrong_with_a_variable(self):
        with mock.patch.dict(os.environ, {"RANK": "first"}):
            with self.assertRaisesRegex(ValueError, 'RANK is "first", expected a number'):
                weir_worker.rank()

    def test_refuses_a_place_that_does_not_exist(self):
        for size, number in [(0, 0), (2, 2), (2, -1)]:
            with self.assertRaises(ValueError):
                checked_place(size, number)
