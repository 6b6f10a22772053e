# `make book` and `make test` are all the set-up there is: they create .venv when it is missing.
# Needs Python 3.11 or newer (with venv) and make. Choose an interpreter with PYTHON=...

SHELL := bash
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

define NEWLINE


endef
ifneq ($(findstring $(NEWLINE),$(CURDIR)),)
$(error The path of this folder holds a line break, which make cannot work with: rename the folder)
endif

VENV := .venv
# relative: the folder that this one lies in may have spaces in its name
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
HTML := _build/html
# The largest first: they take longest, and the workers should end together.
NOTEBOOKS ?= $(shell ls -S notebooks/*.ipynb)
# nbval runs as many notebooks at once; each kernel gets one thread, so that they do not fight.
WORKERS ?= 2

# Matplotlib's cache: without a home to write in it says so on stderr, where nbval finds it.
export MPLCONFIGDIR := $(CURDIR)/_build/matplotlib
# Modules are compiled once, and not again by every worker, kernel and command of a test.
unexport PYTHONDONTWRITEBYTECODE

# One thread for each worker, and what is nightly left to `make everything`.
PYTEST := OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest
SPREAD := -n $(WORKERS) --dist loadscope
# Runs a stage, and remembers how long it took if it ends well. Make 3.81, which macOS ships, knows no .SHELLFLAGS:
# each recipe keeps its status by itself.
STAGES := _build/stages.tsv
TIMED = start=$$(date +%s); $(MAKE) $(1) && printf '%s\t%s\n' $(1) $$(($$(date +%s) - start)) >> $(STAGES)

.PHONY: help setup book test quick lint essential unit coverage nbval everything nightly test-kernels mutants notebooks benchmark \
	links stamp test-release test-latest test-lowest test-sphinx clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## Create .venv with the pinned versions (quick when nothing changed)

$(STAMP): pyproject.toml constraints.txt
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
	  for candidate in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	    if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      python=$$candidate; break; \
	    fi; \
	  done; \
	fi; \
	if [ -z "$$python" ]; then \
	  echo "No Python 3.11 or newer found. Install one, or call make PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python has no venv module. On Debian: apt-get install python3-venv" >&2; \
	  exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$("$$python" --version)"; \
	test -x $(BIN)/python || "$$python" -m venv $(VENV)
	@# The pins hold for what builds the package too: older versions of pip ask the first variable for them, newer ones the second.
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	  $(BIN)/python -m pip install --quiet --editable '.[book,test]'
	@touch $@

book: $(STAMP) ## Build the book, _build/html/index.html, its plain notebooks, _build/plain, and the archive of them
	@# --all: an incremental build would not repeat the warnings of pages it skips.
	$(BIN)/jupyter-book build . --all -W -n --keep-going
	@test -s $(HTML)/index.html

test: $(STAMP) ## Lint, build the book, unit tests, and recompute every stored number; prints what each took
	@mkdir -p _build && OMP_NUM_THREADS=1 $(BIN)/python tests/budgets.py --piece $(STAGES)
	@$(call TIMED,lint)
	@$(call TIMED,book)
	@$(call TIMED,unit)
	@$(call TIMED,nbval)
	@$(BIN)/python tests/budgets.py $(STAGES)

everything: $(STAMP) ## What a night has time for: make test, and all that changes seldom or takes long
	$(MAKE) test
	$(MAKE) nightly
	$(MAKE) mutants
	$(MAKE) test-kernels
	$(MAKE) test-release
	$(MAKE) test-latest
	$(MAKE) test-lowest
	$(MAKE) test-sphinx

nightly: $(STAMP) ## Tests marked nightly: every page in every look, enumerations, the core alone; edges
	BOOK_HTML=$(HTML) $(PYTEST) tests -m nightly $(SPREAD) --no-loadscope-reorder -rs --durations=15
	$(BIN)/python tests/writing.py
	EDGES=150 $(PYTEST) tests/test_edges.py tests/test_command_line.py -k "edges or any_setting" $(SPREAD) -q

quick: $(STAMP) ## Lint, types, and the unit tests that tell most: a minute, for while you work
	@mkdir -p _build && OMP_NUM_THREADS=1 $(BIN)/python tests/budgets.py --piece $(STAGES)
	@$(call TIMED,lint)
	@$(call TIMED,essential)
	@$(BIN)/python tests/budgets.py $(STAGES)

# Only files with such tests are named, because reading all of them takes longer than running these.
essential: $(STAMP)
	$(PYTEST) $$(grep -l "mark.essential" tests/test_*.py) -m "essential and not slow and not nightly" $(SPREAD) -q --durations=5

lint: $(STAMP) ## Ruff: rules and format; words; mypy and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell -D - -D book/words.txt *.md book recallbook recallbook_theory recallbook_studies tests notebooks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(STAMP) ## Unit tests; those of the book use _build/html if `make book` made it
	BOOK_HTML=$(HTML) $(PYTEST) tests recallbook recallbook_theory recallbook_studies -m "not nightly" $(SPREAD) --no-loadscope-reorder -rs --durations=15

coverage: $(STAMP) ## What the quick tests and the docstrings' examples run of the package, by module
	$(PYTEST) tests recallbook recallbook_theory recallbook_studies -m "not slow and not nightly" $(SPREAD) -q --cov=recallbook --cov=recallbook_theory --cov=recallbook_studies --cov-report=term:skip-covered

nbval: $(STAMP) ## Recompute the notebooks and compare every stored number
	@test -n "$(NOTEBOOKS)" || { echo "No notebooks found" >&2; exit 1; }
	@# Fonts are listed once: a kernel to which this takes long says so, too.
	$(BIN)/python -c "import matplotlib.font_manager"
	$(PYTEST) --nbval $(NOTEBOOKS) $(SPREAD) --no-loadscope-reorder --durations=10

test-kernels: book ## Unit tests, chapters and rows of all sweeps with the linear algebra of other processors
	ROWS=48 $(BIN)/python tests/kernels.py unit nbval

mutants: $(STAMP) ## Seed mistakes: the tests must notice them (an hour with one worker)
	$(BIN)/python tests/mutants.py --workers $(WORKERS)

notebooks: $(STAMP) ## Re-execute chapters in place (NOTEBOOKS="..." for some of them)
	$(BIN)/python book/execute.py $(NOTEBOOKS)

benchmark: $(STAMP) ## Run every benchmarks/bench_*.py
	@test -n "$(wildcard benchmarks/bench_*.py)" || { echo "No benchmarks found" >&2; exit 1; }
	@for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script || exit 1; \
	done

links: $(STAMP) ## Follow every link to pages elsewhere; it ends with those that are broken
	@mkdir -p _build
	$(BIN)/jupyter-book build . --all --builder linkcheck --path-output _build/links

stamp: $(STAMP) ## Write repository URL and tag from pyproject.toml to wherever they are used
	$(BIN)/python book/stamp.py

test-release: book ## Unpack the archive, install its wheel, run every plain notebook, as a reader would, and leave the wheel in dist/
	$(BIN)/python book/release.py archive

test-latest: $(STAMP) ## The newest versions of every dependency, on PYTHON
	PYTHON="$(PYTHON)" $(BIN)/python book/release.py latest

test-lowest: $(STAMP) ## The lowest versions that pyproject.toml allows
	$(BIN)/python book/release.py lowest

test-sphinx: $(STAMP) ## The book without Jupyter Book 1: the newest Sphinx, MyST and theme, into _build/sphinx
	$(BIN)/python book/release.py sphinx

clean: ## Remove .venv and everything built
	rm -rf $(VENV) _build build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
