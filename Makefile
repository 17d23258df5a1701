# Everything runs inside .venv, which `make` creates; set PYTHON to choose the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := $(shell find knapsolve csrc -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -path 'csrc/*' -o -name '*.h')

.PHONY: demo test test-slow lint benchmark wheel docs clean
.DEFAULT_GOAL := test

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "setuptools>=77" "Cython>=3.1" "numpy>=2"
	touch $@

$(VENV)/.built: $(VENV)/.tools setup.py $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[test,lint]"
	touch $@

demo: $(VENV)/.built  ## replay the bundled Debian upload histories; ends with a table and a picture
	$(BIN)/knapsolve replay debian --capacity 20/day --plot output/demo.png

test: $(VENV)/.built  ## the default test suite
	$(BIN)/python -m pytest -q

test-slow: $(VENV)/.built  ## the long statistical checks
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.built
	$(BIN)/ruff check .
	$(BIN)/cython-lint knapsolve
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist wheelhouse *.egg-info .benchmarks output
	find knapsolve \( -name '*.so' -o -name '*.c' \) -delete
