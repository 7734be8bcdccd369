#!/usr/bin/env bash
# Builds the fuzzers with clang and runs each for SECONDS (default 30) over a copy of its kept corpus.
# Fails on a crash (the input is kept in build/fuzz/artifacts) and where coverage stays below tests/fuzz/floors.txt:
# a fuzzer that no longer reaches the code it is for must not look green.
# CXX and CC choose the compiler; CHIARO_FUZZ_BUILD another build folder; FUZZERS="prompt ..." only some of them.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
build=${CHIARO_FUZZ_BUILD:-build/fuzz}
clang=${CXX:-$(command -v clang++-14 || command -v clang++ || true)}
[ -n "$clang" ] || { echo "run_fuzzers: no clang++ found (Debian: clang-14 libclang-rt-14-dev)" >&2; exit 1; }
clang_c=${CC:-${clang/clang++/clang}}

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
mkdir -p "$build"
# Only the rooms that the fuzzers link are built; with libc++, as on a Mac, so that these rooms are compiled with it in every run.
if ! { cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DCHIARO_FUZZ=ON \
         -DCHIARO_TESTS=OFF -DCHIARO_ONE_TARGET=ON -DCHIARO_LIBCXX=ON -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_C_COMPILER="$clang_c" \
         "${launcher[@]}" && cmake --build "$build" --target fuzzers; } >"$build/build.log" 2>&1; then
  tail -n 40 "$build/build.log" >&2
  echo "run_fuzzers: the build failed (all of it: $build/build.log)" >&2
  exit 1
fi

artifacts=$build/artifacts
mkdir -p "$artifacts"
failed=0
export UBSAN_OPTIONS=print_stacktrace=1
run_one() {
  local name=$1 floor=$2 corpus log=$build/$1.log status=0 runs cov
  corpus=$(mktemp -d "$build/corpus.$name.XXXXXX")
  cp tests/fuzz/corpus/"$name"/* "$corpus"/
  local options=(-max_total_time="$seconds" -seed=1 -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 -max_len=4096
                 -print_final_stats=1 -artifact_prefix="$artifacts/$name-")
  if [ -f "tests/fuzz/$name.dict" ]; then options+=(-dict="tests/fuzz/$name.dict"); fi
  "$build/tests/fuzz/fuzz_$name" "${options[@]}" "$corpus" >"$log" 2>&1 || status=$?
  rm -rf "$corpus"
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  cov=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
  echo "fuzz_$name: ${runs:-0} executions in $seconds s, coverage ${cov:-0} edges (floor $floor)"
  if [ "$status" -ne 0 ]; then
    tail -n 30 "$log" >&2
    echo "fuzz_$name: failed; the input is in $artifacts/$name-*, replay it with: $build/tests/fuzz/fuzz_$name FILE" >&2
    failed=1
  elif [ "${cov:-0}" -lt "$floor" ]; then
    echo "fuzz_$name: coverage is below the floor: does it still reach the code it is for?" >&2
    failed=1
  fi
}

while read -r name floor; do
  case $name in '' | \#*) continue ;; esac
  if [ -n "${FUZZERS:-}" ] && [[ " $FUZZERS " != *" $name "* ]]; then continue; fi
  run_one "$name" "$floor"
done <tests/fuzz/floors.txt
exit "$failed"
