"""What a compiled view checks before it trusts the arrays that it was given. O(1)."""

from __future__ import annotations


def check_shapes(**pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Raise for the first array whose shape (the first of its pair) is not the one wanted (the second)."""
    for name, (shape, wanted) in pairs.items():
        if shape != wanted:
            raise ValueError(f"{name} must have shape {wanted}, got {shape}")


def check_room(name: str, room: int, needed: int) -> None:
    """Raise if an array has fewer rows than there are materials."""
    if room < needed:
        raise ValueError(f"{name} must have room for the {needed} materials of materials_, got {room}")


def check_count(name: str, count: int, most: int) -> None:
    """Raise unless 1 <= count <= most."""
    if not 1 <= count <= most:
        raise ValueError(f"{name} must be in [1, {most}], got {count}")
