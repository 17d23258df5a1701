"""The wheel as users get it: its tag, what is in it, and that it runs in empty environments.

`make wheel` builds it (or finds it built). Needs make and a package index, through pip's own configuration.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.sizes import slow_and_full

ROOT = Path(__file__).parents[1]
SMOKE_CHECK = Path(__file__).with_name("smoke_check.py")
HERE = "{}.{}".format(*sys.version_info)  # whatever else there is
# The oldest releases that pyproject.toml allows, on the oldest Python.
OLDEST = ["numpy==1.26.*", "scipy==1.13.*", "scikit-learn==1.6.*", "joblib==1.4.*"]
OFFLINE = re.compile("NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="needs the source tree"),
    pytest.mark.skipif(shutil.which("make") is None, reason="needs make"),
]


def call(*command: object, **options) -> str:
    """Return a command's output; skip if the package index is out of reach, fail with what it said."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH")}
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, **options
    )
    if done.returncode and OFFLINE.search(done.stderr):
        pytest.skip("no package index within reach")
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def python_of(version: str) -> Path | None:
    """An interpreter of that version that runs, from PATH or from pyenv's folder."""
    name = f"python{version}"
    candidates = [sys.executable, shutil.which(name), *Path.home().glob(f".pyenv/versions/*/bin/{name}")]
    test = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    for candidate in filter(None, candidates):
        if subprocess.run([str(candidate), "-c", test], capture_output=True).returncode == 0:
            return Path(candidate)
    return None


def empty_environment(version: str, folder: Path) -> Path:
    """The Python of a new environment with nothing in it, not even pip."""
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    call(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


def install(python: Path, *what: object) -> None:
    call(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-input", "--no-compile", *what)


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder with one wheel and one sdist of the sources as they are now; tests beside these wait for it."""
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / ".wheel-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call("make", "wheel", cwd=ROOT)
    return ROOT / "dist"


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(built) -> Path:
    (path,) = built.glob("*.tar.gz")
    return path


def test_one_wheel_serves_every_python_on_any_linux_since_glibc_2_17(wheel):
    assert re.fullmatch(r"knapsolve-[\d.]+-cp311-abi3-(manylinux\w+\.)*manylinux_2_17_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        tags = re.findall(r"^Tag: (\S+)", archive.read(name).decode(), re.MULTILINE)
    assert tags
    assert all(tag.startswith("cp311-abi3-manylinux") for tag in tags)


def test_wheel_holds_the_package_its_data_and_types_but_no_sources(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {n for n in archive.namelist() if not n.endswith("/") and ".dist-info/" not in n}
    package = ROOT / "knapsolve"
    wanted = {
        str(p.relative_to(ROOT)) for pattern in ("*.py", "*.npz", "py.typed") for p in package.rglob(pattern)
    }
    wanted |= {str(p.relative_to(ROOT).with_suffix(".abi3.so")) for p in package.rglob("*.pyx")}
    wanted.add("knapsolve/_core/_cyutility.abi3.so")  # what Cython's modules share
    assert held == wanted


def test_wheel_tells_nothing_of_the_machine_that_built_it(wheel):
    python = sysconfig.get_paths()
    places = {str(ROOT), str(Path.home()), tempfile.gettempdir(), python["include"], python["purelib"]}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            found = [place for place in places if f"{place.rstrip('/')}/".encode() in archive.read(name)]
            assert not found, f"{name} speaks of {found}"


def test_sdist_holds_every_source_and_nothing_generated(sdist):
    with tarfile.open(sdist) as archive:
        held = {n.partition("/")[2] for n in archive.getnames()}
    wanted = {
        str(p.relative_to(ROOT))
        for folder, pattern in (("csrc", "*.[ch]"), ("knapsolve", "*.py"), ("knapsolve", "*.p[yx]*"))
        for p in (ROOT / folder).rglob(pattern)
        if "__pycache__" not in p.parts
    }
    assert wanted | {"tests/test_architecture.py", "LICENSE", "CHANGELOG.md"} <= held
    assert not [n for n in held if re.match(r"(build|dist)/|knapsolve/.*\.(c|so|pyc)$", n)]


@pytest.mark.parametrize("version", slow_and_full(sorted({"3.11", "3.13", HERE}), sorted({"3.12"} - {HERE})))
def test_wheel_runs_in_an_empty_environment(version, wheel, tmp_path):
    python = empty_environment(version, tmp_path / "environment")
    install(python, wheel)
    said = call(python, "-I", SMOKE_CHECK, cwd=tmp_path)
    assert "compiled modules" in said


def test_wheel_runs_on_the_oldest_releases_it_allows(wheel, tmp_path):
    python = empty_environment("3.11", tmp_path / "environment")
    install(python, wheel, *OLDEST)
    assert "numpy 1.26" in call(python, "-I", SMOKE_CHECK, cwd=tmp_path)


@pytest.mark.full_size
def test_sdist_installs_with_this_machines_compiler(sdist, tmp_path):
    python = empty_environment("{}.{}".format(*sys.version_info), tmp_path / "environment")
    install(python, sdist)
    assert "compiled modules" in call(python, "-I", SMOKE_CHECK, cwd=tmp_path)
