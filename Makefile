# The front door: every target is a thin call of CMake presets or of a script in tools/. `make help` lists them.
# Works with GNU make 3.81 (macOS) and later. JOBS=n sets the number of compile jobs.
PROMPT ?= a red apple on a blue background
OUT ?= chiaro.png
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 30
# The test programs that `make test` runs under AddressSanitizer and UBSan: files, memory, kernels, the interfaces.
# `make test-full` runs all quick ones.
ASAN_TESTS ?= core graph gpu softmetal metal ops ops_blocks ops_elementwise runtime weights text pipeline image api c_api
# The test programs that `make test` runs under ThreadSanitizer: those of the threads themselves. `make test-full` runs nearly all.
TSAN_TESTS ?= core
# Objects compiled in one checkout are found again from another: the folder is not part of ccache's key.
export CCACHE_NOHASHDIR = 1
export CCACHE_BASEDIR = $(CURDIR)
export PROMPT
export OUT

PART = tools/part.sh
# For ctest -R: these programs and no other.
only = '^($(shell echo $(1) | tr ' ' '|'))$$'
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help deps deps-build build demo test test-full release-test bench format format-check lint asan asan-full tsan tsan-full \
  libcxx fuzz docs cuda mac-check clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## Install the missing packages for building and testing
	@tools/install_deps.sh test

deps-build:
	@tools/install_deps.sh build

build: deps-build ## Build the release preset (build/release)
	@$(PART) "configure release" cmake --preset release -DCHIARO_TESTS=OFF
	cmake --build --preset release -j $(JOBS) --target chiaro

demo: build ## Make a picture: make demo PROMPT="a red apple on a blue background" OUT=chiaro.png
	build/release/apps/cli/chiaro -p "$$PROMPT" -o "$$OUT"
	@echo "The picture is $$OUT"

# A part that fails does not keep the next ones from running: one run shows everything that is wrong.
test: deps ## Run the tests that CI runs (an hour or more on 2 cores from nothing)
	@$(PART) --start
	@failed=; for part in release-test asan tsan fuzz; do \
	  $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; $(PART) --summary; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

test-full: deps ## The same, then the long tests and mutants, all under ThreadSanitizer, clang with libc++, long fuzzing, clang-tidy
	@$(MAKE) --no-print-directory test
	@$(PART) --start
	@$(PART) "long tests" ctest --preset release -C full -L full -j $(JOBS)
	@$(MAKE) --no-print-directory asan-full libcxx tsan-full lint
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=720
	@$(PART) --summary

release-test: deps
	@$(PART) "configure release" cmake --preset release -DCHIARO_TESTS=ON
	@$(PART) "build release" cmake --build --preset release -j $(JOBS)
	@$(PART) "test release" ctest --preset release -j $(JOBS)

asan: deps ## The tests of ASAN_TESTS under AddressSanitizer and UBSan (dev preset)
	@$(PART) "configure dev" cmake --preset dev
	@$(PART) "build dev" cmake --build --preset dev -j $(JOBS) --target $(ASAN_TESTS:%=test_%)
	@$(PART) "test dev (ASan, UBSan)" ctest --preset dev -j $(JOBS) -R $(call only,$(ASAN_TESTS))

asan-full: deps ## All quick tests under AddressSanitizer and UBSan
	@$(PART) "configure dev" cmake --preset dev
	@$(PART) "build dev, all" cmake --build --preset dev -j $(JOBS) --target quick_tests
	@$(PART) "test dev (ASan, UBSan), all" ctest --preset dev -j $(JOBS)

tsan: deps ## The tests of TSAN_TESTS (core) under ThreadSanitizer
	@$(PART) "configure tsan" cmake --preset tsan
	@$(PART) "build tsan" cmake --build --preset tsan -j $(JOBS) --target $(TSAN_TESTS:%=test_%)
	@$(PART) "test tsan" ctest --preset tsan -R $(call only,$(TSAN_TESTS))

tsan-full: deps
	@$(PART) "configure tsan" cmake --preset tsan
	@$(PART) "build tsan, all" cmake --build --preset tsan -j $(JOBS)
	@$(PART) "test tsan, all" ctest --preset tsan -LE "checks|e2e" -j $(JOBS)

libcxx: deps ## Build everything with clang and libc++, as on a Mac, and run the quick tests
	@$(PART) "configure clang-libcxx" cmake --preset clang-libcxx
	@$(PART) "build clang-libcxx" cmake --build --preset clang-libcxx -j $(JOBS)
	@$(PART) "test clang-libcxx" ctest --preset clang-libcxx -j $(JOBS)

fuzz: deps ## Build the fuzzers with clang and libc++, and run each for FUZZ_SECONDS (30)
	@$(PART) "fuzz, $(FUZZ_SECONDS) s each" tools/run_fuzzers.sh $(FUZZ_SECONDS)

bench: build ## Time the operations against the machine's ceilings
	build/release/apps/cli/chiaro ops bench

format: ## Rewrite the C++ files in the house style
	@python3 tests/checks/run.py format --fix .

format-check: ## Say which files differ from the house style
	@python3 tests/checks/run.py format .

lint: deps ## All source checks, and clang-tidy on every file (tidy preset)
	@$(PART) "source checks" python3 tests/checks/run.py all .
	@$(PART) "configure tidy" cmake --preset tidy
	@$(PART) "clang-tidy" cmake --build --preset tidy -j $(JOBS)

docs: deps ## Write docs/generated anew from the declarations
	@$(PART) "configure release" cmake --preset release -DCHIARO_TESTS=ON
	@$(PART) "build test_ops" cmake --build --preset release -j $(JOBS) --target test_ops test_gpu_plans
	CHIARO_UPDATE_DOCS=1 build/release/tests/ops/test_ops --gtest_filter='OpsDocs.*' --gtest_brief=1
	CHIARO_UPDATE_DOCS=1 build/release/tests/gpu/test_gpu_plans --gtest_filter='KernelsDocs.*' --gtest_brief=1

cuda: deps ## Compile every GPU kernel with nvcc, where it is installed (there is no CUDA device yet)
	@$(PART) "configure release" cmake --preset release
	@$(PART) "compile for CUDA" cmake --build --preset release -j $(JOBS) --target cuda-check

mac-check: ## On a Mac: build, test, check Metal, and write one report (build/mac-check)
	@tools/mac_check.sh

clean: ## Remove the build folders
	rm -rf build
