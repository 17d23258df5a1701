"""Identifiers turned into codes, and found again."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from typing import Any

import numpy as np


def factorize(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) intp of `values` and the distinct values, both in order of first appearance.

    Two values are one identifier where Python's ``==`` says so. Mixed kinds, and floats that stand for several
    integers, are refused.
    """
    codes, uniques = _factorize(values)
    if uniques.dtype == object:
        first = {identifier_kind(value): value for value in uniques[::-1].tolist()}
        if len(first) > 1:
            raise _mixed(*list(first.values())[:2])
    elif uniques.dtype.kind == "f":
        digits = min(53, np.finfo(uniques.dtype).nmant + 1)
        if (np.abs(uniques) >= uniques.dtype.type(2**digits)).any():
            raise ValueError(
                f"material identifiers of 2**{digits} and more must not be {uniques.dtype}, which rounds them, got "
                f"{float(np.abs(uniques).max())!r}: pass integers or strings, in a data frame or an object array"
            )
    return codes, uniques


def identify(values: Any, role: str = "material") -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) intp and distinct values as `factorize` makes them, where none may be missing."""
    codes, uniques = factorize(values)
    if (codes < 0).any():
        raise ValueError(f"{role} must not hold missing identifiers (None or NaN)")
    return codes, uniques


class Positions:
    """Where each known identifier stands. Numbers known from the start lie in order, all others are hashed.

    Order takes 8 or 16 bytes an identifier and hashing about a hundred; `in_order` says whether it may be used. It may
    not for floats of 2**53 and more, as integers that others were joined to may be: numpy would round what it finds.
    """

    def __init__(self, known: np.ndarray, in_order: bool = True) -> None:
        self._ordered, self._order = known[:0], None
        self._hashed: dict[Hashable, int] = {}
        exact = known.dtype.kind in "iu" or (known.dtype.kind == "f" and not (np.abs(known) >= 2.0**53).any())
        if in_order and exact:
            ascends = bool((known[1:] > known[:-1]).all())
            self._order = None if ascends else np.argsort(known, kind="stable")
            self._ordered = known.copy() if self._order is None else known[self._order]
        else:
            self.extend(known)

    def __len__(self) -> int:
        return self._ordered.size + len(self._hashed)

    def compare(self, dtype: np.dtype) -> bool:
        """Whether identifiers of a dtype can be found."""
        return self._ordered.size == 0 or _compare_exactly(self._ordered.dtype, dtype)

    def find(self, identifiers: np.ndarray) -> np.ndarray:
        """Positions (n,) of distinct identifiers, -1 of those not known. O(n log(known)) for numbers."""
        places = np.full(identifiers.size, -1, dtype=np.intp)
        if self._ordered.size:
            with np.errstate(invalid="ignore", over="ignore"):
                alike = identifiers.astype(self._ordered.dtype)  # else numpy would turn all that are known into others
            at = np.minimum(np.searchsorted(self._ordered, alike), self._ordered.size - 1)
            here = np.flatnonzero(self._ordered[at] == identifiers)
            places[here] = at[here] if self._order is None else self._order[at[here]]
        if self._hashed:
            missing = np.flatnonzero(places < 0)
            places[missing] = [self._hashed.get(each, -1) for each in identifiers[missing].tolist()]
        return places

    def extend(self, newcomers: np.ndarray) -> None:
        """Give identifiers that are not known the next positions."""
        size = len(self)
        self._hashed.update(zip(newcomers.tolist(), range(size, size + newcomers.size)))

    def shrink(self, size: int) -> None:
        """Take out all that came after the first `size`."""
        while len(self) > size:
            self._hashed.popitem()


def _compare_exactly(one: np.dtype, other: np.dtype) -> bool:
    """Whether numpy compares such numbers as Python does. Floats that are identifiers are below 2**53."""
    return one.kind in "iuf" and other.kind in "iuf" and {one.kind, other.kind} != {"i", "u"}


def find_codes(
    values: Any, known: np.ndarray, positions: Positions | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Positions]:
    """Codes (n,) of identifiers, their distinct values, and positions of these in `known`, -1 of those not there.

    The last is what found them: `positions`, or new ones where those are missing or do not compare such values.
    """
    codes, uniques = identify(values)
    if positions is None or not positions.compare(uniques.dtype):
        positions = Positions(known, _compare_exactly(known.dtype, uniques.dtype))
    return codes, uniques, positions.find(uniques), positions


def locate(values: Any, known: np.ndarray, positions: Positions | None = None) -> np.ndarray:
    """Position (n,) intp of each identifier in `known`; `known.size` for those that are not there."""
    codes, _, places, _ = find_codes(values, known, positions)
    places[places < 0] = known.size
    return places[codes]


def encode(
    values: Any, known: np.ndarray, positions: Positions | None
) -> tuple[np.ndarray, np.ndarray, Positions | None]:
    """Codes (n,) of identifiers, all identifiers known with them in order of first appearance, and their positions.

    The positions of `known` are made when needed and extended in place; None if there are none yet.
    """
    codes, uniques, place, found = find_codes(values, known, positions)
    if known.size == 0:
        return codes, uniques, positions
    if identifier_kind(known[0]) != identifier_kind(uniques[0]):
        raise TypeError(f"material identifiers must stay of one kind: {known.dtype} known, {uniques.dtype} given")
    new = place < 0
    if new.any():
        place[new] = np.arange(known.size, known.size + np.count_nonzero(new))
        found.extend(uniques[new])
        known = _joined(known, uniques[new])
    return place[codes], known, found


def _joined(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """All identifiers, as Python's numbers where numpy has no kind of number that holds both parts exactly."""
    joined = np.concatenate([known, new])
    if joined.dtype.kind == "f" and {known.dtype.kind, new.dtype.kind} & set("iu"):
        exact = known.tolist() + new.tolist()
        if joined.tolist() != exact:
            joined = np.empty(len(exact), dtype=object)
            joined[:] = exact
    return joined


def identifier_kind(value: Any) -> str:
    """What may not be mixed among identifiers."""
    for kind, types in (("str", str), ("bytes", bytes), ("number", (numbers.Number, np.bool_))):
        if isinstance(value, types):
            return kind
    return "object"


def _mixed(one: Any, other: Any) -> TypeError:
    return TypeError(f"material identifiers must be of one kind, got {one!r} beside {other!r}")


def _factorize(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Through Arrow's hash tables where pyarrow is installed (fast for strings), else by sorting."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        dense = _factorize_by_table(values)
        if dense is not None:
            return dense
    try:
        import pyarrow
    except ImportError:
        return _factorize_by_sorting(np.asarray(values))
    if _holds_inner_nul(values):
        return _factorize_by_sorting(values)
    try:
        native = values.to_arrow() if hasattr(values, "to_arrow") else values
        chunked = native if isinstance(native, pyarrow.ChunkedArray) else pyarrow.array(native, from_pandas=True)
        if pyarrow.types.is_dictionary(chunked.type):  # categories, in an order of their own
            chunked = chunked.cast(chunked.type.value_type)
        if pyarrow.types.is_floating(chunked.type):  # Arrow tells -0.0 from 0.0
            chunked = pyarrow.array(chunked.to_numpy(zero_copy_only=False) + 0.0, from_pandas=True)
        encoded = chunked.dictionary_encode()
    except (
        pyarrow.ArrowException,
        TypeError,
        ValueError,
        OverflowError,
    ):  # nothing that Arrow has a type for
        return _factorize_by_sorting(np.asarray(values))
    if pyarrow.types.is_binary(chunked.type) and not hasattr(native, "type"):  # Arrow takes text for bytes
        first = {identifier_kind(value): value for value in native if value is not None}
        if "str" in first:
            raise _mixed(first["str"], first["bytes"])
    if isinstance(encoded, pyarrow.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks else pyarrow.array([]).dictionary_encode()
        if isinstance(encoded, pyarrow.ChunkedArray):
            encoded = encoded.unify_dictionaries().chunk(0)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return codes, _natural(encoded.dictionary.to_numpy(zero_copy_only=False))


def _factorize_by_table(values: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Whole numbers of a narrow range through a table with an entry for each; None for any others."""
    if values.ndim != 1 or values.size == 0:
        return None
    low, high = values.min(), values.max()
    if not (abs(float(low)) < 2.0**53 and abs(float(high)) < 2.0**53 and float(high) - float(low) < 2 * values.size):
        return None
    places = (values - low).astype(np.intp)
    if values.dtype.kind == "f" and not (places == values - low).all():
        return None
    first: np.ndarray = np.full(int(places.max()) + 1, -1, dtype=np.intp)
    first[places[::-1]] = np.arange(values.size - 1, -1, -1)  # the last to write is the first to appear
    present = np.flatnonzero(first >= 0)
    present = present[np.argsort(first[present])]
    uniques = values[first[present]]
    first[present] = np.arange(present.size)  # the table of codes now
    return first[places], uniques + 0.0 if values.dtype.kind == "f" else uniques.copy()


def _holds_inner_nul(values: Any) -> bool:
    """Whether a numpy array of text holds a NUL before a text's end: Arrow would cut the text there."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "US" or values.size == 0:
        return False
    unit = np.uint32 if values.dtype.kind == "U" else np.uint8
    letters = np.ascontiguousarray(values).view(unit).reshape(values.size, -1)
    return bool(((letters[:, :-1] == 0) & (letters[:, 1:] != 0)).any())


def _factorize_by_sorting(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.dtype == object:
        order: dict[Any, int] = {}
        try:
            gone = (v is None or v != v for v in values)
            codes = np.fromiter(
                (-1 if missing else order.setdefault(v, len(order)) for v, missing in zip(values, gone)),
                dtype=np.intp,
                count=values.size,
            )
        except (TypeError, ArithmeticError) as error:  # a signalling NaN is neither
            raise TypeError("material identifiers must be hashable and comparable") from error
        uniques = np.empty(len(order), dtype=object)
        uniques[:] = list(order)
        return codes, _natural(uniques)
    if values.dtype.kind == "f":
        values = values + 0.0  # no -0.0
    uniques, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(uniques.size, dtype=np.intp)
    order_of_first = np.argsort(first, kind="stable")
    rank[order_of_first] = np.arange(uniques.size)
    codes = rank[inverse.ravel()]
    if values.dtype.kind == "f":
        codes[np.isnan(values).ravel()] = -1
    return codes, uniques[order_of_first]


def _natural(values: np.ndarray) -> np.ndarray:
    """Identifiers as a numpy array of strings where all are strings and none ends in NUL, else as they are."""
    if values.dtype == object and values.size and all(isinstance(v, str) and v[-1:] != "\0" for v in values):
        return values.astype(str)
    return values
