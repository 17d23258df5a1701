"""Learners and environments written in Python play in the same loop, and their errors reach the caller."""

import re

import numpy as np
import pytest

from knapsolve import HTRAA, LAKG, simulate
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, TraceEnvironment, zipf_unchanged

UNCHANGED = zipf_unchanged(20, 0.9, 1.2)
BERNOULLI, PAGES = BernoulliEnvironment(UNCHANGED), PollingEnvironment(UNCHANGED)


def same(a, b):
    assert a.detections.tolist() == b.detections.tolist()
    assert a.amounts.tolist() == b.amounts.tolist()
    assert a.value.tolist() == b.value.tolist()


class PythonLAKG:
    """LAKG once more, as a user would write it."""

    def __init__(self, n, resolution, exponent):
        self.table = (np.arange(resolution + 1) / resolution) ** exponent
        start = max(1, int(np.searchsorted(n * self.table, 1.0, side="right")) - 1)
        self.states, self.capacity, self.resolution = [start] * n, 1.0, resolution

    def amount(self, i):
        return self.table[self.states[i]]

    def observe(self, i, elapsed, changed):
        full = sum(self.table[s] for s in self.states) >= 1 - 1e-13
        if changed and not full:
            self.states[i] = min(self.states[i] + 1, self.resolution)
        elif full and not changed:
            self.states[i] = max(self.states[i] - 1, 1)


@pytest.mark.parametrize("environment", [BERNOULLI, PAGES, PollingEnvironment(UNCHANGED, switch_every=50)])
def test_a_learner_in_python_equals_the_compiled_one(environment):
    compiled = simulate(LAKG(resolution=50), environment, 5_000, random_state=8)
    written = PythonLAKG(20, 50, 1.3)
    history = simulate(written, environment, 5_000, random_state=8)
    same(compiled, history)
    assert history.amounts[0].tolist() == [written.amount(i) for i in range(20)]
    both = simulate(PythonLAKG(20, 50, 1.3), environment, 2_000, n_runs=3, n_jobs=2, random_state=8)
    same(simulate(LAKG(resolution=50), environment, 2_000, n_runs=3, random_state=8), both)


def test_a_learner_in_python_is_drawn_at_random_in_proportion():
    amounts = np.random.default_rng(0).pareto(1.0, 20)

    class Fixed:
        capacity = 1.0

        def amount(self, i):
            return amounts[i]

        def observe(self, i, elapsed, changed):
            assert changed in (0, 1)
            assert elapsed > 0
            seen[i] += 1

    seen = np.zeros(20)
    simulate(Fixed(), PAGES, 20_000, scheduler="random", random_state=0)
    expected = amounts / amounts.sum() * 20_000
    assert (abs(seen - expected) < 5 * np.sqrt(expected) + 1).all()


class PythonTrace:
    """A trace once more, as a user would write it."""

    def __init__(self, items, times, start):
        self.n_materials, self.last = len(set(items)), {}
        self.changes = [[t for i, t in zip(items, times) if i == k] for k in range(self.n_materials)]
        self.start = start

    def poll(self, i, time, amount):
        last = self.last.get(i, self.start)
        self.last[i] = time
        return any(last < t <= time for t in self.changes[i]), time - last


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("learner", [LAKG(resolution=60, capacity=2.0), HTRAA(resolution=20, capacity=2.0)])
def test_an_environment_in_python_equals_the_compiled_one(learner, scheduler):
    rng = np.random.default_rng(1)
    items, times = np.arange(300) % 5, np.sort(rng.random(300)) * 500
    compiled = simulate(
        learner, TraceEnvironment(items, times, 0.0, 500.0), scheduler=scheduler, n_runs=2, random_state=2
    )
    python = PythonTrace(items.tolist(), times.tolist(), 0.0)
    written = simulate(learner, python, 1_000, scheduler=scheduler, n_runs=1, random_state=2)
    assert written.value is None
    assert written.detections[0].tolist() == compiled.detections[0].tolist()
    assert written.amounts[0].tolist() == compiled.amounts[0].tolist()
    assert written.mean()[-1] == written.detections[0, -1] / 1_000


class Odd:
    """A learner or environment that fails at a certain call."""

    capacity, n_materials = 1.0, 3

    def __init__(self, method, after, error):
        self.method, self.left, self.error = method, after, error

    def call(self, method, answer):
        if method == self.method:
            self.left -= 1
            if self.left < 0:
                if isinstance(self.error, BaseException):
                    raise self.error
                return self.error
        return answer

    def amount(self, i):
        return self.call("amount", 1.0)

    def observe(self, i, elapsed, changed):
        return self.call("observe", None)

    def poll(self, i, time, amount):
        return self.call("poll", (1, 1.0))

    def value(self, amounts):
        return self.call("value", 0.5)


@pytest.mark.parametrize("scheduler", ["edf", "random"])
@pytest.mark.parametrize("n_runs", [1, 2])
@pytest.mark.parametrize("after", [0, 1, 5, 100])
@pytest.mark.parametrize("method", ["amount", "observe", "poll", "value"])
@pytest.mark.parametrize("kind", [RuntimeError, KeyError, AssertionError])
def test_exceptions_of_python_roles_reach_the_caller(method, after, kind, n_runs, scheduler):
    error = kind("on purpose")  # a new one, as one that is raised again and again keeps all its tracebacks
    learner, environment = Odd(method, after, error), Odd(method, after, error)
    with pytest.raises(kind, match="on purpose"):
        simulate(learner, environment, 500, n_runs=n_runs, n_jobs=2, scheduler=scheduler, record_every=1)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("amount", float("nan")),
        ("amount", -1.0),
        ("amount", float("inf")),
        ("amount", "many"),
        ("amount", None),
        ("poll", (2, 1.0)),
        ("poll", (1, "soon")),
        ("poll", 1),
        ("poll", None),
        ("poll", (float("nan"), 1.0)),
        ("poll", (1, float("nan"))),
        ("poll", (1, -1.0)),
        ("value", "x"),
    ],
)
@pytest.mark.parametrize("after", [0, 50])
def test_nonsense_of_python_roles_is_refused(method, answer, after):
    with pytest.raises((ValueError, TypeError)):
        simulate(Odd(method, after, answer), Odd(method, after, answer), 500, random_state=0)


def test_a_learner_whose_amounts_are_all_zero_has_nothing_to_poll():
    for scheduler in ("edf", "random"):
        with pytest.raises(ValueError, match="zero"):
            simulate(Odd("amount", 0, 0.0), Odd("none", 0, None), 10, scheduler=scheduler, random_state=0)


@pytest.mark.parametrize("answer", ["yes", None, 1, (1,), (1, "soon"), (1, 2.0, 3)])
def test_a_poll_that_returns_something_else_is_refused_by_its_signature(answer):
    message = f"poll(i, time, amount) of Odd must return (changed, elapsed), got {answer!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        simulate(LAKG(resolution=50), Odd("poll", 3, answer), 500, random_state=0)


@pytest.mark.parametrize("answer", ["many", None])
def test_an_amount_that_is_no_number_is_refused_by_its_signature(answer):
    message = f"amount(i) of Odd must return a number, got {answer!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        simulate(Odd("amount", 3, answer), PythonTrace([0, 1, 2], [1.0, 2.0, 3.0], 0.0), 500, random_state=0)


class NarrowPoll(Odd):
    def poll(self, i):
        return 1, 1.0


class NarrowObserve(Odd):
    def observe(self, i, changed):
        pass


class NarrowAmount(Odd):
    def amount(self):
        return 1.0


@pytest.mark.parametrize(
    ("kind", "signature"),
    [(NarrowPoll, "poll(i, time, amount)"), (NarrowObserve, "observe(i, elapsed, changed)"),
     (NarrowAmount, "amount(i)")],
)  # fmt: skip
def test_methods_that_take_other_arguments_are_refused_by_their_signature(kind, signature):
    odd = kind("none", 0, None)
    with pytest.raises(TypeError, match=re.escape(f"{signature} of {kind.__name__} must take these arguments")):
        simulate(odd, odd, 500, random_state=0)


class Restless(Odd):
    """Draws random numbers of its own, from the run's generator if it is given one."""

    def __init__(self):
        super().__init__("none", 0, None)
        self.generator = np.random.default_rng(3)

    def poll(self, i, time, amount):
        return int(self.generator.random() < 0.3), 1.0


class Started(Restless):
    starts = 0

    def start_run(self, generator):
        self.generator, self.starts = generator, self.starts + 1


def test_replications_have_random_numbers_of_their_own_if_they_ask_for_them():
    world = Started()
    first, again = (simulate(LAKG(resolution=9), world, 500, n_runs=4, random_state=1).detections for _ in range(2))
    assert np.unique(first[:, -1]).size > 2
    assert first.tolist() == again.tolist()
    both = Started()
    simulate(both, both, 50, random_state=1)  # as a learner: it is started once
    assert both.starts == 1
    without = simulate(LAKG(resolution=9), Restless(), 500, n_runs=4, random_state=1).detections
    assert np.unique(without[:, -1]).size == 1


def test_a_start_that_takes_no_generator_is_refused():
    class Narrow(Restless):
        def start_run(self):
            pass

    with pytest.raises(TypeError, match=re.escape("start_run(generator) of Narrow must take these arguments")):
        simulate(LAKG(), Narrow(), 50, random_state=0)
