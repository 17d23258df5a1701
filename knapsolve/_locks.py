"""Objects that threads may share: they take turns."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np


class Shared:
    """Mixin: `with self._lock:` around what must not happen twice at a time; one lock an object, re-entrant.

    Pickles and copies have no lock, and arrays of their own: nobody writes to them while they are written out.
    """

    __dict__: dict[str, Any]

    @property
    def _lock(self) -> Any:
        """The lock, made when first asked for; `setdefault` is atomic, so that all threads get the same one.

        Who replaces `__dict__` takes the lock before, and puts a dictionary in place that holds it.
        """
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = dict(super().__getstate__())  # type: ignore[call-overload]
            del state["_lock"]
            return {name: _own(value) for name, value in state.items()}


def _own(value: Any) -> Any:
    return value.copy(order="K") if isinstance(value, np.ndarray) else value
