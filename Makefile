# Each target makes .venv and installs what it needs: python3, make and a package registry are enough.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test test-all check bench tables docs wheels wheel-check prices clean

demo: $(STAMP)
	$(BIN)/redargue demo
	$(BIN)/redargue check examples/demo.txt --store starter --concurrency 1 --offline

test: $(STAMP)  # the quick tier: two minutes on two cores; needs no extra, no PostgreSQL and no data
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not extra and not data"

test-all: $(STAMP)  # tests whose extra or data folder is missing are skipped
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks training examples
	$(BIN)/ruff check src tests benchmarks training examples
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks

tables: export REDARGUE_READER := small  # of the published tables: a third of the time, and they compare protocols, not readers
tables: $(STAMP)  # docs/benchmarks.md; takes hours; the same command resumes; exit code 3: some claims ended in errors
	mkdir -p build/bench
	$(BIN)/redargue bench table all --offline --half odd -q -o build/bench/published > build/bench/published.txt || test $$? -eq 3
	mv build/bench/published.txt benchmarks/published.txt
	$(BIN)/python -m benchmarks leaderboard

$(STAMP): pyproject.toml constraints.txt packages/redargue-reader/pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e packages/redargue-reader
	touch $@

docs: $(STAMP)  # the documentation site, in build/docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs

wheels: $(STAMP)  # in dist
	for source in . packages/redargue-*; do $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist $$source || exit; done

wheel-check: $(STAMP)  # builds the wheels, installs them for each Python at hand, alone and together, and runs the demo
	$(BIN)/python -m benchmarks wheel

prices: $(STAMP)  # the models of src/redargue/runs/prices.toml, before a release
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade genai-prices
	$(BIN)/python -m benchmarks prices

clean:
	rm -rf .venv build dist
