"""Where most groups have no items, those that have some get new numbers: all else comes to the same."""

import numpy as np
import pytest
from tight_problems import assert_same
from tight_problems import hosts_by_rank as some_hosts

import knapsolve.nefk.kept_caps as kept_caps
import knapsolve.nefk.loose_caps as loose_caps
import knapsolve.nefk.reduced as reduced
import knapsolve.nefk.tight_caps as tight_caps
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.layouts import Tiled

N = 100_000
JOBS = (1, 3)


@pytest.fixture
def named(monkeypatch):
    """Of each layout in which all hosts that have items keep their caps: whether they are named."""
    seen, lay_out = [], reduced.lay_out

    def spy(problem, tables, *given):
        is_named, keeps_used = tables[0][0] is not None, given[-1]
        layout = lay_out(problem, tables, *given)
        if keeps_used:
            seen.append(is_named)
            assert isinstance(layout, Tiled)
        return layout

    monkeypatch.setattr(reduced, "lay_out", spy)
    return seen


@pytest.fixture
def idle(monkeypatch):
    """Items that start below a price are left out where caps are filled: those of groups that are not, every time."""
    seen, find = [], tight_caps._idle_items
    monkeypatch.setattr(loose_caps, "price_without_idle", lambda sample, above, *_: 1.1 * above)
    monkeypatch.setattr(tight_caps, "_idle_items", lambda *given: seen.append(find(*given)) or seen[-1])
    return seen


def hosts_by_rank(over, seed=0):
    """With room for what that takes."""
    criterion, given = some_hosts(N, N // 2, over, seed)
    return criterion, given | {"out": np.empty(N)}


def solved_with_all(criterion, given, monkeypatch):
    """Groups keep their numbers."""
    with monkeypatch.context() as patch:
        patch.setattr(kept_caps, "_are_worth_naming", lambda *_: False)
        return solve_nefk(criterion, **given | {"out": np.empty(N)})


def one_cap_for_all(given, over):
    """The same for each host that has items, together so many times the capacity."""
    used = given["group_caps"] > 0.0
    return given | {"group_caps": np.where(used, over * given["capacity"] / np.count_nonzero(used), 0.0)}


@pytest.mark.parametrize(("over", "are_alike"), [(0.8, False), (0.8, True), (1.02, False), (1.02, True), (1.1, True)])
def test_hosts_without_items_change_nothing(over, are_alike, named, monkeypatch):
    criterion, given = hosts_by_rank(over)
    given = one_cap_for_all(given, over) if are_alike else given
    assert np.mean(np.bincount(given["groups"], minlength=N // 2) > 0) < kept_caps.WORTH_NAMING
    results = [solve_nefk(criterion, **given | {"n_jobs": jobs, "out": np.empty(N)}) for jobs in JOBS]
    assert named == [True, True]
    np.testing.assert_array_equal(results[0].amounts, results[1].amounts)
    np.testing.assert_array_equal(results[0].group_prices, results[1].group_prices)
    assert_same(results[0], solved_with_all(criterion, given, monkeypatch), given["capacity"])
    assert named == [True, True, False]


def test_items_of_no_group_stay_so(named, monkeypatch):
    criterion, given = hosts_by_rank(0.9)
    given["groups"][::50] = -1
    assert_same(solve_nefk(criterion, **given), solved_with_all(criterion, given, monkeypatch), given["capacity"])
    assert named == [True, False]


@pytest.mark.parametrize("below", [0.99, 0.95])
@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
def test_named_groups_are_taken_back(below, dtype, taken_back, named, monkeypatch):
    """They were filled beside a price that is too low."""
    criterion, given = hosts_by_rank(1.02)
    given["groups"] = given["groups"].astype(dtype)
    expected = solved_with_all(criterion, given, monkeypatch)
    assert not taken_back
    monkeypatch.setattr(loose_caps, "find_price_above", lambda *_: (below * expected.price, 0.0))
    assert_same(solve_nefk(criterion, **given), expected, given["capacity"])
    assert len(taken_back) == 1 and named == [False, True]


def test_idle_items_are_found_by_the_names_of_their_groups(idle, named, monkeypatch):
    """They are left out, and come to what is left."""
    criterion, given = hosts_by_rank(1.02)
    result = solve_nefk(criterion, **given)
    assert named == [True] and idle[0].size
    assert_same(result, solved_with_all(criterion, given, monkeypatch), given["capacity"])


@pytest.mark.parametrize("are_sorted", [False, True])
def test_items_in_order_stay_where_they_are(are_sorted, named):
    criterion, given = hosts_by_rank(1.02)
    order = np.argsort(given["groups"], kind="stable") if are_sorted else np.arange(N)
    given |= {"groups": given["groups"][order]}
    assert solve_nefk(criterion, **given).residual <= 1e-12
    assert named == ([] if are_sorted else [True])


@pytest.mark.parametrize("upper", [None, 0.1])
def test_groups_none_of_which_has_items_are_no_groups(upper):
    """Also where capacity is left over, and all caps would be kept."""
    rates, out = np.exp(np.random.default_rng(0).standard_normal(N)), np.empty(N)
    given, groups = {"upper": upper, "equality": upper is None}, np.full(N, -1)
    result = solve_nefk(criteria.Freshness(rates), 0.3 * N, **given, groups=groups, group_caps=np.ones(9), out=out)
    alone = solve_nefk(criteria.Freshness(rates), 0.3 * N, **given)
    np.testing.assert_allclose(result.amounts, alone.amounts, rtol=1e-12)
    assert not result.group_prices.any()


def test_what_is_left_has_no_room_that_names_take(named, monkeypatch):
    """Marks and caps of named groups, and their numbers, which say where items go."""
    told, share = [], tight_caps.share_beside_filled
    monkeypatch.setattr(tight_caps, "share_beside_filled", lambda *x, **y: told.append(x) or share(*x, **y))
    criterion, given = hosts_by_rank(1.02)
    solve_nefk(criterion, **given)
    groups = N // 2
    assert named == [True] and len(told) >= 1
    for problem, _, others in told:
        assert len(problem.caps) < groups and others >= groups + 8 * len(problem.caps) + 4 * groups


def test_groups_are_named_only_where_copies_keep_their_room(named):
    """Names would take what is left of it, unless the caller gives room for the answer."""
    criterion, given = some_hosts(N, N // 2, 0.8)
    results = [solve_nefk(criterion, **given | {"out": out}) for out in (None, np.empty(N))]
    assert named == [False, True]
    assert_same(*results, given["capacity"])
