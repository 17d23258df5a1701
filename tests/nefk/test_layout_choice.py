"""Which layout a solve in groups takes: copies in tiles, or a list."""

import numpy as np
import pytest
from grouped_problems import N

import knapsolve.nefk.layouts as layouts_module
import knapsolve.nefk.reduced as reduced_module
from knapsolve import criteria, solve_nefk
from knapsolve.nefk.layouts import Tiled, lay_out
from knapsolve.nefk.problem import check_problem
from knapsolve.nefk.result import Place


def layout_of(groups, n_groups, place, names=None, upper=None):
    columns = np.exp(np.random.default_rng(4).standard_normal((2, N)))
    caps, starts = np.ones(n_groups), np.zeros(n_groups + 3, dtype=np.uint32)
    problem = check_problem(criteria.Freshness(columns[0]), 1.0, columns[1], 0.0, upper, groups, caps, True)
    starts[2:] = np.bincount(groups + 1, minlength=n_groups + 1).cumsum()
    return lay_out(problem, [(names, starts)], place)


def test_room_that_the_caller_gives_is_for_copies():
    n_groups = N * 5 // 8  # tables by group take what copies would
    groups = np.arange(N) % n_groups
    assert not isinstance(layout_of(groups, n_groups, Place(N, None)), Tiled)
    assert isinstance(layout_of(groups, n_groups, Place(N, np.empty(N), 8)), Tiled)


@pytest.mark.parametrize(("n_names", "tiled"), [(5000, True), (N // 2, False)])
def test_items_are_copied_only_where_many_have_caps_if_their_groups_names_leave_the_caches(n_names, tiled, monkeypatch):
    monkeypatch.setattr(layouts_module, "MOST_NAMES", 6000)
    monkeypatch.setattr(layouts_module, "FEW_LISTED", 0)
    groups = np.where(np.arange(N) < 0.4 * N, np.arange(N) % 5000, -1)
    names = np.append(np.arange(-1, 5000), np.full(n_names - 5000, -1)).astype(np.int32)  # the others are not kept
    assert isinstance(layout_of(groups, 5000, Place(N, np.empty(N), 8), names), Tiled) is tiled


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("most", [N, N - 1])
def test_few_items_of_two_columns_are_listed_where_some_groups_have_names(most, bounded, monkeypatch):
    monkeypatch.setattr(layouts_module, "FEW_LISTED", most)
    groups, names = np.arange(N) % 5000, np.arange(-1, 5000, dtype=np.int32)
    upper = np.linspace(1.0, 2.0, N) if bounded else None
    lays = [layout_of(groups, 5000, Place(N, np.empty(N), 8), given, upper) for given in (None, names)]
    assert [isinstance(layout, Tiled) for layout in lays] == [True, most < N or bounded]


@pytest.mark.parametrize("gives_out", [False, True])
def test_a_solve_that_names_groups_of_two_items_copies_them_where_it_is_given_room(gives_out, monkeypatch):
    monkeypatch.setattr(layouts_module, "FEW_LISTED", 0)
    layouts, generator = [], np.random.default_rng(8)
    monkeypatch.setattr(reduced_module, "lay_out", lambda *given: layouts.append(lay_out(*given)) or layouts[0])
    rates, groups = np.exp(generator.standard_normal(N)), generator.integers(0, N // 2, N)
    free = solve_nefk(criteria.Freshness(rates), 0.3 * N, weights=rates[::-1].copy()).amounts
    options = {"weights": rates[::-1].copy(), "groups": groups, "out": np.empty(N) if gives_out else None}
    caps = 0.5 * np.bincount(groups, free, N // 2) + 1e-9
    result = solve_nefk(criteria.Freshness(rates), 0.9 * caps.sum(), group_caps=caps, **options)
    assert result.residual <= 1e-12
    assert [isinstance(layout, Tiled) for layout in layouts] == [gives_out]


@pytest.mark.parametrize(
    ("size", "free", "is_tiled"), [(3, 0.0, True), (3, 0.07, True), (2, 0.0, True), (1.6, 0.0, False)]
)
@pytest.mark.parametrize("power", [1, 2])
def test_two_items_a_group_are_copied_and_less_are_listed(size, free, is_tiled, power):
    """What groups take in single precision, and runs that are divided or guessed, leave room for copies of two."""
    n, generator = 300_000, np.random.default_rng(1)
    rates, weights = np.exp(generator.standard_normal((2, n)))
    caps = np.ones(int(n / size))
    groups = (caps.size * generator.random(n) ** power).astype(np.intp)  # the first are larger, if power is 2
    groups[generator.random(n) < free] = -1
    problem = check_problem(criteria.Freshness(rates), 0.2 * n, weights, 0.0, None, groups, caps, True)
    starts = np.zeros(len(caps) + 3, dtype=np.uint32)
    starts[2:] = np.bincount(groups + 1, minlength=len(caps) + 1).cumsum()
    layout = lay_out(problem, [(None, starts)], Place(n, np.empty(n)))
    assert isinstance(layout, Tiled) == is_tiled
    assert (layout.runs.even is None) == (power == 2)
    if is_tiled:
        for run in layout.runs.every:
            here = np.sort(groups[(groups + 1 >= run.first) & (groups + 1 < run.last)] + 1 - run.first)
            np.testing.assert_array_equal(np.sort(layout.member[run.begin : run.end]), here)
