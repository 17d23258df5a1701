"""GPOKS: Gaussian-process optimistic knapsack sampling."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from knapsolve._core.curve_draws import DRAWS, CurveDraws
from knapsolve._core.gpoks import CurveGame
from knapsolve._core.patience import Patience
from knapsolve._frames import as_table
from knapsolve._identifiers import locate
from knapsolve._validation import (
    check_choice,
    check_flag,
    check_integer,
    check_kernel,
    check_poll_columns,
    check_real,
    resolve_random_state,
)
from knapsolve.learners.base import PollLogLearner
from knapsolve.processes import fit_hyperparameters, make_grid_process, posterior_at, posterior_sums
from knapsolve.processes.grid import MOST_POINTS, check_falls, default_kernel

SCALES = ("auto", "linear", "log")
SAMPLERS = ("truncated", "rejection")
MOST_TRIES = 100_000  # of one draw
DECADES = 4  # that a grid spans when it is not known how many materials will come


class GPOKS(PollLogLearner):
    """Gaussian-process optimistic knapsack sampling.

    Each material's unit value, the chance that a poll finds a change when the material gets the amount x, is a
    Gaussian process over x. A poll after the time t is an observation of it at x = 1 / t. Amounts are those at which
    curves drawn from the posteriors, nowhere rising and nowhere below the posterior mean, have the same value and fill
    the capacity: Thompson sampling with optimism. After a poll the polled material's curve is drawn anew (with two
    materials, both), and the common value, the price, follows.

    The posterior is exact in the few features that the kernel has on a grid of amounts, at a cost that does not
    depend on the number of polls.

    Parameters
    ----------
    draw : {"optimistic", "thompson", "mean"}, default="optimistic"
        Curves drawn nowhere below the posterior mean; anywhere; or the posterior mean itself.
    monotone : bool, default=True
        Draw among curves that rise nowhere only; a mean is made so by isotonic regression. If False, two
        materials on a linear grid meet at the first crossing of their curves as they are, and curves of more are made
        non-increasing by isotonic regression.
    kernel : scikit-learn kernel, optional
        Covariance of the unit value, over amounts as shares of the capacity or their decimal logarithm;
        ``RBF(1.0)`` by default. White noise in it makes the unit value itself rough: that of observations is `noise`.
    noise : float, default=0.1
        Variance of an observation about the unit value.
    scale : {"auto", "linear", "log"}, default="auto"
        Grid and kernel over the amounts or over their logarithm; "auto" is linear for two materials known from
        the start, else log.
    n_points : int, default=99
        Number of grid points: k / (n_points + 1) of the capacity, or evenly on the log scale.
    smallest : float, optional
        Smallest amount of a log grid: a tenth of an equal share by default, or 1e-4 of the capacity where it is
        not known how many materials will come.
    sampler : {"truncated", "rejection"}, default="truncated"
        Exact moves through the posterior cut to the admissible curves, which need no rejection; or independent draws
        until one is admissible.
    max_tries : int, default=2000
        Draws, at most 100,000, before "rejection" falls back on ``max(draw, mean)``, made non-increasing by isotonic
        regression.
    feedback_noise : float, default=0.0
        Standard deviation of normal noise added to each outcome before it is learnt (the paper's w).
    fit_kernel : bool, default=False
        After each batch of a log, choose the kernel's hyperparameters and the noise by marginal likelihood.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1`` and all are known from
        the start. By default materials are admitted as they appear in the log.
    capacity : float, default=1.0
        Polls per unit of time. Until the next `fit` the grid stays that of the capacity it was made for.
    random_state : None, int, RandomState or Generator, default=None
        Source of random numbers when learning from a log; `simulate` brings its own.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    amounts_ : ndarray of shape (n_materials,)
        Amounts held now, in polls per unit of time; they sum to `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    n_fallbacks_ : int
        Number of draws for which no admissible curve was found; if they are more than a tenth of those of a fit or
        simulation, a ConvergenceWarning says so.
    grid_ : ndarray of shape (n_points,)
        Amounts of the grid, in polls per unit of time.
    curves_ : ndarray of shape (n_materials, n_points)
        The curves held now: unit values at the amounts of the grid.
    kernel_, noise_ : kernel and float
        Covariance and noise variance in use.
    n_features_in_ : int
        Number of columns seen.

    References
    ----------
    Glimsdal and Granmo, "Gaussian process based optimistic knapsack sampling with applications to stochastic
    resource allocation", section 2; Pakman and Paninski, JCGS 2014, for the truncated sampler.

    Examples
    --------
    >>> from knapsolve import GPOKS, simulate
    >>> from knapsolve.environments import BernoulliEnvironment
    >>> learner = GPOKS()
    >>> history = simulate(learner, BernoulliEnvironment([.9, .1]), 1000, random_state=0)
    >>> bool(history.value[0, -1] > .87)  # of .91
    True
    >>> unit_value, error = learner.predict([[0, 10.0], [1, 1.1]], return_std=True)
    """

    _state_names = ("_counts", "_sums", "_squares", "_precision", "_information", "_weights", "_curves", "_fallbacks")
    _atomic_rows = 0
    _curves: np.ndarray  # and the others, by name: (n_materials or more, ...)

    def __init__(
        self,
        *,
        draw: str = "optimistic",
        monotone: bool = True,
        kernel: Any = None,
        noise: float = 0.1,
        scale: str = "auto",
        n_points: int = 99,
        smallest: float | None = None,
        sampler: str = "truncated",
        max_tries: int = 2000,
        feedback_noise: float = 0.0,
        fit_kernel: bool = False,
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.draw = draw
        self.monotone = monotone
        self.kernel = kernel
        self.noise = noise
        self.scale = scale
        self.n_points = n_points
        self.smallest = smallest
        self.sampler = sampler
        self.max_tries = max_tries
        self.feedback_noise = feedback_noise
        self.fit_kernel = fit_kernel
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Unit values: chances that polls after the given times find a change, as the posterior has them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2+)
            A material column and an elapsed column; materials never seen have the prior.
        return_std : bool, default=False
            Return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Posterior mean at the amount 1 / elapsed; beyond the grid's ends that of the end.
        std : ndarray of shape (n_samples,)
            Posterior standard deviation of the unit value, without the noise. Only if `return_std`.

        Raises
        ------
        NotFittedError
            If the learner has not seen any poll.
        ValueError, TypeError
            If `X` is not as described.
        """
        check_is_fitted(self)
        check_flag("return_std", return_std)
        X = as_table(X)
        if len(getattr(X, "shape", ())) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        values, gaps = check_poll_columns(X, self.material, self.elapsed)
        with self._lock:
            n, process = self.materials_.size, self._process
            codes = locate(values, self.materials_)
            with np.errstate(divide="ignore"):
                amounts = np.minimum(1 / gaps, process.amounts[-1])
            mean, variance = posterior_at(process, self._counts[:n], self._sums[:n], self.noise_, codes, amounts)
        return (mean, np.sqrt(variance)) if return_std else mean

    def sample_curves(self, material: Any, n_curves: int = 1, random_state: Any = None) -> np.ndarray:
        """Curves drawn from a material's posterior as the learner draws them; its state stays as it is.

        Parameters
        ----------
        material : identifier
            One of `materials_`.
        n_curves : int, default=1
            Number of curves, each some exact moves from the last one.
        random_state : None, int, RandomState or Generator, default=None
            Source of random numbers.

        Returns
        -------
        curves : ndarray of shape (n_curves, n_points)
            Unit values at the amounts of `grid_`.

        Raises
        ------
        NotFittedError
            If the learner has not seen any poll.
        ValueError, TypeError
            If a parameter is not as described, or the material is not known.
        """
        self._check_ready()
        n_curves = check_integer("n_curves", n_curves, low=1, high=10**8)
        generator = resolve_random_state(random_state)
        with self._lock:
            known = self.materials_.tolist()
            if material not in known:
                raise ValueError(f"material must be one of the {len(known)} in materials_, got {material!r}")
            code, state = known.index(material), {name[1:]: getattr(self, name) for name in self._state_names}
            copies = {key: rows.copy() if key == "fallbacks" else rows[[code, code]] for key, rows in state.items()}
            core = self._core_over(copies, 2)
        return core.sample(n_curves, generator)

    @property
    def n_fallbacks_(self) -> int:
        """Number of draws for which no admissible curve was found."""
        check_is_fitted(self)
        with self._lock:
            return int(self._fallbacks[0])

    @property
    def grid_(self) -> np.ndarray:
        """Amounts of the grid, (n_points,), in polls per unit of time."""
        check_is_fitted(self)
        return self._process.amounts

    @property
    def curves_(self) -> np.ndarray:
        """The curves held now, (n_materials, n_points)."""
        check_is_fitted(self)
        with self._lock:
            return self._curves[: self.materials_.size].copy()

    def _check_parameters(self) -> None:
        check_choice("draw", self.draw, DRAWS)
        check_choice("scale", self.scale, SCALES)
        check_choice("sampler", self.sampler, SAMPLERS)
        check_flag("monotone", self.monotone)
        check_flag("fit_kernel", self.fit_kernel)
        check_kernel("kernel", self.kernel)
        check_real("noise", self.noise, low=1e-9, high=1e9)
        check_real("feedback_noise", self.feedback_noise, low=0, high=1e6)
        check_integer("n_points", self.n_points, low=2, high=MOST_POINTS)
        check_integer("max_tries", self.max_tries, low=1, high=MOST_TRIES)
        if self.smallest is not None:
            check_real("smallest", self.smallest, low=1e-12 * self.capacity, high=0.5 * self.capacity)

    def _start(self, n: int) -> None:
        scale = self.scale if self.scale != "auto" else "linear" if n == 2 else "log"
        smallest = self.capacity * (10.0**-DECADES if n == 0 else 0.1 / n) if self.smallest is None else self.smallest
        self.kernel_ = default_kernel() if self.kernel is None else self.kernel
        self.noise_ = float(self.noise)
        self._key = int(self._generator.integers(2**63))
        self._form = (int(self.n_points), scale, float(smallest), float(self.capacity))
        self._process = make_grid_process(self.kernel_, *self._form, self._falls(), self.noise_)
        self._fallbacks = np.zeros(1, dtype=np.int64)
        for name, row in self._newcomer().items():
            setattr(self, name, np.zeros((0, *np.shape(row))))
        self._pairwise = False
        self._resize(n)
        self._pairwise = n == 2 and scale == "linear" and not self.monotone
        if n:
            self._core().draw_own(np.arange(n))

    @property
    def _row_axes(self) -> dict[str, int | None] | None:  # type: ignore[override]
        return None if self.fit_kernel else {"_fallbacks": None}

    def _falls(self) -> bool:
        return self.draw != "mean" and (self.monotone or self.draw == "optimistic")

    def _newcomer(self) -> dict[str, Any]:
        """The rows of a material never polled: it has the prior, and a flat curve until one is drawn."""
        r, m = self._process.features.shape
        return {
            "_counts": np.zeros(m),
            "_sums": np.zeros(m),
            "_squares": 0.0,
            "_precision": np.eye(r)[np.tril_indices(r)],
            "_information": np.zeros(r),
            "_weights": np.zeros(r),
            "_curves": -1e-8 * np.arange(m),
        }

    def _resize(self, n: int) -> None:
        """Room for n materials."""
        for name, row in self._newcomer().items():
            held = getattr(self, name)
            if n > held.shape[0]:
                rows = np.empty((n, *np.shape(row)))  # np.concatenate may turn a single row's order round
                rows[: held.shape[0]], rows[held.shape[0] :] = held, row
                setattr(self, name, rows)
        if self._pairwise and n > 2:
            self._pairwise, self._curves = False, np.minimum.accumulate(self._curves, axis=1)

    def _check_materials(self, materials: np.ndarray) -> None:
        grid, n = self._process.amounts, materials.size
        if n and not n * grid[0] <= self.capacity <= n * grid[-1]:
            name = "smallest" if self._form[1] == "log" else "n_points (or scale)"
            raise ValueError(
                f"{name} must leave {n} materials room on the grid: the capacity {self.capacity:g} must lie between "
                f"{n} times its ends, {grid[0]:g} and {grid[-1]:g}"
            )

    def _core(self, trades: bool = True) -> CurveGame:
        self._check_materials(self.materials_)
        if self._falls():
            check_falls(self.kernel_, self._process.lift)
        if self._pairwise and (self.monotone or self.capacity != self._form[-1]):
            raise ValueError(
                f"capacity and monotone must stay {self._form[-1]:g} and False until fit, for two materials that meet "
                f"where their curves cross, got {self.capacity!r} and {self.monotone!r}"
            )
        state = {name[1:]: getattr(self, name) for name in self._state_names}
        return self._core_over(state, self.materials_.size, trades)

    def _core_over(self, state: dict[str, np.ndarray], n_known: int, trades: bool = True) -> CurveGame:
        """The compiled learner over a state of n_known materials; without trades it knows no amounts."""
        process = self._process
        tries = int(self.max_tries) if self.sampler == "rejection" else 0
        draws = CurveDraws(process.features, process.lift, self.draw, bool(self.monotone), tries, Patience())
        return CurveGame(state, n_known, draws, process.amounts, process.edges, self.noise_, float(self.feedback_noise),
                         float(self.capacity), self._key, self._pairwise, trades)  # fmt: skip

    def _learn_polls(
        self, codes: np.ndarray, gaps: np.ndarray, changed: np.ndarray, commit: Callable[[], None]
    ) -> None:
        core = self._core(trades=False)
        core.learn(codes, gaps, changed, self._generator, bool if self.fit_kernel else commit)
        if self.fit_kernel:
            core = self._refit(commit)
        if core.concern:
            warnings.warn(core.concern, ConvergenceWarning, stacklevel=5)

    def _refit(self, commit: Callable[[], None]) -> CurveGame:
        """Choose the kernel's hyperparameters anew, draw every curve, and commit."""
        given = default_kernel() if self.kernel is None else self.kernel
        self.kernel_, self.noise_ = fit_hyperparameters(
            given, float(self.noise), self._process.positions, self._counts, self._sums, self._squares
        )
        self._process = make_grid_process(self.kernel_, *self._form, self._falls(), self.noise_)
        n, rows = self._counts.shape[0], np.tril_indices(self._process.features.shape[0])
        precision, self._information = posterior_sums(self._process.features, self._counts, self._sums, self.noise_)
        self._precision = np.ascontiguousarray(precision[:, *rows])
        self._weights = np.zeros_like(self._information)
        before, self.materials_ = self.materials_, np.arange(n)  # all of them, for the draws
        core = self._core()
        core.draw_own(np.arange(n))
        self.materials_ = before
        commit()
        return core
