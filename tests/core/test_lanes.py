"""Replications side by side: equal to a Python twin bit for bit, to the scalar loop in distribution."""

import numpy as np
import pytest

from knapsolve import LAKG, simulate
from knapsolve._core import lanes
from knapsolve._core.weight_tree import vector_level
from knapsolve.environments import BernoulliEnvironment, PollingEnvironment, zipf_unchanged
from tests.twins import LAKGTwin

ENVIRONMENTS = {False: BernoulliEnvironment, True: PollingEnvironment}
WORD = 2**64


class Xoshiro:
    """xoshiro256++ in Python integers."""

    def __init__(self, seed):
        self.s = [int(word) for word in seed.generate_state(4, np.uint64)]

    def __call__(self):
        s = self.s
        result = (rotate((s[0] + s[3]) % WORD, 23) + s[0]) % WORD
        t = (s[1] << 17) % WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result


def rotate(x, k):
    return (x << k) % WORD | x >> (64 - k)


def uniform(word):
    """A multiple of 2^-52 in (0, 1]."""
    return 1 - (word >> 12) * 2.0**-52


def exponential(word):
    """-log of the uniform, as fdlibm computes logarithms, in double precision throughout."""
    w = uniform(word)
    z, k = np.frexp(w)  # 1/2 <= z < 1
    if z < float.fromhex("0x1.6a09e667f3bcdp-1"):
        z, k = 2 * z, k - 1
    k, f = float(k), float(z) - 1
    half, s = 0.5 * f * f, f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    even = s4 * (3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01))
    low = 1.818357216161805012e-01 + s4 * 1.479819860511658591e-01
    odd = s2 * (6.666666666666735130e-01 + s4 * (2.857142874366239149e-01 + s4 * low))
    tail = s * (half + (odd + even)) + k * 1.90821492927058770002e-10
    return -(tail - half + f + k * 6.93147180369123816490e-01)


def one_run(learner, n, unchanged, pages, n_polls, seed):
    """One replication; returns the final states and the number of detections."""
    twin = LAKGTwin(n, learner.resolution, learner.exponent, learner.capacity)
    if hasattr(learner, "states_"):
        twin.states = learner.states_.tolist()
    bits, last, found = Xoshiro(seed), [0.0] * n, 0
    with np.errstate(divide="ignore"):
        rate = (-np.log(np.asarray(unchanged, dtype=float))).tolist()
    for k in range(1, n_polls + 1):
        at, wait = bits() * twin.total() >> 64, exponential(bits())
        cumulative = np.cumsum([twin.units[s] for s in twin.states])
        i = int(np.searchsorted(cumulative, at, side="right"))
        if pages:
            now = k * (1 / learner.capacity)
            v = wait < rate[i] * (now - last[i])
            last[i] = now
        else:
            v = wait * float(twin.units[twin.states[i]]) < rate[i] * float(twin.units[-1])
        twin.observe(i, v, None)
        found += v
    return twin.states, found


def states_of(history, learner):
    table = learner._tables()[0]
    return [[int(np.searchsorted(table, x)) for x in row] for row in history.amounts]


def check_against_twin(learner, unchanged, pages, n_polls, n_runs, checked):
    history = simulate(
        learner, ENVIRONMENTS[pages](unchanged), n_polls, scheduler="random", n_runs=n_runs, random_state=7
    )
    seeds = np.random.SeedSequence(7).spawn(n_runs)
    states = states_of(history, learner)
    for run in checked:
        expected, found = one_run(learner, len(unchanged), unchanged, pages, n_polls, seeds[run])
        assert states[run] == expected
        assert history.detections[run, -1] == found
    assert len({tuple(row) for row in states}) > 1, "all runs are alike: the comparison would be empty"
    return history


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize(
    ("n", "resolution", "exponent", "capacity", "n_runs"),
    [(2, 7, 1.0, 1.0, 8), (9, 40, 1.3, 1.0, 9), (65, 150, 1.1, 0.9, 19), (200, 400, 1.2, 2.5, 11)],
)
def test_every_run_equals_its_twin(n, resolution, exponent, capacity, n_runs, pages):
    learner = LAKG(resolution=resolution, exponent=exponent, capacity=capacity)
    check_against_twin(learner, zipf_unchanged(n, 0.9, 1.2), pages, 700, n_runs, {0, 5, 7, n_runs - 1})


@pytest.mark.parametrize("n", [513, 4_100, pytest.param(33_000, marks=pytest.mark.slow)])
def test_larger_games_equal_their_twin(n):
    check_against_twin(LAKG(resolution=n, exponent=1.1), zipf_unchanged(n, 0.9, 0.2), False, 60, 8, {0, 7})


@pytest.mark.parametrize("pages", [False, True])
def test_materials_that_always_or_never_change_equal_their_twin(pages):
    learner = LAKG(resolution=30, exponent=1.0)
    history = check_against_twin(learner, [0.0, 0.9, 1.0, 0.5, 1.0], pages, 500, 8, range(8))
    assert (history.amounts[:, [2, 4]] < 0.2).all()


@pytest.mark.parametrize("pages", [False, True])
def test_automata_stop_at_their_highest_state_while_there_is_room(pages):
    learner = LAKG(resolution=5, capacity=3.5)
    history = check_against_twin(learner, [0.0, 0.0, 0.5, 0.9], pages, 41, 8, range(8))
    assert (history.amounts == 1.0).any()


def test_a_fitted_learner_goes_on_from_its_states():
    learner = LAKG(resolution=60, n_materials=12)
    learner.fit([[k % 12, 1.0] for k in range(400)], [k % 12 < 3 for k in range(400)])
    before = learner.states_.tolist()
    check_against_twin(learner, zipf_unchanged(12, 0.9, 1.2), False, 100, 8, range(8))
    assert learner.states_.tolist() == before


def test_the_exponential_is_within_two_ulp_of_the_logarithm():
    generator = np.random.default_rng(0)
    words = generator.integers(0, 2**64, 80_000, dtype=np.uint64)
    shifts = np.arange(64, dtype=np.uint64)
    powers = np.uint64(1) << shifts
    edges = np.array([0] * 7 + [2**64 - 1], dtype=np.uint64)
    words = np.concatenate([words, powers, ~powers, words[:64] >> shifts, ~(words[:64] >> shifts), edges])
    ours = lanes.exponentials(words)
    theirs = -np.log(np.array([uniform(int(word)) for word in words]))
    assert (abs(ours - theirs) <= 2 * np.spacing(theirs)).all()
    assert ours.min() == 0.0 == ours[-2]
    assert not np.signbit(ours).any()
    assert ours[-1] == ours.max() == pytest.approx(52 * np.log(2), rel=1e-15)
    assert ours[:2_000].tolist() == [exponential(int(word)) for word in words[:2_000]]
    assert (np.diff(ours[np.argsort(words >> np.uint64(12), kind="stable")]) >= 0).all()


def test_the_answer_depends_neither_on_n_jobs_nor_on_the_other_runs():
    environment, learner = BernoulliEnvironment(zipf_unchanged(30, 0.9, 1.2)), LAKG(resolution=100)

    def run(n_runs, n_jobs):
        history = simulate(
            learner, environment, 20_000, scheduler="random", n_runs=n_runs, n_jobs=n_jobs, random_state=3
        )
        return history.detections.tolist(), history.value.tolist(), history.amounts.tolist()

    many = run(27, 1)
    assert run(27, 2) == run(27, -1) == many
    for n_runs in (8, 11, 16):
        assert run(n_runs, 2) == tuple(column[:n_runs] for column in many)


@pytest.mark.parametrize(("n", "kind"), [(9, False), (65, False), (600, True)])
def test_all_vector_levels_give_the_same_bits(n, kind, monkeypatch):
    environment, answers = ENVIRONMENTS[kind](zipf_unchanged(n, 0.9, 1.2)), []
    for level in range(3):
        monkeypatch.setenv("KNAPSOLVE_CPU_LEVEL", str(level))
        assert vector_level() <= level
        h = simulate(LAKG(), environment, 30_000, scheduler="random", n_runs=9, random_state=2)
        answers.append([h.detections.tobytes(), h.amounts.tobytes(), h.value.tobytes()])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("n", [50, 500])
def test_runs_side_by_side_are_distributed_like_single_ones(n, pages):
    environment, learner = ENVIRONMENTS[pages](zipf_unchanged(n, 0.9, 1.5)), LAKG()
    together = simulate(
        learner, environment, 60_000, scheduler="random", n_runs=64, record_every=10_000, random_state=1
    )
    parts = [
        simulate(learner, environment, 60_000, scheduler="random", n_runs=7, record_every=10_000, random_state=k)
        for k in range(10, 15)
    ]
    for ours, theirs in [
        (together.value, np.vstack([part.value for part in parts])),
        (together.detections, np.vstack([part.detections for part in parts])),
    ]:
        error = np.hypot(ours.std(axis=0, ddof=1) / 8, theirs.std(axis=0, ddof=1) / np.sqrt(len(theirs)))
        assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4 * error).all()
        ratio = ours.std(axis=0, ddof=1) / theirs.std(axis=0, ddof=1)
        assert ((ratio > 0.4) & (ratio < 2.5)).all()


def test_ensembles_reach_the_known_values():
    history = simulate(
        LAKG(),
        BernoulliEnvironment(zipf_unchanged(500, 0.9, 1.5)),
        100_000,
        scheduler="random",
        n_runs=40,
        record_every=10_000,
        random_state=0,
    )
    error = history.standard_error()[[0, 2, 9]]
    assert (error < 0.01).all()
    assert (abs(history.mean()[[0, 2, 9]] - [0.406, 0.783, 0.9725]) < 4 * error).all()


@pytest.mark.parametrize("capacity", [1.0, 3.0])
def test_weights_sum_to_the_total_and_stay_near_the_capacity(capacity):
    n, environment = 70, BernoulliEnvironment(zipf_unchanged(70, 0.9, 1.2))
    learners = [LAKG(resolution=300, capacity=capacity) for _ in range(8)]
    for learner in learners:
        learner._begin(n)
    words = np.random.default_rng(0).integers(0, 2**64, (8, 4), dtype=np.uint64)
    games = [learner._core() for learner in learners]
    together = lanes.KnapsackLanes(games, [environment._core() for _ in games], words, 1 / capacity)
    units = [int(u) for u in learners[0]._tables()[1]]
    for steps in (1, 15, 16, 17, 5_000):
        together.run(steps)
        for learner, total in zip(learners, together.totals()):
            assert sum(units[s] for s in learner.states_) == total
            assert 1 <= learner.states_.min() <= learner.states_.max() <= 300
    assert [game.amounts().sum() for game in games] == pytest.approx([capacity] * 8, rel=0.02)


def test_progress_counts_every_poll_of_every_run():
    seen = []
    environment = BernoulliEnvironment(zipf_unchanged(20, 0.9, 1.2))
    simulate(LAKG(), environment, 1_000, scheduler="random", n_runs=19, progress=lambda *at: seen.append(at))
    assert seen == [(8_000, 19_000), (16_000, 19_000), (19_000, 19_000)]
