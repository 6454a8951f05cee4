# The whole interface of a checkout: make help lists it.
# The first call of any of them creates .venv and builds the core into it.

PYTHON ?= python3
BIN    := .venv/bin
CORE   := $(shell find crates -name '*.rs' -o -name '*.sql' -o -name Cargo.toml) Cargo.toml Cargo.lock
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
BESIDE := $(BIN)/python scripts/side-by-side

.PHONY: help run test test-all why lint bench bench-quick wheel sdist docs clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  */\1\t/p;s/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

run: .venv/.built  ## one complete run on an embedded database, about a minute
	$(BIN)/dsbench run

test: .venv/.built  ## every behaviour, on real servers: about 20 minutes on two CPUs
	scripts/need-servers
	$(BESIDE) scripts/test-rust scripts/test-python
	scripts/test-python serial

test-all: .venv/.built  ## what make test leaves out: kills, every product with everything, fuzz, the wheel; 25 minutes
	scripts/need-servers
	scripts/need-wire
	$(BESIDE) 'scripts/test-rust thorough' 'scripts/test-python thorough'
	scripts/test-python thorough serial

why: .venv/.built  ## causes planted on real servers, and what dsbench names first; half an hour, needs root
	scripts/need-servers
	$(BIN)/python tests/why/planted.py $(PLANTED)

lint: .venv/.built  ## formatting, types, layering; warnings are errors
	$(BESIDE) scripts/lint-rust '$(BIN)/ruff check python tests bench && $(BIN)/mypy && $(BIN)/lint-imports'

bench: .venv/.built  ## dsbench against its peers: what is not measured yet on this machine; takes hours, goes on where it was
	scripts/need-servers
	scripts/need-peers
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench

bench-quick: .venv/.built  ## few cells in about five minutes, beside the last such run: before and after a change
	scripts/need-servers
	scripts/need-peers
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench --quick

wheel: .venv/.installed  ## dist/: a wheel for this processor, glibc 2.17 or later and Python 3.11 or later
	$(PIP) install -c constraints.txt ziglang
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/make-wheel dist

sdist: .venv/.installed  ## dist/: the sources as pip takes them
	rm -f dist/dsbench_db-*.tar.gz
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin sdist --out dist

docs: .venv/.installed  ## dist/site: the docs as a site with a search; serve it by python3 -m http.server -d dist/site
	$(PIP) install -c constraints.txt mkdocs-material
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.venv/.installed: pyproject.toml constraints.txt
	scripts/make-venv $(PYTHON) .venv
	$(PIP) install -c constraints.txt maturin
	touch $@

.venv/.built: .venv/.installed $(CORE)
	@echo "building the core and installing dsbench into .venv: some minutes the first time" >&2
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BESIDE) \
		'$(BIN)/python scripts/requirements | $(PIP) install -c constraints.txt -r /dev/stdin' \
		'$(PIP) install --no-build-isolation --no-deps -e .'
	$(BIN)/python -m compileall -q python/dsbench
	touch $@

clean:  ## removes .venv and target
	rm -rf .venv target
