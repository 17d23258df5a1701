"""H-TRAA: a hierarchy of twofold resource allocation automata; the TRAA is its two-material case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from knapsolve._core.automata import AutomataTree
from knapsolve._validation import check_choice, check_integer, check_real
from knapsolve.learners.base import PollLogLearner
from knapsolve.learners.traa import UPDATES

HIGHEST_EXPONENT = 40.0  # of the odds of a split
MAX_RESOLUTION = 2**22  # a table of shares has as many entries a depth


class HTRAA(PollLogLearner):
    """Hierarchy of Twofold Resource Allocation Automata (the TRAA itself for two materials).

    A balanced binary tree over the materials. Each inner node is an automaton in state ``s`` of
    ``1..resolution`` that gives its left subtree the share ``s / (resolution + 1)`` of what it gets itself.
    A poll moves every automaton on the material's path, each with its own random gate.

    It must choose the polls itself: it learns from how often the polls *at its own amounts* find a change, and does
    not look at the elapsed time. From a log polled some other way, learn by `OptimalPolicy` or `EstimatorPolicy`.

    Parameters
    ----------
    resolution : int or sequence of int, default=500
        Number of states of the automata: one number for all, or one per depth, root first.
    exponent : float, default=1.0
        Shares are ``s**e / (s**e + (resolution + 1 - s)**e)``; 1 is the papers' linear share.
    update : {"reward-penalty", "reward-inaction", "inaction-penalty"}, default="reward-penalty"
        Which polls move the automata: both kinds, those that found a change, or those that found none.
    n_materials : int, optional
        Number of materials, if identifiers are the integers 0 to ``n_materials - 1``, which then stand at the
        leaves in this order. By default a newcomer splits the leaf at which the balanced tree has room.
    capacity : float, default=1.0
        Polls per unit of time.
    random_state : None, int, RandomState or Generator, default=None
        Source of the gates' random numbers.
    material, elapsed : int or str, default=0 and 1
        Which columns of `X` hold the material and the time since its previous poll.

    Attributes
    ----------
    states_ : ndarray of shape (n_nodes,), int32
        State of the automaton at each inner node, in heap order: the root is 1, the children of k are 2k and
        2k + 1; 0 where there is none.
    amounts_ : ndarray of shape (n_materials,)
        Amounts held now, in polls per unit of time; they sum to `capacity`.
    materials_ : ndarray of shape (n_materials,)
        Identifiers in order of first appearance.
    n_features_in_ : int
        Number of columns seen.

    Notes
    -----
    Materials of similar worth should be neighbours: the order of the leaves does not change where the tree
    settles, but it does change how fast it gets there (the paper says that it does not matter).

    References
    ----------
    Granmo and Oommen, "Learning automata-based solutions to the optimal web polling problem modelled as a
    nonlinear fractional knapsack problem", EAAI 24(7), 2011, equations 1 to 3 and section 4.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from knapsolve import HTRAA
    >>> X = np.array([[0, 1.0], [1, 1.0], [0, 1.0], [1, 1.0]])
    >>> learner = HTRAA(resolution=9, n_materials=2, random_state=0).fit(X, [1, 0, 1, 0])
    >>> learner.amounts_.round(3).tolist()
    [0.8, 0.2]
    """

    _state_names = ("_blocks", "_leaf_of")

    def __init__(
        self,
        *,
        resolution: int | Sequence[int] = 500,
        exponent: float = 1.0,
        update: str = "reward-penalty",
        n_materials: int | None = None,
        capacity: float = 1.0,
        random_state: Any = None,
        material: int | str = 0,
        elapsed: int | str = 1,
    ):
        self.resolution = resolution
        self.exponent = exponent
        self.update = update
        self.n_materials = n_materials
        self.capacity = capacity
        self.random_state = random_state
        self.material = material
        self.elapsed = elapsed

    def _check_parameters(self) -> None:
        check_choice("update", self.update, UPDATES)
        check_real("exponent", self.exponent, low=0, high=HIGHEST_EXPONENT, low_open=True)
        self._resolutions(_depth(self.n_materials or 2))

    def _resolutions(self, depth: int) -> np.ndarray:
        """Resolution of each depth, int32: `depth` of them, or all that were given."""
        if np.ndim(self.resolution) == 0:
            return np.full(
                depth,
                check_integer("resolution", self.resolution, low=2, high=MAX_RESOLUTION),
                dtype=np.int32,
            )
        given = [check_integer("resolution", value, low=2, high=MAX_RESOLUTION) for value in self.resolution]  # type: ignore[union-attr]
        if len(given) < depth:
            raise ValueError(
                f"resolution must have an entry for each of {depth} depths, got {len(given)}: {self.resolution}"
            )
        return np.array(given, dtype=np.int32)  # all of them, so that newcomers change no draw

    @property
    def states_(self) -> np.ndarray:
        """States of the automata, (n_nodes,), in heap order; 0 where there is none."""
        check_is_fitted(self)
        with self._lock:
            n = self._leaf_of.size
            block, lane, level = _places(np.arange(1, 2 ** _depth(n)), n)
            states = self._blocks[block, lane]
        return np.concatenate([[0], np.where(states < self._bases[level, lane], states, 0)]).astype(np.int32)

    def _start(self, n: int) -> None:
        self._leaf_of = _balanced_leaves(n)
        self._bases = self._lanes_of_bases(n)
        self._blocks = _empty_blocks(self._bases, n)
        above, last = 2 ** max(0, _depth(n) - 1), self._leaf_of[self._leaf_of >= 2 ** _depth(n)]
        inner = np.concatenate([np.arange(1, above), last[::2] >> 1]) if n > 1 else np.arange(0)
        block, lane, level = _places(inner, n)
        self._blocks[block, lane] = self._bases[level, lane] // 2

    def _resize(self, n: int) -> None:
        before = self._leaf_of.size
        self._check_bases()
        if n > before:
            self._leaf_of = np.concatenate([self._leaf_of, np.zeros(n - before, dtype=np.int32)])
        if _levels(n) > _levels(before):  # a deeper tree fills its blocks in another way
            bases = self._lanes_of_bases(n)
            blocks = _empty_blocks(bases, n)
            block, lane, level = _places(np.arange(1, 2 ** _depth(before)), before)
            states = self._blocks[block, lane]
            there = states < self._bases[level, lane]
            block, lane, _ = _places(np.flatnonzero(there) + 1, n)
            blocks[block, lane] = states[there]
            self._blocks, self._bases = blocks, bases

    def _check_bases(self) -> None:
        if not np.array_equal(self._lanes_of_bases(self._leaf_of.size), self._bases):
            raise ValueError(f"resolution must stay as it was until fit, got {self.resolution}")

    def _lanes_of_bases(self, n: int) -> np.ndarray:
        """Resolution + 1 in each lane of the blocks on a path of a tree of n leaves, (blocks on a path, 8).

        1 in lane 0 and at depths above the root.
        """
        depth = _levels(n)
        base = self._resolutions(depth) + 1
        depths = np.add.outer(np.arange(-(-depth % 3), depth, 3), [0, 0, 1, 1, 2, 2, 2, 2])
        lanes = np.where(depths < 0, 1, base[np.maximum(depths, 0)]).astype(np.int32)
        lanes[:, 0] = 1
        return lanes

    def _core(self) -> AutomataTree:
        depth = _levels(self._leaf_of.size)
        self._check_bases()
        resolutions = self._resolutions(depth)
        largest = int(resolutions.max()) + 1
        form = (*resolutions.tolist(), self.exponent)
        share = self._keep("share", form, lambda: _share_tables(resolutions, self.exponent))
        known = self.materials_.size
        core = AutomataTree(self._blocks, self._leaf_of, known, depth, self._bases, largest, share,
                            self.capacity, self.exponent == 1, *UPDATES[self.update])  # fmt: skip
        if known < self._leaf_of.size:
            core.prepare_draws()  # admission looks up whose leaf it splits
        return core


def _shares(resolution: int, exponent: float) -> np.ndarray:
    """Share of the left child in states 0..resolution + 1."""
    s = np.arange(resolution + 2, dtype=float)
    if exponent == 1:
        return s / (resolution + 1)
    with np.errstate(divide="ignore"):
        odds = exponent * (np.log(resolution + 1 - s) - np.log(s))
    return 1 / (1 + np.exp(odds))


def _share_tables(resolutions: np.ndarray, exponent: float) -> np.ndarray:
    """Share of either child at each depth, (n_depths, 2, states 0..largest + 1); one entry where all are linear."""
    share = np.zeros((resolutions.size, 2, int(resolutions.max()) + 2 if exponent != 1 else 1))
    for level, resolution in enumerate(resolutions if exponent != 1 else []):
        left = _shares(int(resolution), exponent)
        share[level, :, : resolution + 2] = left, left[::-1]
    return share


def _depth(n: int) -> int:
    """Depth of a balanced tree of n leaves."""
    return max(0, int(n) - 1).bit_length()


def _levels(n: int) -> int:
    """Depths of automata that a tree of n leaves makes room for."""
    return max(1, _depth(n))


def _places(nodes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block, lane and block on the path of inner nodes, by heap index, of a tree of n leaves: csrc/share_tree.h."""
    depth = np.frexp(nodes)[1] - 1
    level, below = np.divmod(depth + -_levels(n) % 3, 3)
    place = nodes - (1 << depth.astype(np.int64))
    first = np.concatenate([[0], np.cumsum(_block_counts(n))])[level]
    return first + (place >> below), (1 << below) + place % (1 << below), level


def _block_counts(n: int) -> np.ndarray:
    """Blocks at each block of the path of a tree of n leaves."""
    depth = _levels(n)
    return np.maximum(1, 2 ** np.arange(-(-depth % 3), depth, 3).clip(0))


def _empty_blocks(bases: np.ndarray, n: int) -> np.ndarray:
    """States of a tree of n leaves without automata, (n_blocks, 8), at the start of a cache line."""
    counts = _block_counts(n)
    room = np.empty(8 * counts.sum() + 16, dtype=np.int32)
    blocks = room[-room.ctypes.data // 4 % 16 :][: 8 * counts.sum()].reshape(-1, 8)
    blocks[:] = np.repeat(bases, counts, axis=0)
    return blocks


def _balanced_leaves(n: int) -> np.ndarray:
    """Heap index of each of n leaves, in order; a subtree of m has ceil(m / 2) on its left."""
    nodes, sizes = np.ones(min(n, 1), dtype=np.int32), np.full(min(n, 1), n)
    while (sizes > 1).any():
        inner = sizes > 1
        repeats = np.where(inner, 2, 1)
        left = np.concatenate([[0], np.cumsum(repeats)[:-1]])
        deeper, halves = np.repeat(nodes, repeats), np.repeat(sizes, repeats)
        deeper[left[inner]] = 2 * nodes[inner]
        deeper[left[inner] + 1] = 2 * nodes[inner] + 1
        halves[left[inner]] = (sizes[inner] + 1) // 2
        halves[left[inner] + 1] = sizes[inner] // 2
        nodes, sizes = deeper, halves
    return nodes.astype(np.int32)
