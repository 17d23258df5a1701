"""`knapsolve allocate`: its rates, intervals and notes are those of the library, within all bounds."""

import json

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.csv
import pytest

from knapsolve import ChangeRateEstimator, RateAllocator, criteria, solve_nefk
from knapsolve.cli.allocation import allocate
from knapsolve.cli.bounds import Limits
from knapsolve.cli.polls import PollLog
from knapsolve.cli.values import as_floats
from tests.cli.poll_logs import COMMAND, as_csv, derived, learnt, read


@pytest.mark.parametrize("balance", [0.8, 0.3])
def test_amounts_are_those_that_the_renewal_index_comes_to(succeed, folder, log, balance):
    succeed(*COMMAND, "-o", "out.csv", "--balance", balance, "--rates", "renewal")
    rows = read(folder / "out.csv")
    policy = learnt(log, balance)
    amounts = np.array([1 / float(row["interval"]) for row in rows])
    assert amounts.sum() == pytest.approx(30, rel=1e-12)
    np.testing.assert_allclose(amounts, policy.set_params(capacity=30.0).allocate(), rtol=1e-8)
    np.testing.assert_allclose([float(row["rate"]) for row in rows], policy.rates_, rtol=1e-12)
    assert [row["item"] for row in rows] == [f"https://h{k % 4}.org/{k}" for k in range(40)]


def test_rates_lie_in_their_intervals_which_hold_most_true_rates(succeed, folder, log):
    succeed(*COMMAND, "-o", "out.csv")
    low, rate, high = (np.array([float(row[name]) for row in read(folder / "out.csv")])
                       for name in ("rate_low", "rate", "rate_high"))  # fmt: skip
    assert ((low < rate) & (rate < high)).all()
    assert ((low < log[3]) & (log[3] < high)).mean() > 0.85


@pytest.mark.parametrize("criterion", ["detection", "freshness", "harmonic"])
def test_other_criteria_are_those_of_the_knapsack_with_weights_and_bounds(succeed, folder, criterion, log):
    items, times, changed, _ = log
    (folder / "polls.csv").write_text(as_csv(items, times, changed, weight=(items % 3 + 1).tolist()))
    options = ["--criterion", criterion, "--max-interval", "10days", "--min-interval", "2h"]
    succeed(*COMMAND, "-o", "out.csv", *options)
    estimated = ChangeRateEstimator().fit(derived(log)[:, :2], derived(log)[:, 2])
    rates = dict(zip(estimated.materials_.astype(int).tolist(), estimated.rates_))
    rates = np.array([rates[k] for k in range(40)])
    rows = read(folder / "out.csv")
    kind = {"detection": criteria.Detection, "freshness": criteria.Freshness, "harmonic": criteria.Harmonic}[criterion]
    expected = solve_nefk(kind(rates), 30.0, weights=np.arange(40) % 3 + 1.0, lower=0.1, upper=12.0)
    np.testing.assert_allclose([float(row["interval"]) for row in rows], 1 / expected.amounts, rtol=1e-8)
    for row in rows:
        u = float(row["rate"]) * float(row["interval"])
        assert float(row["freshness"]) == pytest.approx((1 - np.exp(-u)) / u, rel=1e-9)


@pytest.mark.parametrize("criterion", ["renewal", "detection", "freshness", "harmonic"])
@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive"])
def test_the_same_is_had_in_python_by_the_names_of_the_options(criterion, estimator, succeed, folder, log):
    succeed(*COMMAND, "-o", "out.csv", "--criterion", criterion, "--rates", estimator)
    rows = read(folder / "out.csv")
    allocator = RateAllocator(30.0, criterion=criterion, estimator=estimator)
    allocator.fit(derived(log)[:, :2], derived(log)[:, 2])
    amounts = allocator.allocate()[np.argsort(allocator.materials_)]
    intervals = [float(row["interval"] or "inf") for row in rows]
    np.testing.assert_allclose(1 / np.array(intervals), amounts, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive"])
def test_rates_are_those_of_the_estimator_which_uses_all_that_is_told(succeed, folder, log, estimator):
    items, times, changed, _ = log
    rows = derived(log)
    counts = np.where(changed == 1, 1 + np.arange(changed.size) % 3, 0)
    counts = [str(count) if k % 2 else "" for k, count in enumerate(counts)]
    (folder / "polls.csv").write_text(as_csv(items, times, changed, n_changes=counts))
    succeed(*COMMAND, "-o", "out.csv", "--rates", estimator)
    later = np.ones(items.size, dtype=bool)
    later[np.unique(items, return_index=True)[1]] = False
    told = np.array([float(count or "nan") for count in counts])[later]
    model = ChangeRateEstimator(estimator, n_changes=2).fit(np.column_stack([rows[:, :2], told]), rows[:, 2])
    order = np.argsort(model.materials_)
    out = read(folder / "out.csv")
    np.testing.assert_allclose([float(row["rate"]) for row in out], model.rates_[order], rtol=1e-12)
    ends = [[float(row["rate_low"]), float(row["rate_high"])] for row in out]
    np.testing.assert_allclose(ends, model.rate_interval()[order], rtol=1e-12)
    plain = ChangeRateEstimator(estimator).fit(rows[:, :2], rows[:, 2])
    assert not np.allclose(plain.rates_, model.rates_, rtol=1e-3)


def test_host_caps_bound_amounts_and_timetable(succeed, folder, log):
    caps = ["--host-cap", "6/day", "--host-cap", "h1.org=1/day"]
    text = succeed(*COMMAND, "-o", "out.csv", "--schedule", "next.csv", "--horizon", "20days", *caps)
    assert "Note: within --host-cap there is room for 19 polls a day only" in text
    totals = {}
    for row in read(folder / "out.csv"):
        totals[row["item"][:14]] = totals.get(row["item"][:14], 0) + 1 / float(row["interval"] or "inf")
    assert totals == pytest.approx({"https://h0.org": 6, "https://h1.org": 1, "https://h2.org": 6, "https://h3.org": 6})
    times = {}
    rows = read(folder / "next.csv")
    for row in rows:
        times.setdefault(row["host"], []).append(float(row["time"]))
    assert len(rows) > 0.95 * 20 * 19
    for host, when in times.items():
        assert np.diff(when).min() >= (1 if host == "h1.org" else 1 / 6) - 1e-9
        assert when[0] >= log[1].max() and when[-1] < log[1].max() + 20


@pytest.mark.parametrize(
    ("bounds", "note"),
    [
        (["--min-interval", "2days"], "--min-interval there is room for 20 polls"),
        (["--min-interval", "4days", "--host-cap", "4/day"], "--min-interval there is room for 10 polls"),
        (
            ["--min-interval", "2days", "--host-cap", "4/day", "--host-cap", "h1.org=90/day"],
            "--host-cap and --min-interval there is room for 17 polls",
        ),
    ],
)
def test_a_note_names_what_binds(bounds, note, succeed, log):
    assert f"Note: within {note}" in succeed(*COMMAND, *bounds)


def test_what_is_never_polled_is_said(succeed, folder):
    rows = [(t, item, int(item == "a" or t == 1)) for t in range(100) for item in "abc"]
    (folder / "polls.csv").write_text("time,item,changed\n" + "".join(f"{t},{i},{c}\n" for t, i, c in rows))
    arguments = ("allocate", "polls.csv", "--capacity", "0.01/s", "--criterion", "freshness")
    assert "Note: 1 item is never polled" in succeed(*arguments)
    assert "never polled" not in succeed(*arguments, "--max-interval", "1000s")


@pytest.mark.parametrize("rates", ["mle", "bayes", "recursive", "renewal"])
def test_where_polls_found_nothing_or_always_a_change_what_is_expected_is_called_a_guess(rates, succeed, folder):
    for changed, note in (
        ("000", "Note: no poll found a change, which does not tell how seldom there are changes: take this"),
        ("111", "Note: every poll found a change, which does not tell how often there are"),
        ("010", None),
    ):
        rows = [f"{'ab'[k % 2]},{k},{changed[k - 2] if k > 1 else 0}" for k in range(5)]
        (folder / "polls.csv").write_text("\n".join(["item,time,changed", *rows]))
        text = succeed("allocate", "polls.csv", "--capacity", "1/s", "--rates", rates)
        assert note in text if note else "guess" not in text


@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive", "renewal"])
def test_one_item_gets_all_within_its_bounds(estimator, succeed, folder):
    (folder / "polls.csv").write_text("item,time,changed\na,0,0\na,3,1\na,4,0\na,9,1\n")
    for bounds, interval in (((), 0.5), (("--min-interval", "20s"), 20), (("--max-interval", "1s"), 0.5)):
        options = ("--capacity", "2/s", "--rates", estimator, "-o", "out.csv", *bounds)
        succeed("allocate", "polls.csv", *options)
        assert [float(row["interval"]) for row in read(folder / "out.csv")] == pytest.approx([interval])


@pytest.mark.parametrize("estimator", ["mle", "bayes", "recursive"])
def test_items_polled_once_are_taken_for_others_like(succeed, folder, estimator):
    (folder / "polls.csv").write_text("item,time,changed\na,0,0\nb,0,0\nnew,1,0\na,2,1\nb,3,0\na,4,1\n")
    text = succeed("allocate", "polls.csv", "--capacity", "4/s", "-o", "out.csv", "--rates", estimator)
    assert "1 item was polled only once: it is taken" in text
    new = read(folder / "out.csv")[2]
    assert new["item"] == "new" and np.isfinite(float(new["interval"])) and new["polls"] == "1"
    pooled = ChangeRateEstimator().fit([["a", 2.0], ["b", 3.0], ["a", 2.0]], [1, 0, 1])
    assert float(new["rate"]) == pytest.approx(-np.log(pooled.predict_proba([["new", 1.0]])[0, 0]))


@pytest.mark.parametrize(
    "estimator", ["recursive", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mle", "bayes", "renewal"))]
)
def test_intervals_of_items_polled_once_hold_their_rates(succeed, folder, estimator):
    """Between quantiles of the others' estimates .71 of them did (of 95%): estimates lie nearer together than rates."""
    covered, others = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rates, rows = rng.gamma(0.7, 1 / 0.7, 90), []
        for item, rate in enumerate(rates):
            gaps = rng.exponential(1.0, 4 * (item % 2))
            times = np.append(0.0, np.cumsum(gaps))
            changed = np.append(0, rng.random(gaps.size) < -np.expm1(-rate * gaps)).astype(int)
            rows += [f"{item},{time},{hit}" for time, hit in zip(times, changed)]
        (folder / "polls.csv").write_text("item,time,changed\n" + "\n".join(rows) + "\n")
        succeed("allocate", "polls.csv", "--capacity", "9/s", "--rates", estimator, "-o", "out.csv")
        once = [row for row in read(folder / "out.csv") if row["polls"] == "1"]
        assert len(once) == 45
        for row in read(folder / "out.csv"):
            held = float(row["rate_low"]) <= rates[int(row["item"])] <= float(row["rate_high"])
            (covered if row["polls"] == "1" else others).append(held)
    assert 0.88 < np.mean(covered) < 0.99
    assert np.mean(others) > (0.75 if estimator == "recursive" else 0.88)  # which keeps no log


def test_an_item_never_polled_has_no_interval_in_tables_and_documents_alike(succeed, folder):
    rows = [(t, item, int(item == "a" or t == 1)) for t in range(100) for item in "abc"]
    (folder / "polls.csv").write_text("time,item,changed\n" + "".join(f"{t},{i},{c}\n" for t, i, c in rows))
    arguments = ("allocate", "polls.csv", "--capacity", "0.01/s", "--criterion", "freshness", "-o", "out.csv", "--json")
    told = [row["interval"] for row in json.loads(succeed(*arguments))["intervals"]]
    assert told.count(None) == 1
    assert [row["interval"] for row in read(folder / "out.csv")].count("") == 1
    frame = pd.read_csv(folder / "out.csv")
    assert frame["interval"].dtype == float
    assert frame["interval"].tolist() == pytest.approx([np.nan if each is None else each for each in told], nan_ok=True)
    assert (1 / frame["interval"]).sum() == pytest.approx(0.01)
    again = as_floats(pyarrow.csv.read_csv(folder / "out.csv").column("interval"))  # as the commands read numbers
    assert np.array_equal(again, frame["interval"], equal_nan=True)


@pytest.mark.parametrize("n_items", [255, 256, 257, 4096])
def test_what_is_said_of_newcomers_moves_no_other_item(n_items):
    """At these numbers the library has thresholds: the item that stands for newcomers counts towards none."""
    rng = np.random.default_rng(1)
    items, elapsed = np.tile(np.arange(n_items), 3), rng.exponential(size=3 * n_items)
    changed = (rng.random(items.size) < -np.expm1(-elapsed * rng.gamma(0.5, 1.0, n_items)[items])).astype(int)
    model = ChangeRateEstimator().fit(np.column_stack([items, elapsed]), changed)
    log = PollLog(
        names=np.arange(n_items), polls=np.full(n_items, 4), last=np.zeros(n_items), unit="day", dates=False,
        items=items, elapsed=elapsed, changed=changed, span=1.0, pace=1.0,
    )  # fmt: skip
    found = allocate(log, 30.0, "detection", 0.8, "mle", Limits(0.0, np.inf, None))
    np.testing.assert_allclose(found.rates, model.rates_, rtol=1e-9)
    np.testing.assert_allclose(np.column_stack([found.low, found.high]), model.rate_interval(), rtol=1e-9)
