"""Columns of numbers have like digits."""

import pytest

from knapsolve.replay.digits import format_estimates, like_digits


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.6, 0.503], ["0.600", "0.503"]),
        ([12.3, 0.5, 0.0], ["12.30", "0.50", "0.00"]),
        ([5.4e6, 0.0], ["5,400,000", "0"]),
        ([5400.0, 0.0213], ["5,400", "0.0213"]),
        ([0.000312], ["0.000312"]),
        ([1e-9], ["1e-09"]),
        ([0.0], ["0"]),
        ([], []),
    ],
)
def test_a_column_has_three_or_four_digits_and_like_decimals_where_it_can(values, texts):
    text = like_digits(values)
    assert [text(value) for value in values] == texts


def test_differences_have_three_digits_at_the_most():
    column = format_estimates([(0.0268123, -0.0501, 0.109), (-0.3, -0.41234, -0.2)], "mean_age", signed=True)
    assert column == ["+0.027 [-0.050, +0.109]", "-0.300 [-0.412, -0.200]"]
    assert format_estimates([(-123.4567, -200.0, 3.0)], "harmonic_penalty", signed=True) == ["-123 [-200, +3]"]


def test_shares_and_counts_have_the_digits_of_their_kind():
    assert format_estimates([(1234.4, 1000.0, 2000.0)], "polls") == ["1,234 [1,000, 2,000]"]
    assert format_estimates([(0.5, 0.0, 1.0)], "freshness") == ["0.5000 [0.0000, 1.0000]"]
    assert format_estimates([(0.012, 0.01, 0.02)], "harmonic_penalty") == ["0.012 [0.010, 0.020]"]
