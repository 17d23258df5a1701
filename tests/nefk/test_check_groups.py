"""Groups and their caps as a user gives them: by number, one for all, or by mistake by item."""

import warnings

import numpy as np
import pytest

from knapsolve import solve_nefk
from knapsolve.criteria import Freshness

F = Freshness([1.0, 2.0, 3.0])


def test_one_cap_is_every_groups():
    groups = [0, 2, 0, -1, 2]
    rates = np.arange(1.0, 6.0)
    one, each = (solve_nefk(Freshness(rates), 2.0, groups=groups, group_caps=cap) for cap in (0.6, [0.6, 0.6, 0.6]))
    np.testing.assert_array_equal(one.amounts, each.amounts)
    np.testing.assert_array_equal(one.group_prices, each.group_prices)
    assert solve_nefk(Freshness(rates), 2.0, groups=[-1] * 5, group_caps=0.6).group_prices.size == 0


def test_a_series_of_caps_goes_by_group_numbers_or_is_refused():
    pd = pytest.importorskip("pandas")
    caps, groups = pd.Series([0.3, 0.6]), [0, 1, 0]
    plain = solve_nefk(F, 0.8, groups=groups, group_caps=caps.to_numpy()).amounts
    np.testing.assert_array_equal(solve_nefk(F, 0.8, groups=groups, group_caps=caps).amounts, plain)
    for labels in (["a", "b"], [1, 0]):
        with pytest.raises(
            ValueError, match=f"group_caps must be in order .* got a Series of labels like '?{labels[0]}"
        ):
            solve_nefk(F, 0.8, groups=groups, group_caps=caps.set_axis(labels))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
@pytest.mark.parametrize("n", [7, 150_000])
def test_caps_by_item_in_place_of_by_group_are_warned_of(n, dtype):
    groups = np.arange(n) // max(n // 100, 3)
    groups[-1] = -1 if dtype != np.uint64 else 0
    caps = (0.1 + 0.01 * np.arange(groups.max() + 1.0))[groups]
    given = {"groups": groups.astype(dtype), "equality": False}
    with pytest.warns(UserWarning, match=f"each of the {n} items.*each of the {groups.max() + 1} groups") as said:
        solve_nefk(Freshness(np.ones(n)), 1.0, group_caps=caps, **given)
    assert said[0].filename == __file__
    groups[-1] = 0
    for odd in (1, n - 1):  # one item that is not like others of its group
        other = caps.copy()
        other[[n - 1, odd]] = caps[0], 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solve_nefk(Freshness(np.ones(n)), 1.0, group_caps=other, **given | {"groups": groups})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("groups", "caps"),
    [
        ([0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0]),  # groups without items
        ([0, 1, -1, -1], [1.0, 2.0, 3.0, 4.0]),  # one item each
        ([0, 0, 1, -1], [1.0, 1.0, 2.0, 3.0]),  # one group of several
        ([0, 0, 1, 1], [2.0, 2.0, 2.0, 2.0]),  # the same either way
        ([0, 0, 3, 3], [1.0, 1.0, 2.0, 2.0]),  # as many groups as caps
        ([-1, -1, -1, -1], [1.0, 2.0, 3.0, 4.0]),
        ([0, 0, 1, 1], [1.0, 1.0]),
    ],
)
def test_caps_by_group_are_not_warned_of(groups, caps):
    solve_nefk(Freshness(np.ones(4)), 1.0, groups=groups, group_caps=caps, equality=False)


def test_what_is_wrong_with_groups_is_said_as_users_would():
    ones, unsigned = Freshness(np.ones(3)), np.array([-1, 0, 1]).astype(np.uint64)
    with pytest.raises(ValueError, match=r"^groups must be -1 for no group, .* got \d+ at position 0$"):
        solve_nefk(ones, 1.0, groups=unsigned, group_caps=1.0)
    with pytest.raises(ValueError, match=r"^group_caps must .* 3 or more, got 2, and group 2 at position 1$"):
        solve_nefk(ones, 1.0, groups=[0, 2, 1], group_caps=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"^groups must have 3 entries like rate, got 0$"):
        solve_nefk(ones, 1.0, groups=[], group_caps=1.0)
    with pytest.raises(TypeError, match=r"got bool, of which groups.astype\(int\) makes integers$"):
        solve_nefk(ones, 1.0, groups=np.array([True, False, True]), group_caps=[1.0, 2.0])
