"""The reproductions of the papers on LAKG and H-TRAA: complete, repeatable, right against readable twins."""

import re

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG
from knapsolve.reproduce import htraa, lakg, theorem
from knapsolve.reproduce.curves import Curve, Ensemble, Setting
from knapsolve.reproduce.polling import CONFIGURATIONS, HARD, QUICK, SKEWED, Sizes, lakg_curve
from knapsolve.reproduce.report import Figure
from knapsolve.simulation import History

pytest.importorskip("matplotlib").use("agg")

TINY = Sizes(
    n_runs=2, n_polls=100_000, scale_runs=2, scale_polls=10_000, scale_pages=(64, 128), phase_digits=(1,)
)
PAPERS = {
    "lakg": (lakg, [f"figure {k}" for k in range(2, 7)]),
    "htraa": (htraa, [*(f"figure {k}" for k in range(5, 13)), "theorem 1"]),
}


@pytest.fixture(scope="module", params=PAPERS)
def tiny(request, tmp_path_factory):
    """(text, folder, name, figures) of a report at tiny size."""
    module, figures = PAPERS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return module.compute(TINY, folder, seed=5), folder, request.param, figures


@pytest.mark.slow
def test_the_table_contains_every_figure_and_a_picture_of_each(tiny):
    text, folder, name, figures = tiny
    for figure in figures:
        assert f"\n{figure.capitalize()}. " in text
        picture = folder / f"{name}_{figure.replace(' ', '_')}.png"
        assert picture.read_bytes()[:4] == b"\x89PNG" and str(picture) in text
    assert "Claims that held" in text and "Claims that did not hold" in text
    assert text.count("\n- The paper: ") == {"lakg": 7, "htraa": 12}[name]  # each claim once, held or not
    assert (folder / f"{name}.txt").read_text() == text + "\n"


@pytest.mark.slow
def test_the_same_seed_reproduces_every_number(tiny, tmp_path, monkeypatch):
    text, folder, name, _ = tiny
    monkeypatch.setattr(Figure, "draw", lambda figure, path: path.touch())
    again = PAPERS[name][0].compute(TINY, tmp_path, seed=5)
    assert again.replace(str(tmp_path), str(folder)) == text


def test_another_seed_gives_other_numbers():
    first, second = (
        lakg_curve(TINY.ensemble(seed), HARD, CONFIGURATIONS[0]).history.value for seed in (5, 6)
    )
    assert (first != second).any() and abs(first[:, -1].mean() - second[:, -1].mean()) < 0.1


@pytest.mark.slow
def test_every_line_has_a_standard_error_and_references_stand_beside(tiny):
    text, _, name, _ = tiny
    rows = re.findall(r"^(?:LAKG|H-TRAA)[ ,].*?  .*", text, re.MULTILINE)
    assert rows and all("±" in row for row in rows if "mean" not in row)
    assert "[.406]" in text and ("[.930]" in text) == (name == "htraa")


def twin_lakg(setting: Setting, n: int, n_polls: int, resolution: int, exponent: float, rng) -> float:
    """Value of LAKG after some polls of a Bernoulli environment, random access, as the paper has it."""
    rates = -np.log(1 - setting.alpha / np.arange(1, n + 1) ** setting.beta)
    table = (np.arange(resolution + 1) / resolution) ** exponent
    states = np.full(n, max(1, np.searchsorted(n * table, 1.0, side="right") - 1))
    amounts = table[states]
    for _ in range(n_polls):
        total = amounts.sum()
        i = min(np.searchsorted(np.cumsum(amounts), rng.random() * total, side="right"), n - 1)
        changed, full = rng.random() < -np.expm1(-rates[i] / amounts[i]), total >= 1
        if changed and not full:
            states[i] = min(states[i] + 1, resolution)
        elif not changed and full:
            states[i] = max(states[i] - 1, 1)
        amounts[i] = table[states[i]]
    return float((amounts * -np.expm1(-rates / amounts)).sum())


@pytest.mark.slow
def test_the_curve_of_lakg_agrees_with_a_readable_twin():
    ensemble = Ensemble(40, 10_000, np.random.default_rng(3))
    mean, error = lakg_curve(ensemble, HARD, CONFIGURATIONS[0]).at(10_000)
    twins = [twin_lakg(HARD, 500, 10_000, 1500, 1.3, np.random.default_rng(k)) for k in range(8)]
    spread = np.hypot(error, np.std(twins, ddof=1) / np.sqrt(8))
    assert abs(mean - np.mean(twins)) < 4 * spread
    assert abs(mean - 0.406) < 0.02


@pytest.mark.parametrize(("setting", "expected"), [
    (SKEWED, (0.560972, 0.560093, 0.123518)),
    (Setting(0.3, 1.0), (0.880622, 0.879646, 0.530366)),
    (HARD, (0.976998, 0.945106, 0.233643)),
])  # fmt: skip
def test_levels_equal_the_closed_forms(setting, expected):
    log_unchanged = np.log(1 - setting.alpha / np.arange(1, 501) ** setting.beta)
    levels = setting.levels()
    assert levels["optimal"] == pytest.approx(-np.expm1(log_unchanged.sum()), abs=1e-12)
    assert tuple(levels.values()) == pytest.approx(expected, abs=1e-6)


def test_the_uniform_estimator_tends_to_the_detection_rates_at_uniform_amounts():
    ensemble = Ensemble(4, 200_000, np.random.default_rng(1), phase_digits=(2,))
    naive = ensemble.estimators(HARD)[0]
    unchanged = 1 - 0.9 / np.arange(1, 501) ** 1.5
    amounts = (400 * (1 - unchanged**500.0) + 0.5) / 401  # half a poll of each kind is added to 400
    amounts /= amounts.sum()
    limit = (amounts * (1 - unchanged ** (1 / amounts))).sum()
    assert naive.history.polls.tolist() == [2_000, 20_000, 200_000]
    assert naive.end() == pytest.approx(limit, abs=1.5e-3)


def test_perturbed_environments_differ_from_run_to_run_and_only_in_order():
    ensemble = Ensemble(3, 10, np.random.default_rng(0))
    environments = ensemble.perturbed(HARD, 10**5)
    first, second, _ = (environment.unchanged for environment in environments)
    assert (first != second).any()
    assert np.array_equal(np.sort(first), np.sort(HARD.bernoulli().unchanged))


def test_a_list_of_environments_gives_each_run_its_own():
    ensemble = Ensemble(2, 3_000, np.random.default_rng(0))
    worlds = [Setting(0.9, 1.5).bernoulli(50), Setting(0.1, 0.5).bernoulli(50)]
    history = ensemble.curve("two worlds", LAKG(resolution=300), worlds).history
    assert history.value.shape[0] == 2
    value = [world.value(amounts) for world, amounts in zip(worlds, history.amounts)]
    assert history.value[:, -1] == pytest.approx(value, abs=1e-12)


def test_the_learner_of_an_ensemble_is_left_as_it_was():
    learner = HTRAA(n_materials=8)
    ensemble = Ensemble(2, 100, np.random.default_rng(0))
    ensemble.curve("untouched", learner, ensemble.shuffled(HARD, 8))
    assert not hasattr(learner, "states_")


def test_polls_to_reach_is_the_first_record_at_the_value():
    history = History(np.array([10, 20, 30]), np.array([[0.1, 0.5, 0.9], [0.1, 0.7, 0.7]]), None, None)
    curve = Curve("steps", history)
    assert curve.polls_to_reach(0.6) == 20 and curve.polls_to_reach(0.85) == np.inf
    with pytest.raises(ValueError, match="near a record"):
        curve.at(25)
    assert curve.end() == pytest.approx(0.8)
    assert curve.at(19) == pytest.approx((0.6, 0.1)) and curve.between(20, 30)[0] == pytest.approx(0.7)


def test_smoothing_averages_whole_blocks_and_leaves_short_curves():
    polls, value = np.arange(1, 85) * 10, np.arange(168.0).reshape(2, 84)
    curve = Curve("line", History(polls, value, np.tile(polls, (2, 1)), np.zeros((2, 3))))
    smooth = curve.smoothed(4)
    assert smooth.polls.tolist() == [polls[k : k + 4].mean() for k in range(0, 84, 4)]
    assert smooth.value[1].tolist() == [value[1, k : k + 4].mean() for k in range(0, 84, 4)]
    assert curve.smoothed(5) is curve.history


@pytest.mark.parametrize("update", ["reward-inaction", "inaction-penalty", "reward-penalty"])
@pytest.mark.parametrize("resolution", [10, 100])
def test_theorem_1_table_agrees_with_the_eigenvector_of_the_chain(update, resolution):
    share, probability = theorem.distribution(resolution, update)
    first, second = 1 - 0.9 ** (1 / share), 1 - 0.1 ** (1 / (1 - share))
    reward, penalty = update != "inaction-penalty", update != "reward-inaction"
    up = share * (1 - share) * (reward * first + penalty * (1 - second))
    down = share * (1 - share) * (reward * second + penalty * (1 - first))
    chain = np.diag(up[:-1], 1) + np.diag(down[1:], -1)
    chain += np.diag(1 - chain.sum(axis=1))
    system = np.vstack([chain.T - np.eye(resolution), np.ones(resolution)])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(resolution), 1.0), rcond=None)[0]
    assert np.abs(probability - stationary).max() < 1e-12
    known = float(theorem.REFERENCE[update][resolution].strip("[]"))
    assert share @ probability == pytest.approx(known, rel=1e-5)


def test_theorem_1_fails_in_its_step_and_holds_in_its_limit():
    step, limit = theorem.claims()
    assert not step.holds and "reward-inaction" in step.ours and "inaction-penalty" not in step.ours
    assert limit.holds


def test_an_interrupt_keeps_what_is_finished_and_says_so(tmp_path, monkeypatch, capsys):
    def interrupted(ensemble, setting, configuration):
        if setting != SKEWED:
            raise KeyboardInterrupt
        return lakg_curve(ensemble, setting, configuration)

    monkeypatch.setattr(lakg, "lakg_curve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lakg.compute(TINY, tmp_path, seed=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lakg.txt", "lakg_figure_2.png"]
    first, *_ = text = (tmp_path / "lakg.txt").read_text().splitlines()
    assert any(line.startswith("Figure 2.") for line in text)
    assert first == (
        "INTERRUPTED; missing: Figure 3, Figure 4, Figure 5, Figure 6, Claims that held, Claims that did not hold"
    )
    assert "lakg_figure_2.png" in capsys.readouterr().err


@pytest.mark.slow
def test_output_goes_where_it_is_told_and_progress_to_standard_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lakg, "QUICK", TINY)
    monkeypatch.setattr(Figure, "draw", lambda figure, path: path.touch())
    monkeypatch.chdir(tmp_path)
    text = lakg.run(quick=True)
    printed = capsys.readouterr()
    assert printed.out == "" and "LAKG figure 6" in printed.err
    assert (tmp_path / "output" / "lakg_figure_6.png").exists() and "Figure 6." in text


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_ensembles_are_within_three_standard_errors_of_the_reference(configuration):
    curve = lakg_curve(Ensemble(20, 10**6, np.random.default_rng(11)), HARD, configuration)
    for polls, reference in curve.reference.items():
        mean, error = curve.at(polls)
        rounding = 0.5 * 10.0 ** -(len(reference) - 1)
        assert abs(mean - float(reference)) < 3 * np.sqrt(2) * error + rounding


def test_quick_is_smaller_than_full():
    full = Sizes()
    assert QUICK.n_runs < full.n_runs and QUICK.scale_polls < full.scale_polls
    assert QUICK.n_polls == full.n_polls and QUICK.scale_pages == full.scale_pages == (512, 2048, 8192, 32768)
