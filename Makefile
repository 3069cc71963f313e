# `make demo` and `make test` make what they need: a virtual environment, packages, weights.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint format bench clean

help:
	@echo "make demo    survey a small embedded model and write a report (first time: about 4 minutes, 0.9 GB of disk)"
	@echo "make test    linters, types and all tests"
	@echo "make lint    linters and types alone"
	@echo "make bench   measure the engine beside a bare HTTP loop (needs nginx)"

$(VENV)/base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "isogloss needs Python 3.11 or newer, this is $$($(PYTHON) --version); try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[build,gguf]'
	@touch $@

# One version of PyTorch, so that the tests of hf/ run on the same everywhere.
$(VENV)/dev: $(VENV)/base
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[build,gguf,hf,inspect,dev]'
	@touch $@

demo: $(VENV)/base
	$(BIN)/isogloss demo

test: lint
	sh tools/test_needs.sh $(BIN)
	$(BIN)/pytest --numprocesses 2

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/base
	$(BIN)/python bench/engine.py

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
