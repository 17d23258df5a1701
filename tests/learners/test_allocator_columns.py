"""Columns of RateAllocator by material: labelled Series, and groups of any kind."""

import numpy as np
import pytest

from knapsolve import RateAllocator
from tests.learners.cases import poll_log


def test_labelled_series_go_by_identifier_and_plain_ones_by_position():
    pd = pytest.importorskip("pandas")
    X, y = poll_log(200, 4)
    names = np.array([[f"m{int(k)}", gap] for k, gap in X], dtype=object)
    groups, caps, weights = {"m3": "a", "m2": "a", "m0": "b", "m1": None}, {"b": 0.3, "a": 0.25}, {"m3": 5.0, "m1": 2.0}
    by_name = RateAllocator(groups=groups, group_caps=caps, weights=weights).fit(names, y)
    labelled = {"groups": pd.Series(groups), "group_caps": pd.Series(caps), "weights": pd.Series(weights)}
    expected = by_name.amounts_
    np.testing.assert_array_equal(RateAllocator(**labelled).fit(names, y).amounts_, expected)
    order = by_name.materials_.tolist()
    plain = pd.Series([groups[m] for m in order])
    ours = RateAllocator(groups=plain, group_caps=caps, weights=weights).fit(names, y)
    np.testing.assert_array_equal(ours.amounts_, expected)


def test_series_whose_labels_are_no_materials_are_refused_and_so_are_durations():
    pd = pytest.importorskip("pandas")
    X, y = poll_log(200, 4)
    allocator = RateAllocator().fit(X, y)
    assert set(allocator.materials_.tolist()) == {0, 1, 2, 3}
    for weights, message in (
        (pd.Series([1.0, 2.0, 3.0, 4.0], index=[14, 17, 19, 20]), "weights must go by the materials, or by position"),
        (pd.Series([1.0, 2.0], index=[3, 3]), "weights must have each label of its index once"),
        (pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="h")), "weights"),
        (pd.Series(pd.to_timedelta([1, 2, 3, 4], unit="h"), index=[3, 2, 1, 0]), "weights"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            allocator.set_params(weights=weights).allocate()


def test_a_group_without_a_cap_is_said_to_have_none():
    X, y = poll_log(200, 4)
    allocator = RateAllocator(groups=["a", "a", "B", np.nan], group_caps={"a": 0.25, "b": 0.1}).fit(X, y)
    with pytest.warns(UserWarning, match="groups names 'B', for which group_caps has no cap"):
        assert allocator.amounts_[:2].sum() <= 0.25 * (1 + 1e-12)
    with pytest.warns(UserWarning, match="groups names 'B' and 1 others") as caught:
        allocator.set_params(groups=["a", "B", "B", "c"]).allocate()
    assert caught[0].filename == __file__


def test_a_material_that_a_mapping_of_groups_leaves_out_is_said_to_have_none():
    pd = pytest.importorskip("pandas")
    X, y = poll_log(200, 4)
    groups, caps = {0: "a", 1: "a", 2: None}, {"a": 0.25}
    for given in (groups, pd.Series(groups)[[1, 0, 2]]):
        allocator = RateAllocator(groups=given, group_caps=caps).fit(X, y)
        with pytest.warns(UserWarning, match="groups does not name 3.0: taken as no group"):
            allocator.allocate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.ma.masked_array(["a", "b", "b", "a"], [1, 0, 0, 0])}, "groups must not be masked"),
        ({"groups": [["a"], ["b"], ["b", "c"], ["a"]]}, r"groups must be one name or number of each.*\['a'\]"),
        ({"groups": {0: ["a"], 1: "a", 2: "b", 3: "b"}}, r"groups must be one name or number of each.*\['a'\]"),
        ({"group_caps": {"a": "0.25", "b": 1.0}}, "group_caps must be real numbers, got '0.25' at position 0"),
        ({"upper": "9"}, "upper must be real numbers, got '9'"),
        ({"lower": [0.1, "0.1", 0.1, 0.1]}, "lower must be real numbers, got '0.1' at position 1"),
        ({"upper": [[1.0], [1.0, 2.0], 1.0, 1.0]}, "upper must be"),
        ({"upper": np.full(4, 5, "m8[h]")}, r"upper must be real numbers.* / interval"),
    ],
)
def test_columns_that_are_none_are_refused_by_name(options, message):
    X, y = poll_log(200, 4)
    allocator = RateAllocator(**{"groups": ["a", "a", "b", "b"], "group_caps": {"a": 0.25, "b": 1.0}} | options)
    with pytest.raises((TypeError, ValueError), match=message):
        allocator.fit(X, y)


def test_groups_of_any_kind_are_numbered_alike():
    pd = pytest.importorskip("pandas")
    X, y = np.column_stack([np.arange(6), np.ones(6)]), np.arange(6) % 2
    names = np.array(["b", "a", "b", None, "a", "c"], dtype=object)
    caps = {"a": 0.2, "b": 0.1, "c": 0.15}
    expected = RateAllocator(groups=names, group_caps=caps).fit(X, y).allocate()
    series = pd.Series(names)
    shuffled = series.sample(frac=1.0, random_state=1)
    unlabelled = [names.tolist(), series, series.astype("category"), dict(enumerate(names)), shuffled]
    for groups in (*unlabelled, shuffled.drop(3)):
        allocator = RateAllocator(groups=groups, group_caps=pd.Series(caps)).fit(X, y)
        np.testing.assert_array_equal(allocator.allocate(), expected)
    far = np.array([10**15, 3, 10**15, -1, 3, 77])
    one = RateAllocator(groups=far, group_caps=0.2).fit(X, y).allocate()
    np.testing.assert_array_equal(one, RateAllocator(groups=names, group_caps=0.2).fit(X, y).allocate())
    by_far = RateAllocator(groups=far, group_caps={3: 0.2, 10**15: 0.1, 77: 0.15}).fit(X, y)
    np.testing.assert_array_equal(by_far.allocate(), expected)
    with pytest.raises(ValueError, match="groups must have each label of its index once"):
        RateAllocator(groups=pd.Series(names, index=list("aabcde")), group_caps=caps).fit(X, y)
    with pytest.raises(ValueError, match=r"groups must go by the materials.*'u'"):
        RateAllocator(groups=pd.Series(names, index=list("uvwxyz")), group_caps=caps).fit(X, y)


def test_one_cap_is_every_groups_by_number_or_by_name():
    X, y = poll_log(200, 4)
    allocator = RateAllocator(groups=["x", "y", "x", None], group_caps=0.2).fit(X, y)
    expected = allocator.allocate()
    numbers = np.array([0, 1, 0, -1], np.int8)
    unsigned = RateAllocator(groups=np.array([0, 1, 0, 1], np.uint8), group_caps=[0.2, 5.0]).fit(X, y)
    expected_of_two = unsigned.allocate()
    for groups in (np.array([0, 1, 0, 1], np.uint64), [0, 1, 0, 1]):
        np.testing.assert_array_equal(unsigned.set_params(groups=groups).allocate(), expected_of_two)
    for groups, caps in ((numbers.tolist(), 0.2), (numbers, [0.2, 0.2]), ([1, 0, 1, -1], [0.2, 0.2])):
        amounts = allocator.set_params(groups=groups, group_caps=caps).allocate()
        np.testing.assert_allclose(amounts, expected, rtol=1e-12)
    assert expected[[0, 2]].sum() <= 0.2 * (1 + 1e-12)
    with pytest.raises(ValueError, match=r"groups must be below the number of group_caps, 2, .*names ask"):
        allocator.set_params(groups=["x", "y", "x", None]).allocate()


@pytest.mark.filterwarnings("error")
def test_caps_by_name_are_not_taken_for_caps_by_material():
    log, changed = [[k % 6, 1.0] for k in range(60)], [k % 2 for k in range(60)]

    def amounts(groups, caps):
        return RateAllocator(n_materials=6, groups=groups, group_caps=caps, capacity=3.0).fit(log, changed).amounts_

    caps = {"a": 2.0, "b": 2.0, "c": 2.0, "d": 3.0, "e": 3.0, "f": 3.0}
    expected = amounts(list("aaabbb"), {"a": 2.0, "b": 2.0})
    np.testing.assert_array_equal(amounts(list("aaabbb"), caps), expected)
    with pytest.warns(UserWarning, match="each of the 6 items") as said:
        np.testing.assert_array_equal(amounts([0, 0, 0, 1, 1, 1], list(caps.values())), expected)
    assert said[0].filename == __file__
