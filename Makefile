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

# The build that is shipped, with machine code, beside the source: PYTHONPATH=build/compiled runs it. What the compiler
# made is kept outside of the clone, named after all that went into it, so no clone compiles the same source again.
COMPILED := build/compiled
COMPILED_STAMP := $(COMPILED)/.built
export BAYPLAN_COMPILED_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bayplan/compiled
$(COMPILED_STAMP): $(STAMP) tools/compiled_build.py $(shell find src -name '*.py')
	@command -v cc > /dev/null || { echo "Compiling needs a C compiler named 'cc'; on Debian: apt-get install gcc libc6-dev"; exit 1; }
	@echo "Building the compiled modules (three minutes, or seconds if $(BAYPLAN_COMPILED_CACHE) has them) ..."
	@rm -rf $(COMPILED)
	@BAYPLAN_COMPILE=1 PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet \
	  --disable-pip-version-check --no-deps --target $(COMPILED) .
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/bayplan --version | grep ', compiled$$'
	@touch $@

.PHONY: compiled
compiled: $(COMPILED_STAMP) ## Compile the busiest modules into build/compiled; 'make bench-e2e' measures that build.

.PHONY: test-compiled
test-compiled: $(COMPILED_STAMP) ## Run the tests on the compiled build (PYTEST_ARGS="tests/unit" narrows it).
	@echo "Running the tests on the compiled build ..."
	@PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

.PHONY: wheels
wheels: ## Build the wheels for every Python that is found, compiled and not, and try each (PYTHONS="3.12 3.13" requires these).
	@command -v cc > /dev/null || { echo "Compiling needs a C compiler named 'cc'; on Debian: apt-get install gcc libc6-dev"; exit 1; }
	@$(PYTHON) tools/wheels.py $(PYTHONS)

.PHONY: demo
demo: $(STAMP) ## Tell how a plugin places a pod, on a cluster in one process.
	@$(BIN)/bayplan demo

# Coverage is measured, and its floor held, only where all tests run: a part of them covers a part.
.PHONY: test
test: $(STAMP) ## Run the tests; fail if they cover too little of the core (PYTEST_ARGS="-k spread" narrows it).
	@echo "Running the tests ..."
	@$(BIN)/python -m pytest -n auto $(if $(PYTEST_ARGS),,--cov --cov-report=term) $(PYTEST_ARGS)

# The release of Kubernetes to test against (RELEASE=1.36); the newest that Bayplan follows without it. One that is
# named is tested in part: what is scheduled, and what the same scenarios leave behind. How objects are changed is
# compared with 1.36 only: the embedded API server does not yet report wrong owners as kube-apiserver 1.37 does.
E2E_OLDER := patches_embedded updates_embedded
export BAYPLAN_E2E_RELEASE ?= $(filter-out v%,$(RELEASE))
E2E_NAMED := $(addprefix tests/e2e/test_,$(addsuffix .py,story same_as_stock extenders volumes $(E2E_OLDER)))
.PHONY: e2e
e2e: control-plane ## Run the tests against a real control plane (E2E_ARGS="-k kubectl", RELEASE=1.36 narrow it).
	@echo "Running the end-to-end tests ..."
	@$(BIN)/python -m pytest $(if $(BAYPLAN_E2E_RELEASE),$(E2E_NAMED),tests/e2e $(E2E_OLDER:%=--ignore tests/e2e/test_%.py)) \
	  -m "e2e and not family" $(E2E_ARGS)

# The tests that schedule, with smaller bursts. The rest is about the embedded API server, rights and charts, of which
# nothing is compiled.
E2E_COMPILED := $(addprefix tests/e2e/test_,$(addsuffix .py,story same_as_stock profiles extenders surface volumes graceful_stop burst))
.PHONY: e2e-compiled
e2e-compiled: control-plane $(COMPILED_STAMP) ## Run the end-to-end tests that schedule on the compiled build.
	@echo "Running end-to-end tests on the compiled build ..."
	@BAYPLAN_E2E_SCALE=$${BAYPLAN_E2E_SCALE:-0.2} PYTHONPATH=$(CURDIR)/$(COMPILED) \
	  $(BIN)/python -m pytest $(E2E_COMPILED) -m "e2e and not family" $(E2E_ARGS)

.PHONY: e2e-family
e2e-family: control-plane ## Compare gangs and quotas with the original scheduler-plugins, built where it is missing.
	@$(BIN)/python -m tests.e2e.family_harness
	@$(BIN)/python -m pytest tests/e2e -m family $(E2E_ARGS)

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

.PHONY: record
record: $(STAMP) ## Record a release of Kubernetes and tell what it changes (RELEASE=v1.38.0, RECORD_ARGS="--limit 12").
	@test -n "$(RELEASE)" || { echo "Which release? make record RELEASE=v1.38.0"; exit 1; }
	@BAYPLAN_E2E_RELEASE= $(BIN)/python -m tools.record $(RELEASE) $(RECORD_ARGS)

.PHONY: life-of-a-pod
life-of-a-pod: $(STAMP) ## Trace one pod and bring docs/life-of-a-pod.md up to date.
	@$(BIN)/python -m tests.integration.pod_trace --write | tail -n 1

.PHONY: api-reference
api-reference: $(STAMP) ## Bring docs/api-reference.md up to date with the public names.
	@$(BIN)/python -m tools.api_reference --write

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

.PHONY: paper
paper: $(STAMP) ## Reproduce a published table of GPU allocation (PAPER_ARGS="--policies FGD,BestFit --seeds 42,43" narrows it).
	@$(BIN)/python examples/30-gpu-fragmentation/paper.py $(PAPER_ARGS)

.PHONY: lock
lock: ## Refresh constraints.txt with the newest versions that work together.
	@rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv && .lock-venv/bin/pip install --quiet '.[dev,e2e]'
	@{ echo "# Exact versions that the make targets install; refresh with 'make lock'."; \
	   .lock-venv/bin/pip freeze --exclude bayplan; } > constraints.txt
	@rm -rf .lock-venv && echo "constraints.txt is new; run 'make test check'."

.PHONY: clean
clean: ## Remove the virtual environment and every cache.
	@rm -rf $(VENV) .lock-venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage build dist
