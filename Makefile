# `make demo` and `make test` do all set-up themselves, in .venv. Needed beside make: Python 3.11
# or newer with venv and headers, and a C compiler. Choose a Python with `make PYTHON=... demo`.

VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check
ASV := ../$(BIN)/python -m asv

SOURCES := pyproject.toml meson.build meson.options tools/limited_api.py docs/pypi.md LICENSE \
	$(shell find src -type f ! -name '*.pyc' ! -name '*.so')
# The packages of an extra, as pyproject.toml lists them.
extra = $(shell $(BIN)/python -c "import tomllib; \
	p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	print(*(repr(r) for r in p['optional-dependencies']['$(1)']))")

USABLE = import ensurepip, os, sys, sysconfig, venv; \
	sys.exit(sys.version_info < (3, 11) \
	or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))

PYTHONS := $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3)
FIND_PYTHON = python=; \
	for candidate in $(PYTHONS); do \
		if "$$candidate" -c '$(USABLE)' >/dev/null 2>&1; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "No usable Python found. cappedlda needs Python 3.11 or newer with venv and headers" >&2; \
		echo "(Debian, Ubuntu: apt install python3-venv python3-dev). Tried: $(PYTHONS)." >&2; \
		exit 1; \
	fi

.DEFAULT_GOAL := help
.PHONY: help demo test engines release-check test-cpus test-sanitized fuzz lint docs wheel guard bench bench-compare speed install clean

help:
	@echo "make demo   fit plain and capped LDA to dirty data, print a table, write demo.png"
	@echo "make test   run the tests on the installed package"
	@echo "make engines  install Spark, Ray and DuckDB; the tests of what is missing are left out"
	@echo "make release-check  check the files of a release, and pages against the results they show"
	@echo "make test-cpus  test as other processors would run it, with qemu where it is installed"
	@echo "make test-sanitized  test kernels and solvers with sanitizers and bounds checks (gcc)"
	@echo "make fuzz   run the tests on hostile inputs on many more of them (EXAMPLES=2000)"
	@echo "make lint   check style, type hints and the layers"
	@echo "make docs   build the documentation in docs/_build/html"
	@echo "make wheel  build wheel and sdist in dist/, check them, test them on every Python here"
	@echo "make guard  count instructions and passes against benchmarks/guard.json"
	@echo "make bench  benchmark this commit (FULL=1: the large shapes too)"
	@echo "make bench-compare BASE=rev  has this commit become slower than another?"
	@echo "make speed  measure what docs/speed.md shows: some minutes on a quiet machine"
	@echo "make clean  remove $(VENV) and everything built"

demo: $(VENV)/installed
	@$(BIN)/cappedlda demo --out demo.png

test: $(VENV)/installed $(VENV)/test-tools
	@echo "Running some 5,300 tests on up to four cores, 3 to 6 minutes on two. A dot is a test; at the right is the share done."
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadgroup $(PYTEST_FLAGS)

engines: $(VENV)/engines

release-check: $(VENV)/installed $(VENV)/test-tools
	@$(BIN)/python -m pytest -q checks $(PYTEST_FLAGS)

# A few minutes; CPUS_FLAGS=--short: one.
test-cpus: $(VENV)/installed $(VENV)/test-tools
	@$(BIN)/python tools/cpus.py $(CPUS_FLAGS)

# Beside the installed package, in a folder of its own.
SANITIZED := $(CURDIR)/build/sanitized
test-sanitized: $(VENV)/installed $(VENV)/test-tools
	@echo "Building with address and undefined-behaviour sanitizers and bounds checks"
	@rm -rf $(SANITIZED)
	@$(PIP) install $(PIP_FLAGS) --no-deps --target $(SANITIZED) . -Csetup-args=-Dchecked=true \
		-Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
		-Csetup-args=-Dbuildtype=debugoptimized
	@PYTHONPATH=$(SANITIZED) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		$(BIN)/python -m pytest -q tests/kernels tests/initial tests/metrics tests/rules tests/solvers \
		tests/loo tests/data/test_sparse.py tests/test_cells.py $(PYTEST_FLAGS)

fuzz: $(VENV)/installed $(VENV)/test-tools
	@CAPPEDLDA_PROFILE=fuzz CAPPEDLDA_EXAMPLES=$(or $(EXAMPLES),2000) \
		$(BIN)/python -m pytest -q -m hypothesis tests/promises $(PYTEST_FLAGS)

lint: $(VENV)/lint-tools
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@PATH="$(BIN):$$PATH" $(BIN)/cython-lint src
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python tools/layers.py

docs: $(VENV)/installed $(VENV)/docs-tools
	@$(BIN)/python -m sphinx -q -W --keep-going -j auto -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Builds what is committed, and tests it outside the tree; needs no $(VENV).
wheel:
	@$(FIND_PYTHON); "$$python" tools/wheel.py $(WHEEL_FLAGS)

# Counts, it does not time: the same on a busy machine.
guard: $(VENV)/installed
	@$(BIN)/python benchmarks/guard.py $(GUARD_FLAGS)

# asv builds commits in environments of its own, below benchmarks/.asv.
bench: $(VENV)/bench-tools
	@cd benchmarks && $(ASV) machine --yes >/dev/null
	@cd benchmarks && $(if $(FULL),CAPPEDLDA_BENCH=full) $(ASV) run --quick --show-stderr 'HEAD^!'
	@cd benchmarks && $(ASV) publish >/dev/null
	@echo "Open benchmarks/.asv/html/index.html, with: cd benchmarks && ../$(BIN)/asv preview"

bench-compare: $(VENV)/bench-tools
	@test -n "$(BASE)" || { echo "Say with what: make bench-compare BASE=revision" >&2; exit 2; }
	@$(BIN)/python benchmarks/compare.py $(BASE) HEAD $(COMPARE_FLAGS)

speed: $(VENV)/installed $(VENV)/bench-tools
	@$(BIN)/python benchmarks/speed.py $(SPEED_FLAGS)

install: $(VENV)/installed

clean:
	@rm -rf docs/_build docs/examples docs/api/generated
	@rm -rf $(VENV) build dist benchmarks/.asv demo.png .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/pyvenv.cfg:
	@$(FIND_PYTHON); \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV)

$(VENV)/installed: $(VENV)/pyvenv.cfg $(SOURCES)
	@command -v $${CC:-cc} >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		{ echo "No C compiler found (Debian, Ubuntu: apt install gcc)." >&2; exit 1; }
	@echo "Building cappedlda with Cython and C, and installing it in $(VENV) (a minute or two)"
	@$(PIP) install $(PIP_FLAGS) ".[cli]"
	@touch $@

$(VENV)/test-tools: $(VENV)/pyvenv.cfg pyproject.toml
	@echo "Installing what the tests need in $(VENV) (some hundred megabytes)"
	@$(PIP) install $(PIP_FLAGS) $(call extra,test)
	@touch $@

# Some of these are large; without them the tests say what they leave out.
$(VENV)/engines: $(VENV)/pyvenv.cfg pyproject.toml
	@echo "Installing Spark, Ray and DuckDB for their tests in $(VENV) (a gigabyte)"
	@$(PIP) install $(PIP_FLAGS) $(call extra,engines) || { \
		echo "Not all of them can be installed here: trying each by itself" >&2; missing=; \
		for engine in $(call extra,engines); do \
			$(PIP) install $(PIP_FLAGS) "$$engine" || missing="$$missing $$engine"; \
		done; \
		[ -z "$$missing" ] || { echo "Cannot be installed here:$$missing" >&2; exit 1; }; }
	@touch $@

$(VENV)/docs-tools: $(VENV)/pyvenv.cfg pyproject.toml
	@echo "Installing what the documentation needs, then building it (a few minutes)"
	@$(PIP) install $(PIP_FLAGS) $(call extra,docs) $(call extra,onnx) $(call extra,dask)
	@touch $@

$(VENV)/lint-tools: $(VENV)/pyvenv.cfg pyproject.toml
	@$(PIP) install $(PIP_FLAGS) $(call extra,lint)
	@touch $@

$(VENV)/bench-tools: $(VENV)/pyvenv.cfg pyproject.toml
	@$(PIP) install $(PIP_FLAGS) $(call extra,bench)
	@$(PIP) install $(PIP_FLAGS) $(call extra,peers) || \
		echo "tabmat cannot be installed here: comparisons with it are left out." >&2
	@touch $@
