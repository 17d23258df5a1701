"""Objects that threads may share: they take turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

OF_THE_OBJECT = ("_lock", "_in_turn")  # attributes that copies and pickles leave behind


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
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = dict(super().__getstate__())  # type: ignore[call-overload]
            return {name: _own(value) for name, value in state.items() if name not in OF_THE_OBJECT}


def _own(value: Any) -> Any:
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
