"""Objects that threads may share: they take turns."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np

OF_THE_OBJECT = ("_lock", "_in_turn", "_shortlist", "_kept", "_lookup")  # what copies and pickles leave behind


class Shared:
    """Mixin: `with self._lock:` around what must not happen twice at a time; one lock an object, re-entrant.

    Pickles and copies have no lock, and arrays of their own: nobody writes to them while they are written out.
    """

    __dict__: dict[str, Any]

    @contextmanager
    def _whole_turn(self) -> Iterator[None]:
        """The lock, held for a simulation: its callbacks may read this object, but do nothing that refuses to."""
        with self._lock:
            self._refuse_in_turn()
            self.__dict__["_in_turn"] = True
            try:
                yield
            finally:
                self.__dict__.pop("_in_turn", None)

    def _refuse_in_turn(self) -> None:
        """Raise if this thread is in the middle of a simulation with this object."""
        if "_in_turn" in self.__dict__:
            raise RuntimeError(f"{type(self).__name__} is in a simulation: until its end it can only be read")

    @property
    def _lock(self) -> Any:
        """The lock, made when first asked for; `setdefault` is atomic, so that all threads get the same one.

        Who replaces `__dict__` takes the lock before, and puts a dictionary in place that holds it.
        """
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", self._new_lock())

    def _new_lock(self) -> Any:
        _holders.add(self)
        return threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = dict(super().__getstate__())  # type: ignore[call-overload]
            return {name: _own(value) for name, value in state.items() if name not in OF_THE_OBJECT}


_holders: WeakSet[Shared] = WeakSet()  # objects whose lock has been asked for


def _renew() -> None:
    """In a forked child: leave locks behind that other threads held, for they are not there to release them."""
    for shared in list(_holders):
        lock = vars(shared).get("_lock")
        if lock is not None and not lock._is_owned():
            for name in OF_THE_OBJECT:
                vars(shared).pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _own(value: Any) -> Any:
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
