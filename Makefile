# make run   set up and start Ammeter with a demo organization at http://127.0.0.1:8321
# make test  set up and run every test, on SQLite and PostgreSQL
.PHONY: run test lint check bench fmt lock
PORT ?= 8321
# Python keeps what it compiled, in .venv and beside the sources: Ammeter starts in half the time.
unexport PYTHONDONTWRITEBYTECODE

run:
	@scripts/setup run
	@.venv/bin/ammeter serve --demo --port $(PORT)

test:
	@scripts/setup venv
	@scripts/install-test-tools & tools=$$!; scripts/setup dev && wait $$tools
	@scripts/install-postgres
	@node=$$(scripts/install-node) && PATH="$${node:+$$node:}$$PATH" .venv/bin/pytest -n 4 --dist worksteal $(ARGS)

lint:
	@scripts/setup dev
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/lint-imports && .venv/bin/mypy

check: lint test

bench:
	@scripts/setup dev
	@scripts/install-wrk
	@.venv/bin/python benchmarks/http.py

fmt:
	@scripts/setup dev
	@.venv/bin/ruff check --fix . ; .venv/bin/ruff format .

lock:
	@scripts/lock
