# `make` lists what there is. Everything is fetched from PyPI and crates.io, and stays in .bootstrap, .venv and target.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

UV_VERSION := 0.13.9
UV := .bootstrap/bin/uv
BUILT := .venv/.built
SOJOURN := .venv/bin/sojourn
# What the extension module is made of; Python sources are installed in place.
SOURCES := pyproject.toml uv.lock Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml) \
  $(shell find crates -path '*/src/*' -name '*.rs')
PY_FILES := python tests bench docs examples
TODAY := $(shell date -u +%F)
# Not bpftool and chromium, which Ubuntu has in no package of that name: of a list with one such apt-get installs nothing.
PACKAGES := valgrind time g++ ns2 libns3-dev \
  iperf3 curl iputils-ping iproute2 util-linux procps ethtool tcpdump clang llvm libbpf-dev

# Nothing may be downloaded behind our back: no Python by uv, no Rust by maturin's build requirements.
export UV_PYTHON_DOWNLOADS := never
export MATURIN_NO_INSTALL_RUST := 1
# One interpreter for cargo and maturin alike, so that they share what they compile.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python

.PHONY: help
help: ## this list
	@printf 'Sojourn: a laboratory for congestion control and queue management.\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\nNeeds Python 3.11 or later, Rust 1.88 or later and a C compiler; no root.\n'

.PHONY: build
build: $(BUILT) ## the command at .venv/bin/sojourn

# The first Python that is new enough, or a sentence about what is missing.
.bootstrap/uv-$(UV_VERSION):
	@python=; for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "make: Sojourn needs Python 3.11 or later, and none of python3, python3.11 … python3.14 is." >&2; \
	  echo "      Install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python" >&2; \
	  exit 1; \
	fi; \
	rm -rf .bootstrap; \
	if ! "$$python" -m venv .bootstrap; then \
	  echo "make: $$python cannot make a virtual environment (Debian, Ubuntu: apt-get install python3-venv)" >&2; \
	  exit 1; \
	fi
	.bootstrap/bin/python -m pip install --quiet --disable-pip-version-check 'uv==$(UV_VERSION)'
	@touch $@

$(BUILT): .bootstrap/uv-$(UV_VERSION) $(SOURCES)
	@command -v cargo >/dev/null || { \
	  echo "make: no cargo on PATH. Sojourn needs Rust 1.88 or later: https://rustup.rs, or a recent rustc and cargo of" >&2; \
	  echo "      your distribution." >&2; exit 1; }
	@command -v cc >/dev/null || { \
	  echo "make: no C compiler (cc) on PATH (Debian, Ubuntu: apt-get install gcc; macOS: xcode-select --install)" >&2; exit 1; }
	env -u PYO3_PYTHON $(UV) sync --frozen --python .bootstrap/bin/python
	@touch $@

.PHONY: test
test: build ## everything that must hold: some six minutes, half of them compiling
	@failed=0; \
	cargo test --locked --no-fail-fast || failed=1; \
	.venv/bin/python -m pytest -n auto || failed=1; \
	exit $$failed

.PHONY: test-linux
test-linux: build ## as root: real packets, in namespaces of their own, in real time: some seven minutes
	@if [ "$$(id -u)" != 0 ]; then echo "make: test-linux makes network namespaces; run it as root: sudo make test-linux" >&2; exit 1; fi
	@failed=0; cases="python/tests_linux --ignore=python/tests_linux/test_kernel_flows.py"; \
	.venv/bin/python -m pytest $$cases -m untimed -n 6 || failed=1; \
	.venv/bin/python -m pytest $$cases -m "not untimed" || failed=1; \
	exit $$failed

.PHONY: test-kernel
test-kernel: build ## as root: algorithms in the running kernel carry traffic of some minutes; the long forms of test-linux's
	@if [ "$$(id -u)" != 0 ]; then echo "make: test-kernel loads algorithms into the kernel; run it as root: sudo make test-kernel" >&2; exit 1; fi
	.venv/bin/python -m pytest python/tests_linux/test_kernel_flows.py

.PHONY: test-pages
test-pages: build ## reports in a browser (Chromium): what they draw, and that they ask nobody
	@command -v chromium >/dev/null || { \
	  echo "make: no chromium here (Debian, as root: make setup-linux, or apt-get install chromium)" >&2; exit 1; }
	env -u PYO3_PYTHON $(UV) sync --quiet --frozen --group pages --python .bootstrap/bin/python
	.venv/bin/python -m pytest python/tests_pages

.PHONY: lint
lint: build ## formatting, clippy, ruff, mypy
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	.venv/bin/ruff check $(wildcard $(PY_FILES))
	.venv/bin/ruff format --check $(wildcard $(PY_FILES))
	.venv/bin/mypy

.PHONY: format
format: build ## mend what lint says of formatting
	cargo fmt --all
	.venv/bin/ruff check --fix $(wildcard $(PY_FILES))
	.venv/bin/ruff format $(wildcard $(PY_FILES))

.PHONY: demo
demo: build ## tables and a figure of the HLDG thesis beside ours, and a page about them
	.venv/bin/python -m sojourn.demo

.PHONY: recheck
recheck: build ## a random twentieth of the newest file in results/ again: the same digests
	.venv/bin/python -m sojourn.full --check

.PHONY: peers
peers: ## the bench programs, as far as they can be built here
	cargo build --locked --profile bench -p sojourn-bench
	@$(MAKE) --no-print-directory bench/bin/floor
	@if echo '#include "ns3/core-module.h"' | $(CXX) -std=c++17 -E -x c++ - >/dev/null 2>&1; \
	 then $(MAKE) --no-print-directory bench/bin/ns3; \
	 else echo "make: no ns-3 here (as root: make setup-linux); going on without it"; fi

bench/bin/floor: bench/floor.c
	@mkdir -p bench/bin
	$(CC) -O3 -Wall -Wextra $< -o $@ -lm

bench/bin/ns3: bench/ns3.cc
	@mkdir -p bench/bin
	$(CXX) -O2 -std=c++17 $< -o $@ $(addprefix -lns3-,core network internet point-to-point traffic-control applications)

# Beside whose queues and controls ours are run.
bench/bin/ns3-%: bench/%/ns3.cc
	@mkdir -p bench/bin
	$(CXX) -O2 -std=c++17 $< -o $@ $(addprefix -lns3-,core network internet point-to-point traffic-control applications)

.PHONY: bench
bench: peers .bootstrap/uv-$(UV_VERSION) ## speed and instructions per packet, beside ns-2 and ns-3 where installed
	.bootstrap/bin/python bench/run.py speed
	@if command -v valgrind >/dev/null; then .bootstrap/bin/python bench/run.py instructions; \
	 else echo "make: no valgrind here, so instructions are not counted (as root: make setup-linux)"; fi

.PHONY: full
full: build peers ## an hour: every experiment, long property tests, all workloads; results/DATE.jsonl is committed
	.venv/bin/python -m sojourn.full --date $(TODAY)
	PROPTEST_CASES=5000 cargo test --locked --no-fail-fast
	printf '`sojourn reproduce --all`\n\n```\n' > results/$(TODAY).md
	-COLUMNS=140 NO_COLOR=1 $(SOJOURN) reproduce --all -o runs/full --html runs/full/reproduced.html >> results/$(TODAY).md
	printf '```\n\n' >> results/$(TODAY).md
	-$(SOJOURN) reproduce --all -o runs/full --json > results/$(TODAY).scores.json
	.bootstrap/bin/python bench/run.py speed --loads all --reps 5 --timeout 900 --out results/$(TODAY).md
	@if command -v valgrind >/dev/null; then \
	  .bootstrap/bin/python bench/run.py instructions --loads all --out results/$(TODAY).md; fi
	@echo "results/$(TODAY).md"

# Pages that the simulator's figures stand in; each script says which. `generate` is last: it reads what they wrote.
MEASURED := mix ablation windows close_views demo queue_state whatif loggers strange readings beyond

.PHONY: docs
docs: build ## every measured page of docs/ anew, from today's runs: twenty minutes
	@mkdir -p runs/docs
	for page in $(MEASURED); do .venv/bin/python docs/$$page.py; done
	for suite in tcpeval rfc7928; do $(SOJOURN) suite $$suite --quick --fresh --json > runs/docs/$$suite.json; done
	$(SOJOURN) suite tcpeval --few --fresh --json > runs/docs/few.json
	.venv/bin/python docs/statements.py runs/docs/tcpeval.json runs/docs/rfc7928.json runs/docs/few.json
	$(SOJOURN) suite survey --fresh --json > runs/docs/survey.json
	.venv/bin/python docs/survey.py runs/docs/survey.json
	.venv/bin/python docs/generate.py

.PHONY: docs-ns
docs-ns: build bench/bin/ns3-controls ## the tables of the pages beside ns-2 and ns-3 anew: half an hour, with both installed (setup-linux)
	.venv/bin/python bench/queues/run.py --write
	.venv/bin/python bench/controls/run.py --write

.PHONY: docs-linux
docs-linux: build ## as root: the tables of docs/linux.md anew, three quarters of an hour of real time on an idle machine
	@if [ "$$(id -u)" != 0 ]; then echo "make: docs-linux makes network namespaces; run it as root: sudo make docs-linux" >&2; exit 1; fi
	.venv/bin/python docs/linux.py

.PHONY: gate
gate: bench/bin/floor .bootstrap/uv-$(UV_VERSION) ## what CI holds of speed: instructions per delivered packet, by callgrind
	cargo build --locked --release -p sojourn-bench
	.bootstrap/bin/python bench/run.py gate

.PHONY: setup-linux
setup-linux: ## as root, on Debian or Ubuntu: what test-linux, test-pages, BPF and the bench need
	@if [ "$$(id -u)" != 0 ]; then echo "make: setup-linux installs packages; run it as root: sudo make setup-linux" >&2; exit 1; fi
	@command -v apt-get >/dev/null || { echo "make: no apt-get here; install by hand: $(PACKAGES) bpftool chromium" >&2; exit 1; }
	@missing=; for package in $(PACKAGES); do \
	  dpkg-query -W -f='$${db:Status-Status}\n' $$package 2>/dev/null | grep -qx installed || missing="$$missing $$package"; \
	done; \
	get() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$$@"; }; \
	bpf() { bpftool version >/dev/null 2>&1; }; \
	browser() { command -v chromium >/dev/null; }; \
	if [ -z "$$missing" ] && bpf && browser; then echo "make: nothing to install"; exit; fi; \
	apt-get update -qq; \
	if [ -n "$$missing" ]; then get $$missing; fi; \
	browser || get chromium || echo "make: no chromium, which only test-pages needs (Ubuntu: snap install chromium)" >&2; \
	bpf || { get bpftool && bpf; } || { \
	  echo "make: no bpftool that works here (Ubuntu: apt-get install linux-tools-common linux-tools-$$(uname -r))" >&2; exit 1; }

.PHONY: clean
clean: ## remove everything built (runs/ and results/ stay)
	rm -rf target .venv .bootstrap bench/bin python/sojourn/*.so
	find python tests bench docs examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
