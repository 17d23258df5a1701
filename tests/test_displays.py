"""What the displays draw is what the result says."""

from itertools import pairwise

import numpy as np
import pytest

from knapsolve.displays import ReplayDisplay
from knapsolve.replay import replay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
ENDS = (("low", -1), ("high", 1))  # of an interval


@pytest.fixture(scope="module")
def result():
    generator = np.random.default_rng(0)
    items = np.concatenate([np.arange(30), generator.choice(30, 300, p=np.arange(1, 31) / 465)])
    return replay(
        (items, np.arange(items.size) / 10), 5, ["uniform", "lakg", "optimal"], start=0, random_state=0
    )


def test_points_and_intervals_are_those_of_the_table(result):
    display = result.plot()
    assert isinstance(display, ReplayDisplay) and len(display.axes_) == 3
    for row in result.table():
        for metric in ("detected_share", "freshness"):
            line, _, bars = display.intervals_[metric, row["policy"]]
            assert line.get_xdata()[0] == row[metric]
            (low, _), (high, _) = bars[0].get_segments()[0]
            assert (low, high) == pytest.approx((row[f"{metric}_low"], row[f"{metric}_high"]))
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == list(result.runs)


def test_no_line_crosses_the_label_of_a_value(result):
    figure = result.plot().figure_
    canvas = figure.canvas
    canvas.draw()
    lined = np.asarray(canvas.buffer_rgba()).copy()
    for ax in figure.axes[:2]:
        ax.grid(False)
        (dotted,) = (line for line in ax.lines if line.get_linestyle() == ":")
        dotted.set_visible(False)
    canvas.draw()
    plain = np.asarray(canvas.buffer_rgba())
    assert not np.array_equal(plain, lined)
    labels = [label.get_window_extent() for ax in figure.axes[:2] for label in ax.texts]
    assert len(labels) == 6
    for box in labels:
        rows = slice(plain.shape[0] - int(box.y1), plain.shape[0] - int(box.y0))
        columns = slice(int(box.x0) + 1, int(box.x1))
        assert np.array_equal(plain[rows, columns], lined[rows, columns])


def test_mean_polls_of_the_groups_add_up_to_all_polls(result):
    display = result.plot()
    from knapsolve.displays import _groups

    groups = _groups(result.n_changes)
    sizes = np.array([group.size for group in groups])
    assert sorted(np.concatenate(groups).tolist()) == list(range(30))
    for name, line in display.lines_.items():
        assert line.get_ydata() @ sizes == pytest.approx(result.runs[name].item_polls.sum())
        assert line.get_xdata() @ sizes == pytest.approx(result.n_changes.sum())


@pytest.mark.parametrize(("least", "most"), [(1, 1), (3, 9), (30, 90), (250, 2600), (2, 5000), (0, 0), (0, 300)])
def test_polls_of_items_can_be_read_off_their_axis(result, least, most):
    polls = {"uniform": np.linspace(least, most, result.n_changes.size)}
    display = ReplayDisplay(result.table()[:1], polls, np.arange(result.n_changes.size) ** 2).plot()
    display.figure_.canvas.draw()
    low, high = display.axes_[2].get_ylim()
    ticks = [tick for tick in display.axes_[2].get_yticks() if low <= tick <= high]
    assert len(ticks) >= 2 and len(ticks) <= 12, ticks


def test_axes_given_are_drawn_on(result):
    figure, axes = matplotlib.pyplot.subplots(1, 3)
    display = ReplayDisplay.from_result(result, ax=axes)
    assert display.figure_ is figure and display.axes_ == list(axes)
    with pytest.raises(ValueError, match="ax must be three axes"):
        ReplayDisplay.from_result(result, ax=axes[:2])


@pytest.mark.parametrize("most", [0, 1, 5, 1000, 10**9])
def test_items_are_grouped_whatever_their_numbers_of_changes(most):
    from knapsolve.displays import MOST_GROUPS, _groups

    n_changes = np.unique(np.geomspace(1, most + 1, 50).astype(int) - 1)
    groups = _groups(n_changes)
    assert 1 <= len(groups) <= MOST_GROUPS
    assert sorted(np.concatenate(groups).tolist()) == list(range(n_changes.size))


def test_the_picture_can_be_drawn_again_and_saved(result, tmp_path):
    display = result.plot()
    display.plot().figure_.savefig(tmp_path / "again.png")
    assert (tmp_path / "again.png").stat().st_size > 10_000


def style(line):
    return matplotlib.colors.to_hex(line.get_color()), line.get_marker()


@pytest.mark.slow
def test_a_policy_looks_alike_whichever_others_are_drawn(result):
    from knapsolve.displays import OTHER_COLOURS, OTHER_MARKERS, STYLES
    from knapsolve.replay import POLICIES

    assert set(POLICIES) == set(STYLES)
    for looks in ([*(colour for colour, _ in STYLES.values()), *OTHER_COLOURS],
                  [*(marker for _, marker in STYLES.values()), *OTHER_MARKERS]):  # fmt: skip
        assert len(set(looks)) == len(looks)
    others = [f"mine {k}" for k in range(30)]
    for names in (["mine 0", *reversed(STYLES), *others[1:]], ["optimal", "mine 0", "nutch", "mine 1"]):
        polls = dict.fromkeys(names, result.runs["lakg"].item_polls)
        table = [dict(result.table()[0], policy=name) for name in names]
        display = ReplayDisplay(table, polls, result.n_changes).plot()
        drawn = {name: style(line) for name, line in display.lines_.items()}
        assert len(set(drawn.values())) == len(names)
        for name in names:
            assert style(display.intervals_["freshness", name][0]) == drawn[name]
            if name in STYLES:
                assert drawn[name] == STYLES[name]
            else:
                k = int(name.split()[1])
                assert drawn[name] == (OTHER_COLOURS[k % 6], OTHER_MARKERS[k % 5])


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize("spread", [3e-5, 6e-5, 1.1e-4, 2.5e-4, 7e-4, 3e-3])
def test_labels_of_ticks_do_not_overlap_where_shares_are_near_each_other(spread):
    names = ["uniform", "renewal"]
    shares = [{"detected_share": 0.9938 + spread * k, "freshness": 0.9949 + 1.4 * spread * k} for k in range(2)]
    table = [{"policy": name, **row} for name, row in zip(names, shares)]
    for row in table:
        for metric in shares[0]:
            row.update({f"{metric}_{end}": row[metric] + sign * spread / 5 for end, sign in ENDS})
    polls = {name: np.array([3.0, 4.0]) for name in names}
    display = ReplayDisplay(table, polls, np.array([1, 5])).plot()
    display.figure_.canvas.draw()
    for ax in display.axes_[:2]:
        low, high = ax.bbox.x0, ax.bbox.x1
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        shown = [box for box in boxes if low <= (box.x0 + box.x1) / 2 <= high]
        assert len(shown) > 1
        assert all(left.x1 < right.x0 for left, right in pairwise(shown))
