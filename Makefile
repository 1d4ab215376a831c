# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench soak lock clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install -q -c requirements.lock -e '.[plots]'
	@touch $@

.venv/.setup: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/python -m pip install -q -c requirements.lock -e '.[plots,dev]'
	@touch $@ .venv/.demo

setup: .venv/.setup ## create .venv with every extra

demo: .venv/.demo ## run the main job on made-up data
	$(BIN)/discreet demo

test: .venv/.setup ## what it takes to trust a change
	$(BIN)/python -m pytest -q -n 2 -m 'not soak'

check: .venv/.setup ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: .venv/.setup ## the long versions of statistical, fault and audit tests
	$(BIN)/python -m pytest -q -m soak

.venv-bench/.setup: pyproject.toml requirements-bench.lock
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install -q -c requirements-bench.lock -e '.[bench]'
	@touch $@

bench: .venv-bench/.setup ## us and the named peers on the same data, ratios
	.venv-bench/bin/python benchmarks/noise.py
	.venv-bench/bin/python benchmarks/accounting.py

lock: .venv/.setup ## pin every dependency again
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --all-extras --no-emit-package discreet pyproject.toml -o requirements.lock

clean: ## remove what the other targets made
	rm -rf .venv .venv-bench build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
