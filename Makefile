# Two commands set everything up: `make study` and `make test`. `make help` lists the rest.
# PYTHON may name any CPython >= 3.11; everything is installed into .venv from the committed locks.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Tests on as many processes as there are cores; a file stays on one, its fixtures are made once.
# In the order of files long ones come early; xdist's own begins with those of most tests.
WORKERS := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

export MPLBACKEND := Agg
export PYTHONHASHSEED := 0
# Compiled modules are written down even where the environment forbids it (images of containers
# do): the hundred processes that tests start would each compile the package again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help study test tests test-browser thorough docs lint style types figures verify bench lock clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "fluidkv needs Python 3.11 or newer; name one with PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# --no-deps: each lock is the whole closure; hashes are checked by pip.
$(VENV)/.base: lock/base.txt pyproject.toml papers/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r lock/base.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable papers
	@touch $@

# --no-compile: of these packages little is used; what is, is compiled then.
$(VENV)/.dev: lock/dev.txt $(VENV)/.base
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --require-hashes -r lock/dev.txt
	@touch $@

study: $(VENV)/.base  ## set up, then judge an embedded workload (writes build/study)
	$(BIN)/fluidkv study --preset sharegpt --capacity 41408 --out build/study

# Types are checked beside the tests: alone they keep one core busy for two minutes.
test: $(VENV)/.dev style  ## set up, then lint, types, tests, theorem checks, notebooks
	@$(MAKE) --no-print-directory -j2 types tests

tests: $(VENV)/.dev
	$(BIN)/python -m pytest $(WORKERS)

# Debian's package where one may install it; elsewhere a line that says what is missing.
test-browser: docs  ## open reports, pages and the site in a headless Chromium; installs it if it can
	@command -v $${FLUIDKV_CHROMIUM:-chromium} >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && apt-get update -qq && apt-get install -y -qq chromium; } \
	  || { echo "no Chromium found; install the package chromium, or name one with FLUIDKV_CHROMIUM=..." >&2; exit 2; }
	$(BIN)/python -m pytest tests/browser --thorough

thorough: $(VENV)/.dev lint  ## the same with all checks and 1,000 new cases for each property (an hour)
	$(BIN)/python -m pytest $(WORKERS) --thorough

docs: $(VENV)/.dev  ## build the site (build/site)
	$(BIN)/python -m docs._site

lint: style types

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright

verify: $(VENV)/.base  ## check every claim of the ledger
	$(BIN)/fluidkv verify

figures: $(VENV)/.base  ## regenerate figures/ with data and manifest
	$(BIN)/fluidkv figure --all

bench: $(VENV)/.base  ## run the benchmarks, record them and rewrite benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

# Needs `uv` on the PATH; only maintainers run it. No index address is written into the locks.
lock:  ## refresh lock/base.txt and lock/dev.txt
	uv pip compile pyproject.toml lock/build.in --universal -p 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links -o lock/base.txt
	uv pip compile pyproject.toml lock/build.in --group dev --universal -p 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links -c lock/base.txt -o lock/dev.txt

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build
