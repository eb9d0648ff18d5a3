#!/usr/bin/env python3
"""Check which suites a change runs, over random histories of changes.

    plan_test.py
"""

import pathlib
import random
import unittest

import plan as planning
import suites as table

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = 33
ROTATION = [suite for suite in table.SUITES if suite.when in (table.ROTATION, table.SOURCES)]


def chosen(change, record=(), start=0, budget=BUDGET):
    choices = planning.plan(planning.Change(change), list(record), start, budget)
    return {choice.suite.name for choice in choices if choice.run}


def ran(names):
    return {"suites": {name: {"status": "passed", "seconds": 60} for name in names}}


class Plan(unittest.TestCase):
    def test_a_change_of_pages_builds_little(self):
        self.assertEqual(chosen({"docs/tour.md": 9, "python/README.md": 2, "CHANGELOG.md": 1}), {"pages"})

    def test_a_binding_runs_its_suite_and_the_pages(self):
        self.assertEqual(chosen({"java/src/Plan.java": 1000}), {"pages", "java"})

    def test_code_runs_the_release_build(self):
        for path in ("core/base/text.cpp", "tests/streams_test.cpp", "CMakeLists.txt", "scripts/fuzz.sh"):
            self.assertLessEqual({"pages", "release"}, chosen({path: 1}), path)

    def test_kernels_run_the_tiers_of_other_processors(self):
        self.assertIn("neon", chosen({"kernels/pool/neon.cpp": 1}))

    def test_a_change_in_depth_runs_the_suites_of_its_sources(self):
        self.assertNotIn("tsan", chosen({"core/run/session.cpp": 1}, budget=0))
        self.assertIn("tsan", chosen({"core/run/session.cpp": 500}, budget=0))

    def test_an_unknown_change_is_one_of_code(self):
        self.assertIn("release", chosen(None))

    def test_failed_suites_count_as_not_run(self):
        record = [{"suites": {"tsan": {"status": "out of time", "seconds": 60}}}] * 3
        self.assertIsNone(planning.runs_since(record, "tsan"))

    def test_every_suite_passes_in_one_of_three_runs(self):
        draw = random.Random(5)
        for _ in range(200):
            record = [ran([suite.name for suite in table.SUITES])]
            for start in range(12):
                lines = {draw.choice(table.ENGINE) + "a.cpp": draw.choice((1, 20, 2000))}
                record.append(ran(chosen(lines, record, start)))
            for first in range(1, len(record) - 2):
                seen = set().union(*(run["suites"] for run in record[first:first + 3]))
                self.assertEqual([suite.name for suite in ROTATION if suite.name not in seen], [])

    def test_without_a_record_three_starts_run_different_suites(self):
        runs = [chosen({"core/base/text.cpp": 1}, start=start) for start in range(3)]
        self.assertGreater(len(set().union(*runs)), max(len(names) for names in runs) + 3)

    def test_a_limit_does_not_always_end_the_same_suites(self):
        deep = {source: 1000 for suite in table.SUITES for source in suite.sources}
        done = set()
        for start in range(3):
            order = [choice for choice in planning.plan(planning.Change(deep), [], start, BUDGET) if choice.run]
            self.assertEqual([choice.suite.name for choice in order[:2]], ["pages", "release"])
            left = 75
            for choice in order:
                left -= choice.minutes
                done |= {choice.suite.name} if left >= 0 else set()
        self.assertEqual([suite.name for suite in table.SUITES if suite.name not in done], [])

    def test_a_small_change_stays_in_its_budget(self):
        choices = planning.plan(planning.Change({"core/base/text.cpp": 1}), [], 0, BUDGET)
        self.assertLessEqual(sum(choice.minutes for choice in choices if choice.run), BUDGET)

    def test_sources_exist(self):
        for suite in table.SUITES:
            for source in (*suite.sources, suite.command.split()[0]):
                if "/" in source:
                    self.assertTrue((ROOT / source).exists(), source)
        for path in (*table.BINDINGS, *table.DOCUMENTS):
            self.assertTrue(list(ROOT.glob(path.rstrip("/") + "*")), path)


if __name__ == "__main__":
    unittest.main()
