import numpy as np
import pytest

from knapsolve import solve_robot_control
from knapsolve._core.robot_simulation import simulate_events


def walk(action, load, events, q, r, rng):
    """The simulation as it reads, drawing in the same order."""
    buffer = action.shape[1] - 1
    time = empty = lost = active = queue = 0.0
    for _ in range(events):
        arrive = load * r
        total = arrive + (q > 0)
        wait = rng.standard_exponential() / total
        time, active, queue, empty = time + wait, active + wait * r, queue + wait * q, empty + wait * (q == 0)
        if rng.random() * total < arrive or q == 0:
            lost += q == buffer
            q, r = min(q + 1, buffer), r - 1
        else:
            q -= 1
        r += action[r, q]
    return (time, empty, lost, active, queue), (q, r)


def test_the_compiled_walk_equals_its_twin():
    control = solve_robot_control(8, 4, 0.25, 1.2)
    action = control.action
    state = np.array([0, 1], dtype=np.intp)
    ours = simulate_events(action, 0.25, 5000, state, np.random.default_rng(5))
    theirs, end = walk(action.astype(int), 0.25, 5000, 0, 1, np.random.default_rng(5))
    assert ours == theirs
    assert tuple(state) == end


@pytest.mark.parametrize("arguments", [(16, 5, 0.1, 1.4), (5, 3, 0.6, 3.0, 2.0), (40, 10, 0.05, 0.3)])
def test_simulation_confirms_the_gain_and_its_parts(arguments):
    control = solve_robot_control(*arguments)
    seen = control.simulate(2_000_000, random_state=1)
    assert abs(seen.gain - control.gain) < 4 * seen.standard_error
    assert seen.standard_error < 0.01 * control.gain + 1e-3
    assert seen.n_mean == pytest.approx(control.n_mean, rel=0.01)
    assert seen.gain == pytest.approx(control.problem.starvation_weight * seen.starvation + seen.loss_rate)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_a_unit_of_time_scales_a_run_exactly(unit):
    seen = solve_robot_control(4, 3, 0.5, 2.0).simulate(2000, random_state=0)
    other = solve_robot_control(4, 3, 0.5 * unit, 2.0 * unit, unit).simulate(2000, random_state=0)
    assert (other.gain, other.standard_error, other.loss_rate) == (
        seen.gain * unit, seen.standard_error * unit, seen.loss_rate * unit,
    )  # fmt: skip
    assert (other.time, other.starvation, other.n_mean) == (seen.time / unit, seen.starvation, seen.n_mean)


def test_nothing_departs_from_an_empty_queue_however_small_the_rate():
    state = np.array([0, 1], dtype=np.intp)  # where a random number times the least rate rounds up to that rate
    simulate_events(np.zeros((3, 4), dtype=np.uint8), 5e-324, 1, state, np.random.default_rng(1))
    assert state.tolist() == [1, 0]


def test_the_standard_error_covers_as_it_should():
    control = solve_robot_control(6, 3, 0.3, 1.0)
    runs = [control.simulate(20_000, random_state=seed) for seed in range(200)]
    scores = np.array([(run.gain - control.gain) / run.standard_error for run in runs])
    assert abs(scores.mean()) < 0.35
    assert 0.75 < scores.std() < 1.35


def test_the_same_seed_gives_the_same_run_and_a_generator_goes_on():
    control = solve_robot_control(6, 3, 0.3, 1.0)
    assert control.simulate(1000, random_state=3) == control.simulate(1000, random_state=3)
    rng = np.random.default_rng(3)
    assert control.simulate(1000, random_state=rng) != control.simulate(1000, random_state=rng)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"n_events": 1}, "n_events"), ({"n_batches": 1}, "n_batches"), ({"random_state": -1}, "random_state")],
)
def test_bad_parameters_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        solve_robot_control(6, 3, 0.3, 1.0).simulate(**options)
