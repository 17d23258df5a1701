"""Seeded results are those of record; `python -m tests.regenerate_golden` changes the record."""

import json

import pytest

from tests.regenerate_golden import GOLDEN, compute

RECORD = json.loads(GOLDEN.read_text())


@pytest.fixture(scope="module")
def results():
    return compute()


def test_the_record_is_of_the_same_runs(results):
    assert sorted(results) == sorted(RECORD)


@pytest.mark.parametrize("name", sorted(RECORD))
def test_seeded_results_are_those_of_record(results, name):
    assert results[name] == RECORD[name]
