# Every target works from a clean clone: it makes .venv and installs what it needs, once.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The stamp carries the reason to install again: a changed dependency list, and nothing else.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Bayplan needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing Bayplan and its tools into $(VENV) (about a minute, once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# The end-to-end tests have clients of others besides.
E2E_STAMP := $(VENV)/.installed-e2e
$(E2E_STAMP): $(STAMP)
	@echo "Installing the clients of the end-to-end tests ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[e2e]'
	@touch $@

.PHONY: help
help: ## List every target.
	@grep -hE '^[a-z][a-z0-9-]*:.*?## ' $(MAKEFILE_LIST) | sort | awk -F ':.*?## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: install
install: $(STAMP) ## Make the virtual environment; .venv/bin/bayplan is the command.

# The build with machine code, beside the source and out of its way: PYTHONPATH=build/compiled runs it.
COMPILED := build/compiled
COMPILED_STAMP := $(COMPILED)/.built
$(COMPILED_STAMP): $(STAMP) tools/compiled_build.py $(shell find src -name '*.py')
	@command -v cc > /dev/null || { echo "Compiling needs a C compiler named 'cc'; Debian has it in gcc."; exit 1; }
	@echo "Compiling what every pod goes through (three minutes) ..."
	@rm -rf $(COMPILED)
	@BAYPLAN_COMPILE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(COMPILED) .
	@touch $@

.PHONY: compiled
compiled: $(COMPILED_STAMP) ## Compile the busiest modules into build/compiled; 'make bench-e2e' measures that build.

.PHONY: test-compiled
test-compiled: $(COMPILED_STAMP) ## Run the tests on the compiled build.
	@echo "Running the tests on the compiled build ..."
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

.PHONY: demo
demo: $(STAMP) ## Tell how a plugin places a pod, on a cluster in one process.
	@$(BIN)/bayplan demo

.PHONY: test
test: $(STAMP) ## Run the tests, with coverage of the core.
	@echo "Running the tests ..."
	@$(BIN)/python -m pytest -n auto --cov --cov-report=term $(PYTEST_ARGS)

.PHONY: e2e
e2e: control-plane ## Run the tests against a real control plane (E2E_ARGS="-k kubectl" narrows it).
	@echo "Running the end-to-end tests ..."
	@$(BIN)/python -m pytest tests/e2e -m "e2e and not family" --reruns 2 $(E2E_ARGS)

.PHONY: e2e-family
e2e-family: control-plane ## Compare gangs and quotas with the original scheduler-plugins, built where it is missing.
	@$(BIN)/python -m tests.e2e.family_harness
	@$(BIN)/python -m pytest tests/e2e -m family --reruns 2 $(E2E_ARGS)

.PHONY: control-plane
control-plane: $(E2E_STAMP) ## Find etcd and Kubernetes, or build them (minutes, once).
	@$(BIN)/python -m tests.e2e.binaries

.PHONY: check
check: $(STAMP) ## Check format, lint, types and layers.
	@echo "Format ..." && $(BIN)/ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@echo "Lint ..."   && $(BIN)/ruff check --quiet .
	@echo "Types ..."  && $(BIN)/mypy
	@echo "Layers ..." && $(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache

.PHONY: conformance
conformance: $(STAMP) ## Judge Bayplan against the recordings of kube-scheduler.
	@$(BIN)/bayplan conformance tests/parity/golden/*.jsonl.gz

.PHONY: format
format: $(STAMP) ## Format the code and mend what the linter can mend.
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

.PHONY: bench
bench: $(STAMP) ## Measure decisions per second (BENCH_ARGS="--nodes 500" narrows it).
	@$(BIN)/python -m bench $(BENCH_ARGS)
	@$(BIN)/python -m bench.apiserver $(BENCH_API_ARGS)
	@$(BIN)/python -m bench.extender

.PHONY: bench-e2e
bench-e2e: control-plane $(if $(shell command -v cc),$(COMPILED_STAMP)) ## Measure Bayplan beside kube-scheduler (BENCH_E2E_ARGS="basic --nodes 500 --pairs 2" narrows it).
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python -m bench.e2e $(BENCH_E2E_ARGS)

.PHONY: lock
lock: ## Refresh constraints.txt with the newest versions that work together.
	@rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv && .lock-venv/bin/pip install --quiet '.[dev]'
	@{ echo "# Exact versions that the make targets install; refresh with 'make lock'."; \
	   .lock-venv/bin/pip freeze --exclude bayplan; } > constraints.txt
	@rm -rf .lock-venv && echo "constraints.txt is new; run 'make test check'."

.PHONY: clean
clean: ## Remove the virtual environment and every cache.
	@rm -rf $(VENV) .lock-venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage build
