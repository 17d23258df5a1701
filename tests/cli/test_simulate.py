"""`knapsolve simulate`: what learners come to find, by the names that replays know."""

import json

import pytest

from knapsolve.replay import POLICIES
from tests.cli.conftest import GOOD


def test_simulate_learns_what_is_best(folder, succeed):
    options = [
        "--n",
        20,
        "--polls",
        "2e4",
        "--runs",
        2,
        "--learner",
        "uniform,htraa",
        "--environment",
        "bernoulli",
    ]
    text = succeed("simulate", *options, "--json", "--plot", "s.svg")
    document = json.loads(text)
    assert document["finished"] is True
    value = {name: learner["value"][-1] for name, learner in document["learners"].items()}
    assert value["uniform"] < 0.8 < value["htraa"] < document["optimal_value"] < 1
    assert (folder / "s.svg").exists()
    assert "htraa" in succeed("simulate", *options)


@pytest.mark.slow
def test_simulations_and_replays_know_the_same_policies(folder, succeed):
    (folder / "log.csv").write_text(GOOD)
    names = ",".join(POLICIES)
    replayed = json.loads(succeed("replay", "log.csv", "--capacity", "1/s", "--json", "--policy", names))
    options = ("--n", 8, "--polls", 2000, "--runs", 1, "--learner", names)
    simulated = json.loads(succeed("simulate", *options, "--json"))["learners"]
    assert [row["policy"] for row in replayed["policies"]] == list(simulated) == list(POLICIES)
    value = {name: learner["value"][-1] for name, learner in simulated.items()}
    assert value["uniform"] < value["told"] < value["optimal"] == max(value.values())


def test_the_renewal_index_finds_more_where_its_balance_asks_for_it_and_else_says_so(succeed):
    options = ("simulate", "--n", 50, "--polls", 20_000, "--runs", 2, "--learner", "renewal")

    def value(*more):
        return json.loads(succeed(*options, "--json", *more))["learners"]["renewal"]["value"][-1]

    assert value() == value("--balance", 0.8) < value("--balance", 0) - 0.05
    assert "renewal, of balance 0.8, also keeps copies current" in succeed(*options)
    assert "also keeps" not in succeed(*options, "--balance", 0)
