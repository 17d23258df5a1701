"""`knapsolve robots`: the numbers of the library, and plain words for bad input."""

import json
import warnings

import pytest

from knapsolve import mm1k_cost, optimal_robots, solve_robot_control
from knapsolve.cli import main
from knapsolve.cli import robots as module

GIVEN = ["robots", "--arrival-rate", "0.1", "--buffer", "5", "--starvation-weight", "1.4"]


def test_without_control_only_the_best_fixed_number_is_computed(succeed):
    document = json.loads(succeed(*GIVEN, "--service-rate", "0.7", "--json"))
    n, cost = optimal_robots(0.1, 5, 1.4, 0.7)
    assert document["fixed"] == {"n_robots": n, "cost": cost, "load": n * 0.1 / 0.7}
    assert document["control"] is None


def test_control_is_that_of_the_library_and_beside_the_fixed_number(succeed):
    document = json.loads(succeed(*GIVEN, "--robots", "16", "--json"))
    control = solve_robot_control(16, 5, 0.1, 1.4)
    names = ("gain", "lower", "upper", "n_min", "n_mean", "n_max")
    expected = {name: getattr(control, name) for name in names} | {"n_robots": 16}
    expected["saving"] = 1 - control.gain / optimal_robots(0.1, 5, 1.4)[1]
    assert document["control"] == expected


def test_with_few_robots_the_fixed_number_is_the_best_of_those(succeed):
    document = json.loads(succeed(*GIVEN, "--robots", "4", "--json"))
    assert document["fixed"] == {"n_robots": 4, "cost": mm1k_cost(0.4, 5, 1.4), "load": 0.4}
    assert 0 < document["control"]["saving"] < 0.01


@pytest.mark.parametrize("weight", [1e-6, 1.4, 300.0])
def test_dynamic_takes_as_many_robots_as_lower_the_cost(weight, succeed):
    given = [*GIVEN[:-1], weight, "--dynamic", "--json"]
    control = json.loads(succeed(*given))["control"]
    more = solve_robot_control(3 * control["n_robots"], 5, 0.1, weight)
    assert control["gain"] == pytest.approx(more.gain, abs=1e-9)
    assert control["n_max"] <= control["n_robots"]


def test_the_table_shows_both_and_the_picture_is_saved(succeed, folder):
    text = succeed(*GIVEN, "--robots", "16", "--plot", "curves.png")
    rows = [line.split() for line in text.splitlines()]
    assert ["fixed", "number", "10", "0.40000"] in rows
    assert ["controlled", "9.80", "4", "15", "0.25924", "35.19%"] in rows
    assert "at most 16" in text and "in [0.2592395960, 0.2592395961]." in text
    assert (folder / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_a_warning_of_the_solver_is_one_line_on_standard_error(folder, capsys, monkeypatch):
    def reluctant(*parameters, tol, max_iter):
        return solve_robot_control(*parameters, tol=1e-300)

    monkeypatch.setattr(module, "solve_robot_control", reluctant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([*GIVEN, "--robots", "16", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["control"]["n_max"] == 15
    assert err.startswith("knapsolve: warning: the control problem is solved to") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arrival-rate", "nan"], "--arrival-rate must be finite and positive, got nan"),
        (["--arrival-rate", "-1"], "--arrival-rate must be finite and positive, got -1.0"),
        (["--arrival-rate", "fast"], "error: --arrival-rate must be a number, got 'fast'"),
        (["--service-rate", "0"], "--service-rate must be finite and positive, got 0.0"),
        (["--starvation-weight", "inf"], "--starvation-weight must be finite and positive, got inf"),
        (["--buffer", "1"], "error: --buffer must be an integer of at least 2, got 1"),
        (["--buffer", "2.5"], "error: --buffer must be an integer of at least 2, got 2.5"),
        (["--robots", "0"], "error: --robots must be a positive integer, got 0"),
        (["--plot", "curves.png"], "give --dynamic or --robots with it"),
        (["--dynamic", "--plot", "curves.doc"], "--plot must end in one of"),
        (["--arrival-rate", "1e-300"], "--service-rate must need fewer than 2**53 robots, got 1e-300, 5,"),
        (["--arrival-rate", "1e-10", "--dynamic"], "let one robot stand for many"),
        (["--arrival-rate", "1e-10", "--robots", "1000000000"], "--robots and --buffer must make at most 100000000"),
        (["--buffer", "99999999999999999999", "--dynamic"], "robots here, 99,999,999,999,999,999,999 places"),
        (["--arrival-rate", "1e150", "--dynamic"], "error: --arrival-rate / --service-rate must be in"),
    ],
)
def test_a_bad_option_is_one_line_and_status_2(arguments, message, refuse):
    assert message in refuse(*GIVEN, *arguments)


def test_what_has_no_default_must_be_given(refuse):
    assert "Missing option '--arrival-rate'" in refuse("robots")


def test_ctrl_c_ends_with_status_130_and_no_table(folder, capsys, monkeypatch):
    def press(*parameters, tol, max_iter):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve_robot_control", press)
    assert main([*GIVEN, "--dynamic"]) == 130
    out, err = capsys.readouterr()
    assert out == "" and err.rstrip().endswith("knapsolve: interrupted")
