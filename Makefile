# Everything a developer or a first-time visitor does, in one word each. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-kafka kafka kafka-stop test-fast test test-full test-matrix check docs pre-commit bench clean

BIN := .venv/bin
READY := .venv/.ready
ARCHIVE := .venv/.spark-classes
# Spark and its workers get the Java that .ci/java finds or installs, and this environment's Python.
RUN := JAVA_HOME="$$(.ci/java)" && export JAVA_HOME PATH="$(CURDIR)/$(BIN):$$PATH" &&
# Several processes side by side; tests/conftest.py chooses how many. `ARGS=-n0` runs all tests in one.
PYTEST := pytest -n auto --dist loadgroup --no-loadscope-reorder --durations 30 --durations-min 1

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv with all that is needed, and see to Java 17 or newer
	@.ci/java >/dev/null
	@echo "Ready: $(BIN)/flow --help"

demo: $(READY)  ## Verify and run the flights example on 336,776 real flights
	@$(RUN) examples/flights/demo

demo-kafka: $(READY)  ## Run the same example with its topics on a Kafka broker of its own
	@$(RUN) python -m tests.kafka.broker run examples/flights/demo flow.channel=kafka

kafka: $(READY)  ## Start a Kafka broker on port 9092 of this machine, with its topics in .kafka (ARGS=PORT for another)
	@$(RUN) python -m tests.kafka.broker start $(ARGS)

kafka-stop: $(READY)  ## Stop the broker of `make kafka`
	@$(RUN) python -m tests.kafka.broker stop

test-fast: $(READY)  ## Run the tests that need no Spark: under 2 minutes on 2 cores (ARGS="tests/cli -k word" for some of them)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PYTEST) -m "not spark and not full" $(ARGS)

test: $(ARCHIVE)  ## Run all tests of the gate, with Spark (ARGS="tests/cli -k word" for some of them)
	@$(RUN) $(PYTEST) -m "not full" $(ARGS)

# The benchmarks that kill runs, longer than in `make bench`.
LEDGERS = "topics --each 2 --kills 5" "shop --each 2 --kills 5" "drains --each 2 --kills 2" "sinks --each 1 --kills 5" java "spouts --each 2 --kills 5" \
  "batch-source --each 1 --kills 4" "kafka --each 1 --kills 4" "sqlite --each 1 --kills 1" "redis --each 1 --kills 1" "finite --kills 2"

test-full: $(ARCHIVE)  ## Run everything: the gate, tests of many minutes, ten times the random examples, test-matrix, kill ledgers
	@$(RUN) { failed=0; \
	  $(PYTEST) --hypothesis-profile long -o timeout=3600 $(ARGS) || failed=1; \
	  .ci/matrix || failed=1; \
	  for ledger in $(LEDGERS); do \
	    echo; echo "== $$ledger"; python -m benchmarks.kills $$ledger || failed=1; \
	  done; exit $$failed; }

test-matrix: $(READY)  ## Run the tests on every supported Python here (without Spark), and on the lowest and the newest PySpark
	@.ci/matrix $(ARGS)

check: $(READY)  ## Lint, formatting, types, layers
	@$(RUN) { failed=0; \
	  for tool in "ruff check ." "ruff format --check ." mypy lint-imports; do \
	    echo "== $$tool"; $$tool || failed=1; \
	  done; exit $$failed; }

docs: $(READY)  ## Build the documentation site into build/site, with its links checked (ARGS=DIRECTORY for another)
	@$(BIN)/python -m manual $(ARGS)

pre-commit: $(READY)  ## Check each commit before it is made, from now on (CONTRIBUTING.md)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pre-commit>=4"
	@$(BIN)/pre-commit install

# The small version of each benchmark; its first lines say how to run the large one.
SMALL = "verify --small" "plans --rounds 1" "verify_scale --small" "lsp --streamlets 100 --rounds 3" "lineage --small" hocon "accidents 200" "fixes 300" avro_resolution conform topic_growth "journal --seconds 2 --rounds 1" "spouts --seconds 2 --size 64" "tasks --small" "source_files --small" small_batches "chain 1000000 --rounds 1" \
  "flights --small" "idle --settle 20 --measure 20 --cycles 2" "many_readers --readers 8 --load 4" "isolation --streamlets 2 --settle 5 --measure 5" "kills topics --each 1 --kills 2" \
  "kills shop --each 1 --kills 2" "kills drains --each 1 --kills 1" "kills sink-delta --each 1 --kills 1" "kills replicas --kills 1" "replicas --records 1000 --rounds 2" supervisor "kafka_throughput 200000 --rounds 1" "kafka_guarantee 200000 --rounds 1" \
  "sql_job --rows 500000 --rounds 1" "resources --runs 2" "jdbc --rows 50000 --rounds 1" "kafka_latency --seconds 10" "latency --seconds 20 --rounds 1" "metrics --seconds 5 --rounds 1" "event_history --seconds 10" "traces --batches 500" "large --streamlets 100 --seconds 5" "datasets --records 50000" \
  "on_cluster --january" "scaling --january"

bench: $(READY)  ## Run the small version of every benchmark
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	@$(RUN) { failed=0; \
	  for each in $(SMALL); do \
	    echo; echo "== $$each"; python -m benchmarks.$$each || failed=1; \
	  done; exit $$failed; }

clean:  ## Remove what runs and tests leave behind (not .venv and .venvs)
	@rm -rf build .flow .mypy_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse examples/*/.flow examples/*/out examples/*/*.db*

# Made once; made again when the requirements change.
$(READY): pyproject.toml .ci/venv
	@.ci/venv
	@touch $@

# Spark's classes, with which each of the many Sparks of the tests starts in half the processor time.
$(ARCHIVE): $(READY)
	@echo "Preparing Spark's classes for the tests, which takes half a minute"
	@$(RUN) flow doctor --prepare
	@touch $@
