"""How many robots should be active now, when the rates at which they and the server work must be learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.signal import lfilter
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from knapsolve._frames import as_table, column_names, is_frame
from knapsolve._validation import check_integer, check_real, refuse_stamps, shown
from knapsolve.robots.control import iterate_policy, warn_of_gap
from knapsolve.robots.problem import RobotProblem
from knapsolve.robots.result import RobotControl

MOST_EVALUATIONS = 10_000


class RobotController(BaseEstimator):
    """Controls how many workers feed a bounded queue, at rates learnt from an event log.

    Workers (robots) fetch pages and put them into a queue of limited size; one server works it off. Fetch and
    service times are taken as exponential with unknown rates. `fit` estimates the rates and solves for the
    policy of least average cost; `allocate` applies it.

    Parameters
    ----------
    n_robots : int, default 16
        Robots there are.
    buffer : int, default 10
        Places in the queue with the one in service, at least 2.
    starvation_weight : float, default 1.0
        Cost per unit time with an empty queue; a page lost to a full queue costs 1.
    half_life : float or None, default None
        Number of pages after which a record counts half, so that drifting rates are followed; None never
        forgets.
    fetch, service : int or str, default 0 and 1
        Columns of the event log, by number, or by name for a data frame.
    tol : float, default 1e-9
        Largest gap between the certified bounds of the average cost, in units of the estimated service rate.

    Attributes
    ----------
    arrival_rate_, service_rate_ : float
        Estimated pages per unit time that one active robot brings, and that the server finishes.
    gain_ : float
        Average cost per unit time of the policy, at these rates.
    policy_ : ndarray of shape (2, buffer + 1, n_robots + 1)
        Actions indexed [event, queue, active] as in `RobotControl`.
    control_ : RobotControl
        The solution with its bounds.
    totals_ : ndarray of shape (2, 2)
        Counts and times, of fetches and of services, with their weights by `half_life`.
    n_features_in_ : int
        Columns of the event log.

    References
    ----------
    J. Talim, Z. Liu, P. Nain and E. G. Coffman, "Controlling robots of Web search engines", 1999, Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve import RobotController
    >>> log = np.column_stack([np.full(50, 10.0), np.full(50, 1.0)])  # a fetch takes 10, a service 1
    >>> controller = RobotController(n_robots=16, buffer=5, starvation_weight=1.4).fit(log)
    >>> round(controller.gain_, 5)
    0.25924
    >>> controller.allocate(queue=0, active=8), controller.allocate(queue=5, active=8)
    (9, 8)
    """

    totals_: np.ndarray
    control_: RobotControl

    def __init__(
        self,
        n_robots: int = 16,
        buffer: int = 10,
        starvation_weight: float = 1.0,
        half_life: float | None = None,
        fetch: int | str = 0,
        service: int | str = 1,
        tol: float = 1e-9,
    ):
        self.n_robots = n_robots
        self.buffer = buffer
        self.starvation_weight = starvation_weight
        self.half_life = half_life
        self.fetch = fetch
        self.service = service
        self.tol = tol

    def fit(self, X: Any, y: Any = None) -> RobotController:
        """Forget everything, estimate the rates from an event log, and solve.

        Parameters
        ----------
        X : array-like or data frame of shape (n_pages, 2+)
            One row for each page in time order: how long one robot was active to bring it, and how long its
            service took, in one unit of time; NaN where that is not known (a page lost to a full queue has no
            service time).
        y : None
            Not used.

        Returns
        -------
        self : RobotController
            The fitted controller.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of its range, a time is negative or infinite, or a column holds no positive
            time; the controller is as it was.
        """
        return self._learn(X, fresh=True)

    def partial_fit(self, X: Any, y: Any = None) -> RobotController:
        """Go on learning from the next pages, and solve again.

        ``fit(A + B)`` equals ``fit(A)`` followed by ``partial_fit(B)``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_pages, 2+)
            As for `fit`.
        y : None
            Not used.

        Returns
        -------
        self : RobotController
            The controller.

        Raises
        ------
        ValueError, TypeError
            As for `fit`.
        """
        return self._learn(X, fresh=not hasattr(self, "totals_"))

    def allocate(self, queue: int, active: int) -> int:
        """Number of robots that should be active now.

        Ask after each arrival (with `active` not counting the robot that came) and after each departure. At
        most one robot more is activated at a time, as in the control problem.

        Parameters
        ----------
        queue : int
            Pages in the queue now, with the one in service, at most `buffer`.
        active : int
            Robots active now, at most `n_robots`.

        Returns
        -------
        int
            `active`, or one more.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        ValueError, TypeError
            If a parameter is out of its range, also one of the constructor's that was changed since.

        References
        ----------
        Talim, Liu, Nain and Coffman, 1999, Section 3.1.

        Examples
        --------
        >>> from knapsolve import RobotController
        >>> controller = RobotController(n_robots=4, buffer=3).fit([[2.0, 1.0], [2.0, 1.0]])
        >>> controller.allocate(queue=0, active=0)
        1
        """
        check_is_fitted(self, "control_")
        self._check_parameters()
        problem = self.control_.problem
        queue = check_integer("queue", queue, low=0, high=problem.buffer)
        active = check_integer("active", active, low=0, high=problem.n_robots)
        return active + int(self.control_.action[active, queue])

    def _learn(self, X: Any, fresh: bool) -> RobotController:
        """Check, count, solve; the fitted attributes change only after all of that went well."""
        keep, tol = self._check_parameters()
        before = {k: v for k, v in self.__dict__.items() if k in ("n_features_in_", "feature_names_in_")}
        try:
            times = self._times(X, fresh)
            totals = self._count(times, np.zeros((2, 2)) if fresh else self.totals_, keep)
            rates = totals[0] / totals[1]
            problem = RobotProblem.checked(self.n_robots, self.buffer, rates[0], self.starvation_weight, rates[1])
        except (ValueError, TypeError):
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise
        control = iterate_policy(problem, tol, MOST_EVALUATIONS)
        self.totals_ = totals
        self.arrival_rate_, self.service_rate_ = float(rates[0]), float(rates[1])
        self.control_, self.policy_ = control, control.policy
        self.gain_ = control.gain
        warn_of_gap(control, tol, stacklevel=4)
        return self

    def _check_parameters(self) -> tuple[float, float]:
        """How much of what is known an event leaves, and the tolerance; or raise."""
        keep = 1.0
        if self.half_life is not None:
            keep = 0.5 ** (1.0 / check_real("half_life", self.half_life, low=0.0, low_open=True))
        tol = check_real("tol", self.tol, low=0.0, low_open=True)
        RobotProblem.checked(self.n_robots, self.buffer, 1.0, self.starvation_weight, 1.0)
        return keep, tol

    def _times(self, X: Any, fresh: bool) -> np.ndarray:
        """Fetch and service times (n_pages, 2) of an event log."""
        table = as_table(X)
        if is_frame(table):
            for name in column_names(table):
                refuse_stamps(f"X[{name!r}]", table[name])
        else:
            refuse_stamps("X", table)
        data = validate_data(
            self,
            table,
            reset=fresh,
            dtype=np.float64,
            ensure_min_features=2 if fresh else 1,
            ensure_all_finite="allow-nan",
        )
        names = list(getattr(self, "feature_names_in_", ()))
        columns = []
        for role, key in (("fetch", self.fetch), ("service", self.service)):
            if isinstance(key, str):
                if key not in names:
                    raise ValueError(f"{role} must name or number a column of X, got {key!r}; X has {names}")
                columns.append(names.index(key))
            else:
                columns.append(check_integer(role, key, low=-data.shape[1], high=data.shape[1] - 1))
        times = data[:, columns]
        if (times < 0.0).any():
            where = tuple(np.argwhere(times < 0.0)[0])
            raise ValueError(f"Negative values in data: X must hold times, got {shown(times[where])} in row {where[0]}")
        return times

    @staticmethod
    def _count(times: np.ndarray, totals: np.ndarray, keep: float) -> np.ndarray:
        """Counts and times (2, 2) after these pages, each page weighing the earlier ones down by `keep`."""
        known = ~np.isnan(times)
        rows = np.stack([known, np.where(known, times, 0.0)], axis=1)  # (n_pages, count or time, fetch or service)
        ends = lfilter([1.0], [1.0, -keep], rows, axis=0, zi=keep * totals[None])[0][-1]
        for role, count, total in zip(("fetch", "service"), *ends, strict=True):
            if not total > 0.0:
                raise ValueError(f"{role} must hold a positive time, got none in X")
            check_real(f"the mean of {role} times", total / count, low=1e-200, high=1e200)
        return ends

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        return tags
