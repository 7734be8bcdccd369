#!/usr/bin/env bash
# Installs the packages that Chiaro needs and that are missing; does nothing, offline, when all are there.
#   tools/install_deps.sh build   what `make demo` needs: a compiler, CMake and the libraries
#   tools/install_deps.sh test    the same and what `make test` needs: test libraries, clang 14, libc++  (the default)
#   tools/install_deps.sh list    prints the names, one a line, and installs nothing
# Debian 12 is the tested system. Homebrew is supported; elsewhere the names are printed and CMake has the last word.
set -euo pipefail

# Keep in step with the table in README.md (the check `deps` compares them).
debian_build=(build-essential cmake ninja-build pkg-config git ca-certificates libhwy-dev libcli11-dev nlohmann-json3-dev
  libfmt-dev libspdlog-dev libpng-dev libjpeg-dev libwebp-dev libicu-dev)
debian_test=(ccache python3 libgtest-dev librapidcheck-dev libbenchmark-dev
  clang-14 libclang-rt-14-dev libc++-14-dev libc++abi-14-dev clang-format-14 clang-tidy-14)
brew_build=(cmake ninja pkgconf highway cli11 nlohmann-json fmt spdlog libpng jpeg-turbo webp icu4c)
brew_test=(ccache googletest google-benchmark)

what=${1:-test}
case "$what" in
  build) debian=("${debian_build[@]}") brew=("${brew_build[@]}") ;;
  test | list)
    debian=("${debian_build[@]}" "${debian_test[@]}")
    brew=("${brew_build[@]}" "${brew_test[@]}")
    ;;
  *)
    echo "usage: $0 [build|test|list]" >&2
    exit 2
    ;;
esac
if [ "$what" = list ]; then
  printf '%s\n' "${debian[@]}"
  exit 0
fi

# Runs a command as root: as it is, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install_deps: these packages are missing and neither root nor sudo is at hand:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
}

install_debian() {
  local package
  missing=()
  for package in "${debian[@]}"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "install_deps: installing ${missing[*]}"
  as_root apt-get -o Acquire::Retries=3 -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -qq -y --no-install-recommends \
    install "${missing[@]}" </dev/null
}

install_brew() {
  local formula
  missing=()
  for formula in "${brew[@]}"; do
    brew list --formula "$formula" >/dev/null 2>&1 || missing+=("$formula")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "install_deps: installing ${missing[*]}"
  brew install "${missing[@]}"
}

if command -v dpkg >/dev/null && command -v apt-get >/dev/null; then
  install_debian
elif command -v brew >/dev/null; then
  install_brew
else
  echo "install_deps: neither apt nor Homebrew here; Chiaro needs what these Debian packages hold:"
  printf '  %s\n' "${debian[@]}"
fi
