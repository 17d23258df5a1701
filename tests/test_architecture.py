"""The arrows of the layout point one way; every other import or #include fails here."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "knapsolve"
if not PACKAGE.exists():  # the installed wheel is under test: there are no sources to read
    pytest.skip("needs the source tree", allow_module_level=True)

LEAVES = {
    "history",
    "_validation",
    "exceptions",
    "_arrays",
    "_copies",
    "_locks",
    "_frames",
    "_identifiers",
    "_progress",
    "_interrupt",
    "_startup",
}  # small helpers that anything may use
MIDDLE = {
    "nefk",
    "restless",
    "robots",
    "mdp",
    "rates",
    "processes",
    "schedulers",
    "environments",
    "criteria",
    "datasets",
    "robot_static",
}
LEVELS = [
    {"_core"},
    MIDDLE,
    {"learners"},
    {"_ensembles", "_replication"},
    {"simulation"},
    {"displays", "reproduce", "replay"},
    {"cli", "__main__"},
]
# Allowed inside one level: solver rooms that stand on one another
WITHIN = {
    ("robots", "mdp"),
    ("rates", "nefk"),
    ("criteria", "nefk"),
    ("nefk", "criteria"),
    ("reproduce", "displays"),
    ("__main__", "cli"),
    ("reproduce", "replay"),
    ("replay", "displays"),
    ("environments", "datasets"),
}


def level(room: str) -> int:
    for depth, rooms in enumerate(LEVELS):
        if room in rooms:
            return depth
    raise AssertionError(f"knapsolve/{room} has no place in the layout: add it to LEVELS by argument")


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported_rooms(path: Path) -> set[str]:
    """First-level rooms of knapsolve that a .py, .pyx or .pxd file imports or cimports."""
    text = path.read_text()
    rooms: set[str] = set()
    if path.suffix == ".py":
        package = ("knapsolve", *path.relative_to(PACKAGE).parts[:-1])
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                base = list(package[: len(package) - node.level + 1]) if node.level else []
                full = base + (node.module.split(".") if node.module else [])
                if full[:1] == ["knapsolve"]:
                    rooms |= {full[1]} if len(full) > 1 else {alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                rooms |= {a.name.split(".")[1] for a in node.names if a.name.startswith("knapsolve.")}
    else:
        for name in re.findall(r"^\s*(?:from|cimport|import)\s+knapsolve\.(\w+)", text, re.MULTILINE):
            rooms.add(name)
    return rooms


SOURCES = sorted(p for suffix in ("*.py", "*.pyx", "*.pxd") for p in PACKAGE.rglob(suffix))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    room = room_of(path)
    if room in {"__init__"} | LEAVES:
        return
    for other in imported_rooms(path) - LEAVES - {room}:
        lower = level(other) < level(room) or (room, other) in WITHIN
        assert lower, f"{path.relative_to(ROOT)} imports knapsolve.{other}: the arrow points the wrong way"


@pytest.mark.parametrize("path", sorted((PACKAGE / "learners").glob("*.py")), ids=lambda p: p.name)
def test_learners_never_import_each_other(path):
    if path.name == "__init__.py":
        return
    siblings = re.findall(
        r"^\s*from\s+(?:\.|knapsolve\.learners\.)([a-z]\w*)\s+import", path.read_text(), re.MULTILINE
    )
    assert not set(siblings) - {"base", "crawl_base", "policy_base", "traa"}  # what they share


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_core_reaches_csrc(path):
    headers = set(re.findall(r'cdef extern from "([\w/]+\.h)"', path.read_text()))
    ours = {header for header in headers if (ROOT / "csrc" / header).exists()}
    assert not ours or room_of(path) == "_core"


@pytest.mark.parametrize("path", sorted((ROOT / "csrc").glob("*.[ch]")), ids=lambda p: p.name)
def test_csrc_knows_nothing_of_python_and_never_allocates(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)
    assert "Python.h" not in text
    assert not re.search(r"\b(malloc|calloc|realloc|printf)\s*\(", text)
