# `make` alone prints this list. Every target sets up what it needs; PYTHON=python3.13 chooses the interpreter when .venv is made.

BIN := .venv/bin
# Twice as many as there are processors: half of the tests wait for servers and for time to pass.
WORKERS := $(shell echo $$((2 * $$(nproc))))
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url

# Tests start processes by the hundred: each would compile all of the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup ui demo lint check test soak interop simulate bench screenshots format lock

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## virtual environment, pinned tools, what the tests need: ZooKeeper, PostgreSQL, MariaDB, a browser
	@scripts/setup python zookeeper postgresql mariadb compiler node chromium

ui: ## build the console's page
	@scripts/setup python node
	@scripts/ui

demo: ## three processes share a job, and one is killed (REGISTRY=zookeeper, ARGS=--stay)
	@scripts/setup python node $(filter zookeeper,$(REGISTRY))
	@scripts/ui
	@$(BIN)/python -m demo --registry $(or $(REGISTRY),embedded) $(ARGS)

lint: ## formatting, lint and types, of the console's page too
	@scripts/setup python node
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	scripts/ui check

check: lint ## lint, and the tests that need no server
	$(BIN)/pytest -q -n auto -m "not zookeeper and not postgresql and not mariadb and not browser and not slow"

test: ## every test (ARGS="tests/faults -k cut" chooses some)
	@scripts/setup python zookeeper postgresql mariadb compiler node chromium
	@scripts/ui
	@scripts/test $(ARGS)

soak: ## real processes under real faults, five times in a row (TIMES=50)
	@scripts/setup python zookeeper postgresql mariadb compiler
	for time in $$(seq $(or $(TIMES),5)); do $(BIN)/pytest -q -n $(WORKERS) --dist load --maxschedchunk 1 tests/acceptance || exit 1; done

interop: ## jobs shared with real Java members, built on the way (VERSIONS="3.0.4 3.0.1" ARGS="-k trigger")
	@scripts/setup python zookeeper
	@scripts/interop
	$(BIN)/pytest -n $(WORKERS) --dist load --maxschedchunk 1 -m interop tests/interop $(ARGS)

simulate: ## clusters broken by chance, many of them (SEEDS=20000 FIRST=1)
	@scripts/setup python
	$(BIN)/python -m tests.simulation $(or $(SEEDS),500) $(or $(FIRST),1)

bench: ## how fast, beside others: a table and build/bench.json (ONLY=name runs one)
	@scripts/setup python zookeeper $(if $(filter-out console,$(ONLY)),,node)
	@$(if $(filter-out console,$(ONLY)),,scripts/ui)
	$(BIN)/python -m benchmarks

screenshots: ## pictures of the console's pages into docs/images (ARGS="history run" takes some)
	@scripts/setup python node chromium
	@scripts/ui
	$(BIN)/python -m tests.console.browser.screenshots $(ARGS)

format: ## format the code and mend what lint can mend
	@scripts/setup python
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## pin the development requirements anew, by version and hash
	@scripts/setup python uv
	$(LOCK) --group build -o requirements/build.txt
	$(LOCK) --group dev --all-extras pyproject.toml -o requirements/dev.txt
