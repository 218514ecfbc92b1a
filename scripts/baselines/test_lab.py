"""Tests that need no GPU and no library: `python3 -m unittest baselines.test_lab`."""

import unittest
from itertools import cycle, repeat

from baselines import lab


class Tests(unittest.TestCase):
    def test_sampling_stops_where_it_says(self) -> None:
        def sampled(sampling: lab.Sampling, values) -> int:
            return len(sampling.run(lambda: next(values)))

        wild = cycle([1.0, 2.0])
        self.assertEqual(sampled(lab.FULL, repeat(1.0)), lab.FULL.least)
        self.assertEqual(sampled(lab.FULL, wild), lab.FULL.most)
        broke = lab.Sampling(least=20, fewest=20, most=100, half_width=0.005, budget=0.0)
        self.assertEqual(sampled(broke, wild), 20)
        late = lab.Sampling(least=6, fewest=3, most=10, half_width=0.05, budget=0.0)
        self.assertEqual(sampled(late, wild), 3)

    def test_ranks_match_the_binomial_table(self) -> None:
        for count, rank in [(1, 0), (5, 0), (6, 0), (9, 1), (10, 1), (100, 39)]:
            self.assertEqual(lab.median_rank(count), rank, count)

    def test_the_folder_of_the_records_is_not_recorded(self) -> None:
        for given, recorded in [
            ("cupy --quick", "python3 -m baselines cupy --quick"),
            (
                "cupy --results /somewhere --samples 3",
                "python3 -m baselines cupy --samples 3",
            ),
            ("cupy --results=/somewhere", "python3 -m baselines cupy"),
        ]:
            self.assertEqual(lab.command(given.split()), recorded)
