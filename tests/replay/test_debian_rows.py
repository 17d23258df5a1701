"""The Debian comparison at 1.5, 6 and 30 polls per change: rows found by independent code, and the main claims."""

import numpy as np
import pytest

from knapsolve.datasets import load_debian_uploads
from knapsolve.replay import replay

POLICIES = ("renewal", "stormcrawler", "nutch", "harmonic", "proportional", "uniform")
# detected share and freshness, in shared figures of an independent prototype
UNIFORM = {1.5: (0.455, 0.816), 6.0: (0.692, 0.937), 30.0: (0.867, 0.985)}
PROPORTIONAL = {6.0: (0.808, 0.930), 30.0: (0.912, 0.986)}
HARMONIC = {1.5: (0.534, 0.835), 6.0: (0.782, 0.949), 30.0: (0.910, 0.988)}


@pytest.fixture(scope="module")
def results():
    days = ("2019-07-06", "2021-07-01", "2023-01-01")
    start, split, stop = (float(np.datetime64(day, "s").astype(float)) for day in days)
    log = load_debian_uploads(stop=None)
    return {
        budget: replay(
            log, None, POLICIES, polls_per_change=budget, start=start, split=split, stop=stop, n_runs=3, random_state=0
        )
        for budget in UNIFORM
    }


def numbers(result, policy):
    return [result.estimate(policy, metric).value for metric in ("detected_share", "freshness")]


@pytest.mark.parametrize("budget", UNIFORM)
def test_uniform_and_harmonic_come_out_as_they_did_elsewhere(results, budget):
    assert numbers(results[budget], "uniform") == pytest.approx(UNIFORM[budget], abs=0.01)
    assert numbers(results[budget], "harmonic") == pytest.approx(HARMONIC[budget], abs=0.012)


@pytest.mark.parametrize("budget", PROPORTIONAL)
def test_proportional_amounts_come_out_as_they_did_elsewhere(results, budget):
    assert numbers(results[budget], "proportional") == pytest.approx(PROPORTIONAL[budget], abs=0.012)


@pytest.mark.parametrize("budget", UNIFORM)
def test_every_policy_makes_the_same_polls(results, budget):
    n_polls = int(budget * 2416)
    for run in results[budget].runs.values():
        assert run.item_polls.sum() == pytest.approx(n_polls, abs=1e-6) and run.polls[-1] == n_polls


@pytest.mark.parametrize("budget", [6.0, 30.0])
@pytest.mark.parametrize("rival", ["stormcrawler", "nutch"])
def test_the_renewal_index_detects_more_than_crawlers_rules_and_is_as_fresh(results, budget, rival):
    assert results[budget].difference("renewal", rival, "detected_share").low > 0
    assert results[budget].difference("renewal", rival, "freshness").low > -0.002


@pytest.mark.parametrize("budget", UNIFORM)
def test_the_renewal_index_detects_more_than_uniform_polling(results, budget):
    assert results[budget].difference("renewal", "uniform", "detected_share").low > 0
    assert results[budget].difference("renewal", "uniform", "freshness").high > 0
