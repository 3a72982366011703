# Everything happens in .venv; a step whose inputs did not change costs nothing.
# make run ARGS="--port 8080"   make test ARGS="tests/db -x"   make PYTHON=python3.12 setup
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
UV ?= uv
# Images set it; then every process compiles our code and rewrites the tests' assertions anew.
unexport PYTHONDONTWRITEBYTECODE
LOCK := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --group build --quiet --no-config

.PHONY: help setup setup-dev run test check format bench crash mutants fuzz demo lock clean

help:
	@echo "run    the front desk on this machine: database, web, worker, demo organization"
	@echo "test   every test          check   lint, types, imports, migrations, schema, docs"
	@echo "bench  measurements        crash   kill -9 under load        demo  messages for the running front desk"
	@echo "fuzz   anything at every door and page: FUZZ=20000 inputs, other ones each time"
	@echo "mutants  a fault put into the code at a time: which test catches it"
	@echo "lock   the requirements files anew (needs uv)                clean  remove .venv and caches"

setup: $(VENV)/.runtime

setup-dev: $(VENV)/.dev

$(VENV)/.made: scripts/make-venv
	@scripts/make-venv $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.lock pyproject.toml $(VENV)/.made
	@echo "Installing Portaria into $(VENV): once, half a minute or so"
	@$(PIP) install -qq --root-user-action=ignore --require-hashes -r requirements.lock
	@$(PIP) install -qq --root-user-action=ignore --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	@echo "Installing what tests and checks need"
	@$(PIP) install -qq --root-user-action=ignore --require-hashes -r requirements-dev.lock
	@touch $@

run: setup
	@$(BIN)/portaria dev $(ARGS)

test: setup-dev
	@scripts/ensure-chromium
	@scripts/ensure-pgbouncer
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

check: setup-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_psycopg.py
	$(BIN)/python scripts/check_migrations.py
	$(BIN)/python scripts/check_schema.py
	$(BIN)/python scripts/check_docs.py
	$(BIN)/python scripts/mutants.py --check
	$(BIN)/python scripts/vendor_assets.py --check
	$(BIN)/python scripts/catalog.py --check

format: setup-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup-dev
	@$(BIN)/python -m bench $(ARGS)

crash: setup-dev
	@$(BIN)/python -m tests.crash

mutants: setup-dev
	@$(BIN)/python scripts/mutants.py $(ARGS)

fuzz: setup-dev
	@FUZZ=$${FUZZ:-20000} $(BIN)/python -m pytest -q -s --timeout=3600 tests/fuzz $(ARGS)

demo: setup
	@$(BIN)/portaria simulate message --count 100 --rate 5 $(ARGS)

lock:
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: $(BIN)/pip install uv, then make lock UV=$(BIN)/uv"; exit 1; }
	$(LOCK) --output-file requirements.lock
	$(LOCK) --group dev --constraint requirements.lock --output-file requirements-dev.lock

clean:
	find src tests bench scripts examples -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
