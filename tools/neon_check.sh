#!/usr/bin/env bash
# Runs tests of the CPU kernels as NEON code: cross-compiled for 64-bit Arm, executed by qemu-user. Debian only.
#   tools/neon_check.sh [TEST...]     default: test_core test_ops_blocks test_ops_elementwise; others: test_ops, ...
# It lets dpkg know the architecture arm64, and installs a cross compiler and an emulator; the libraries for Arm are
# unpacked into build/neon/root, not installed. Some 20 minutes of two processors. Emulated floating point is exact, so
# results are those of an Arm processor; times are not.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(test_core test_ops_blocks test_ops_elementwise)
root=$PWD/build/neon/root
libraries=(libhwy-dev libhwy1 libfmt-dev libfmt9 libspdlog-dev libspdlog1.10 libgtest-dev libgmock-dev librapidcheck-dev
  libpng-dev libpng16-16 zlib1g-dev zlib1g libjpeg62-turbo-dev libjpeg62-turbo libwebp-dev libwebp7 libicu-dev libicu72)
headers=(nlohmann-json3-dev libcli11-dev)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
  as_root apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install g++-aarch64-linux-gnu qemu-user-static </dev/null
fi
if [ ! -e "$root/unpacked" ]; then
  dpkg --print-foreign-architectures | grep -qx arm64 || as_root dpkg --add-architecture arm64
  as_root apt-get -qq update
  mkdir -p "$root/debs"
  (cd "$root/debs" && apt-get -qq download "${libraries[@]/%/:arm64}" "${headers[@]}")
  for package in "$root"/debs/*.deb; do dpkg -x "$package" "$root"; done
  touch "$root/unpacked"
fi

export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig
export PKG_CONFIG_SYSROOT_DIR=$root
cmake -S . -B build/neon/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCHIARO_TESTS=ON \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/aarch64-linux-gnu.cmake" -DCHIARO_ARM64_ROOT="$root"
cmake --build build/neon/build --target "${tests[@]}"
# What asks the system for limits and huge pages gets qemu's answers.
export GTEST_FILTER='-Limits.*:SystemAllocator.LargeBlocksAskForHugePages'
for test in "${tests[@]}"; do
  program=$(find build/neon/build/tests -type f -name "$test")
  echo "$test"
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu" "$program" --gtest_brief=1
done
