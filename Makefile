# Needs only Python 3.11+, pip and make: every target sets up .venv for itself.
PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types docs lock clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(READY) ## Run the demonstration
	@$(BIN)/greymatch demo

test: lint types docs ## Lint, check types, build the docs, run the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY) ## Check types
	$(BIN)/basedpyright --pythonpath $(BIN)/python

docs: $(READY) ## Build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# One pip call, so that the pinned torch is chosen before anything can ask for a newer one. The variables carry
# the pins into pip's own build environments (PIP_BUILD_CONSTRAINT is the newer pips' name for it).
PINNED_PIP = PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	$(1)/python -m pip install --disable-pip-version-check -qq -c constraints.txt

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "greymatch needs Python 3.11 or newer; '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one, for instance: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Setting up .venv with the pinned packages (once; takes a minute or more) ..."
	@$(call make_venv,.venv)
	@$(call PINNED_PIP,$(BIN)) -e '.[test]'
	@touch $@

# Some distributions ship Python without ensurepip; the pip that is there can then fill the environment.
make_venv = $(PYTHON) -m venv $(1) || { $(PYTHON) -m venv --clear --without-pip $(1) && \
	$(PYTHON) -m pip --python $(1)/bin/python install --disable-pip-version-check -qq pip; }

# torch stays at the version pinned now: to move it, edit its line in constraints.txt first.
lock: ## Pin all packages anew, in a fresh environment
	@set -e; fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; $(call make_venv,"$$fresh"); \
	grep '^torch==' constraints.txt > "$$fresh/torch.txt"; \
	export PIP_CONSTRAINT="$$fresh/torch.txt" PIP_BUILD_CONSTRAINT="$$fresh/torch.txt"; \
	"$$fresh/bin/python" -m pip install --disable-pip-version-check -qq --editable '.[dev,tensorboard,wandb,simulate]' editables; \
	"$$fresh/bin/python" -m pip freeze --all --exclude pip --exclude-editable | sed 's/+cpu$$//' > "$$fresh/pins.txt"; \
	{ sed '/^[^#]/,$$d' constraints.txt; cat "$$fresh/pins.txt"; } > "$$fresh/constraints.txt"; \
	cp "$$fresh/constraints.txt" constraints.txt

clean: ## Remove .venv and everything built
	rm -rf .venv build dist docs/_build .pytest_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
