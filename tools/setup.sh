#!/usr/bin/env bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what building and testing needs and is not there yet: Debian packages
# and, into .venv of this checkout, the Python packages of python/requirements.txt.
# Takes a second when nothing is missing.

set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/setup.sh [--check]

Installs what building and testing OneFlow MLIR needs (Debian 12):
  - Debian packages, with sudo when not run as root
  - a Python environment in .venv, with the packages of python/requirements.txt

  --check   install nothing; list what is missing and exit with 1 if anything is
  --help    show this text

Environment: ONEFLOW_SKIP_PACKAGES=1 leaves Debian's packages alone, for machines
that get the same things from elsewhere.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
requirements=$root/python/requirements.txt
venv=$root/.venv

# docs/dependencies.md has the reason for each.
packages=(
  # The compiler: LLVM and MLIR, its linker, and what lld itself links to.
  clang-22 lld-22 liblld-22-dev llvm-22 llvm-22-dev llvm-22-tools
  libmlir-22-dev mlir-22-tools libclang-rt-22-dev libzstd-dev zlib1g-dev
  # The plan file, ONNX, tensor files, MPI.
  flatbuffers-compiler libflatbuffers-dev libprotobuf-dev protobuf-compiler
  libzip-dev nlohmann-json3-dev libopenmpi-dev openmpi-bin
  # Building and testing.
  cmake ninja-build pkg-config ccache libgtest-dev python3-venv
  clang-format-22 clang-tidy-22
)

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

install_packages() {
  local missing sudo=()
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "these packages are missing, and this is neither root nor is there sudo:" \
        "${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  # A failed update is no reason to stop: the lists that are there may do.
  "${apt[@]}" update -q || say "apt-get update failed, going on with the old lists"
  "${apt[@]}" install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]} (Debian 12 has them all)"
}

# The first Python that is new enough and can make environments.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
      2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

# What the environment was made from; made anew when it changes.
stamp() { sha256sum <"$requirements" | cut -d' ' -f1; }

venv_is_current() {
  [[ -x $venv/bin/python && $(cat "$venv/.requirements" 2>/dev/null) == "$(stamp)" ]] &&
    "$venv/bin/python" -c '' 2>/dev/null
}

make_venv() {
  venv_is_current && return 0
  local python
  python=$(find_python) || die "no python3 of version 3.11 or later with the module venv"
  say "making .venv with $("$python" --version)"
  rm -rf "$venv"
  "$python" -m venv "$venv"
  local pip=("$venv/bin/python" -m pip --disable-pip-version-check install
    --quiet --require-virtualenv -r "$requirements")
  # Once more, because a registry may be out of reach for a moment.
  "${pip[@]}" || {
    say "pip failed, trying once more"
    sleep 5
    "${pip[@]}" || die "pip could not install python/requirements.txt into .venv"
  }
  stamp >"$venv/.requirements"
}

check() {
  local missing=()
  [[ ${ONEFLOW_SKIP_PACKAGES:-} == 1 ]] || mapfile -t missing < <(missing_packages)
  venv_is_current || missing+=(".venv")
  if [[ ${#missing[@]} -gt 0 ]]; then
    say "missing: ${missing[*]}"
    return 1
  fi
  say "nothing is missing"
}

case ${1:-} in
--help | -h)
  usage
  exit
  ;;
--check)
  check
  exit
  ;;
"") ;;
*)
  usage >&2
  exit 2
  ;;
esac

if [[ ${ONEFLOW_SKIP_PACKAGES:-} != 1 ]]; then
  command -v dpkg-query >/dev/null ||
    die "this is no Debian; install what docs/dependencies.md lists and set ONEFLOW_SKIP_PACKAGES=1"
  install_packages
fi
make_venv
check
