# One folder, one command for each wish.  `make check` is the one to try first.

PY := .venv/bin/python
# The stamp's name holds the place of the checkout: in a copied or moved folder the .venv
# still runs the code of the old place, so it is made anew.
STAMP := .venv/ready-$(shell pwd | cksum | cut -d ' ' -f 1)
# On all cores; the tests of one file stay together, and in order.
TIER := $(PY) tests/tier.py
PARALLEL := -n auto --maxprocesses 4 --dist loadfile --durations 20 --durations-min 2
SOURCES := $(wildcard joinproto models proofs spark_explore tools tests)

.PHONY: help setup check test landing soak lint style types bench docs site pyz web playground

help:
	@echo "make setup     .venv with every extra and the test tools (made once)"
	@echo "make check     search the quick worlds, and prove all claims by two solvers"
	@echo "make test      what a change must pass"
	@echo "make landing   the slower tests that guard a landing: servers, processes, Spark"
	@echo "make soak      all other tests, in slices: SLICE=name, MINUTES=60; it remembers"
	@echo "make lint      style (ruff) and types (mypy)"
	@echo "make bench     measure;  make docs  write the generated pages again"
	@echo "make site      the documents as a site, in site/: open site/index.html"
	@echo "make web       the libraries of explore's page, from npm; the next wheel carries them"
	@echo "make pyz       dist/joinproto.pyz: what recovers a cluster, as one file"
	@echo "make playground  dist/playground: worlds, models and stores in the browser; needs npm"

setup: $(STAMP)

$(STAMP): pyproject.toml
	@python=$$(for name in $(PYTHON) python3.11 python3; do \
	    "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	        && { echo "$$name"; break; }; done); \
	if [ -z "$$python" ]; then \
	    echo "make: no Python 3.11 or later found as python3.11 or python3" >&2; \
	    echo "  next: install one, or name it: make setup PYTHON=/path/to/python" >&2; \
	    exit 1; \
	fi; \
	[ -e $@ ] || "$$python" -m venv --clear .venv || { \
	    echo "make: $$python cannot make a virtual environment" >&2; \
	    echo "  next: install its venv module (on Debian: apt-get install python3-venv)" >&2; \
	    exit 1; \
	}
	@echo "make: installing joinproto with all extras and the test tools into .venv (1.7 GB, a minute or two)"
	@# An older pip knows no dependency groups.
	@$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	@$(PY) -m pip install --quiet --editable '.[all]' --group dev --group docs
	@echo "make: compiling the loops of the search, once for all commands (up to two minutes)"
	@# Where Python may write no bytecode, a small world would be compiled at each command.
	@$(PY) -m compileall -q joinproto models proofs spark_explore tools
	@# The loops of the search, once for all processes.
	@$(PY) -m tools.compile_loops
	@touch $@

check: setup
	@echo "make: searching the quick worlds that ship: joinproto check --tier quick"
	@$(PY) -m joinproto check --tier quick
	@echo
	@echo "make: proving all claims by two solvers: joinproto prove --second cvc5"
	@$(PY) -m joinproto prove --second cvc5
	@echo
	@echo "next"
	@echo "  source .venv/bin/activate               have the command joinproto in this shell"
	@echo "  joinproto check note-lone-restart       see two brokers lose an acknowledged write"
	@echo "  joinproto check docs/examples/my_first_try.py   a first model with a bug: docs/tutorial.md"

test: setup
	$(TIER) test $(PARALLEL)

landing: setup
	$(TIER) landing $(PARALLEL)

soak: setup
	$(PY) tests/soak.py $(if $(SLICE),--slice $(SLICE)) $(if $(MINUTES),--minutes $(MINUTES)) \
	    $(if $(SEED),--seed $(SEED))

lint: style types

style: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: setup
	$(PY) -m mypy $(SOURCES)

bench: setup
	$(PY) -m tools.bench

docs: setup
	$(PY) -m tools.docs

site: setup
	$(PY) -m tools.site

pyz: setup
	$(PY) -m tools.pyz

web: setup
	$(PY) -m tools.web

playground: web
	$(PY) -m tools.playground
