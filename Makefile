# Every command a person types. `make` alone lists them.
# Needs only make and a Python >= 3.11 with venv; everything else is installed into .venv by name.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.heliostat-ready
UV     := $(shell command -v uv 2>/dev/null || echo $(BIN)/uv)

export UV_PYTHON_DOWNLOADS = never
# Compiled once, here: in a Pod the environment is read-only, and each process of Ray would compile Ray anew (2 s each).
export UV_COMPILE_BYTECODE = 1
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test tests packages quick check format conformance-real conformance-record sim replay e2e soak bench samples snapshots reference deploy-manifests schemas clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-18s %s\n", $$1, $$2}'

demo: $(READY) ## bring a RayCluster up on this machine with real Ray, and run a program on it to its result
	@$(BIN)/python tools/demo.py

# Three on two cores: many tests wait for processes. Who is idle steals, so a module's world is made once, as a rule.
PYTEST := $(BIN)/pytest -n 3 --dist worksteal

test: $(READY) ## the environment, all checks and all tests
	@$(MAKE) --no-print-directory -j2 check tests

tests: $(READY) packages # beside the checks, of which the types alone take one core for a minute
	$(PYTEST)

# RUNLEVEL: installed, not started. Whoever is not root, or not CI, decides that alone: tests skip, and say what is missing.
DEBIAN := redis-server
packages:
	@if [ -n "$$CI" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v $(DEBIAN) >/dev/null; then \
	  apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEBIAN) >/dev/null; \
	fi

quick: $(READY) ## the tests for the inner loop, without the slower laws
	$(PYTEST) -q -m "not slow"

check: $(READY) ## linter, formatter, strict types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## write the formatter's and the linter's fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

conformance-real: $(READY) ## compare the embedded server and controllers with real ones, built from Go modules (minutes)
	PYTHONPATH=tests:. $(BIN)/python -m conformance real
	PYTHONPATH=tests:. $(BIN)/python -m conformance controllers real
	PYTHONPATH=tests:. $(BIN)/python -m conformance operator real
	PYTHONPATH=tests:. $(BIN)/python -m conformance servers

conformance-record: $(READY) ## keep what a real kube-apiserver and real controllers do again
	PYTHONPATH=tests:. $(BIN)/python -m conformance record
	PYTHONPATH=tests:. $(BIN)/python -m conformance kubectl --record
	PYTHONPATH=tests:. $(BIN)/python -m conformance controllers record

SEEDS ?= 2000
sim: $(READY) ## simulate controllers under faults: a crash at every call, and SEEDS random worlds of each case
	PYTHONPATH=tests $(BIN)/python -m simulation sim --seeds $(SEEDS)

replay: $(READY) ## see a finding of the simulator again: make replay CASE=jobs SEED=7 [FAULTS='[…]']
	PYTHONPATH=tests $(BIN)/python -m simulation replay --case $(CASE) --seed $(SEED) --faults '$(FAULTS)'

e2e: $(READY) ## real Ray on this machine, by section: make e2e [S=autoscaler]
	HELIOSTAT_E2E=1 $(BIN)/pytest -q -n 0 $(if $(S),tests/e2e/test_$(S).py,tests/e2e)

soak: $(READY) ## kill the server 500 times in the middle of writes, our processes in 20 runs of real Ray, upgrades under requests
	HELIOSTAT_KILLS=500 $(BIN)/pytest -q tests/embedded/test_server_kill.py tests/embedded/storage/test_kill.py
	HELIOSTAT_SOAK=1 $(BIN)/pytest -q tests/embedded/processes tests/operator/processes
	HELIOSTAT_SOAK=1 $(BIN)/pytest -q -n 0 -s tests/e2e/test_kills.py
	HELIOSTAT_E2E=1 HELIOSTAT_SOAK=1 $(BIN)/pytest -q -n 0 tests/e2e/test_rayservice_requests.py

bench: $(READY) ## every benchmark; each prints a ratio measured in the same run
	@missed=; for file in bench/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || missed="$$missed $$file"; done; \
	test -z "$$missed" || { echo "a bar was missed:$$missed"; exit 1; }

samples: $(READY) ## run KubeRay's samples here and write the table of them: make samples SAMPLES=…/ray-operator/config/samples
	$(BIN)/python tools/run_samples.py $(SAMPLES)

snapshots: $(READY) ## write the examples' snapshots again
	HELIOSTAT_WRITE_SNAPSHOTS=1 $(BIN)/pytest -q tests/golden/test_examples.py

reference: $(READY) ## write docs/reference again
	$(BIN)/python tools/generate_reference.py

deploy-manifests: $(READY) ## write deploy/ again
	$(BIN)/python tools/generate_deploy.py

schemas: $(READY) ## generate the table of core kinds and the definitions of the Gateway API again
	$(BIN)/python tools/generate_core_schema.py
	$(BIN)/python tools/generate_gateway_crds.py

clean: ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Heliostat needs Python 3.11 or later: set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x "$(UV)" || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) sync --frozen --quiet --python $(BIN)/python
	@touch $@
