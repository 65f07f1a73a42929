# Everything is installed into .venv, which these rules build themselves.
SHELL := bash
.SHELLFLAGS := -eo pipefail -c
PYTHON ?= python3
BIN := .venv/bin
DEMO_QUESTION := How do I cancel an asyncio task after a timeout?
# The demo is offline and free whatever this machine has configured.
DEMO_ENV := COLLECTION_SEARCH_HOME=.demo COLLECTION_SEARCH_CONFIG= COLLECTION_SEARCH_MODEL= \
	COLLECTION_SEARCH_TENANT=local LANGFUSE_TRACING_ENABLED=false
# Of pip's output: one line for each package; whatever is unusual, errors too, stays.
IN_SHORT := awk '/^ *(Requirement already|Downloading|Using cached|Preparing|Getting|Installing b|Looking in|Created wheel|Stored in|Checking if|Attempting|Found existing|Uninstalling|Successfully unin)/ { next } \
	/^   .*━/ { next } { sub(/ \(from .*/, "") } { print; fflush() }'
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Compiled modules are kept: without them the tests compile each module in each process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test quick test-server test-browser check bench docs reference screens clean
.DEFAULT_GOAL := help

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.run ## One question, offline: search, rank, ingest, and ask the collection
	@$(DEMO_ENV) $(BIN)/collection-search run "$(DEMO_QUESTION)" --collection demo --auto-ingest \
		--provider offline --embeddings lexical --profile default
	@$(DEMO_ENV) $(BIN)/collection-search ask "$(DEMO_QUESTION)" --collection demo --k 3
	@echo "To go on with this collection: export COLLECTION_SEARCH_HOME=\"$$PWD/.demo\" PATH=\"$$PWD/$(BIN):\$$PATH\""

test: .venv/.dev ## Run the tests that need no server and no browser
	$(BIN)/pytest -n auto -m "not server and not browser"

quick: .venv/.dev ## Run them without the slow ones, a third
	$(BIN)/pytest -n auto -m "not server and not browser and not slow"

test-server: .venv/.dev ## Run the tests that start a LangGraph server on this machine
	$(BIN)/pytest -n auto --dist loadfile -m server

test-browser: .venv/.dev ## Run the tests that drive the page in Chromium
	$(BIN)/pytest -m browser tests/browser

check: .venv/.dev ## Lint, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

bench: .venv/.dev ## Print the start-up cost; the other benchmarks take a path, see benchmarks/
	$(BIN)/python benchmarks/startup.py

docs: .venv/.dev ## Build the documentation as a site, into build/site; a warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site . build/site
	@echo "Open build/site/docs/index.html"

reference: .venv/.dev ## Write the reference pages that come from the code
	$(BIN)/python docs/site/reference.py

screens: .venv/.dev ## Keep what the command shows in terminals of 80 and 140 columns, and the page
	rm -f docs/screens/*.txt docs/screens/*.png
	PYTHONPATH=tests $(BIN)/python -m support.screens docs/screens
	PYTHONPATH=tests $(BIN)/python -m support.page_screens docs/screens
	PYTHONPATH=tests $(BIN)/python -m support.graph_pictures docs/screens

clean: ## Remove what these rules made
	rm -rf .venv .demo .doubles build dist

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed, '$(PYTHON)' is none. Try: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/.run: .venv/.made pyproject.toml
	@echo "Installing Collection Search into .venv (about a minute) ..."
	@$(BIN)/python -m pip install --editable . 2>&1 | $(IN_SHORT)
	@touch $@

.venv/.dev: .venv/.run
	@echo "Installing the development tools into .venv (about a minute) ..."
	@$(BIN)/python -m pip install --editable '.[dev]' 2>&1 | $(IN_SHORT)
	@touch $@
