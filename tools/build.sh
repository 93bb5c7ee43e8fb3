#!/usr/bin/env bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Configures and builds: Release, clang 22, lld 22, ninja. The one place with the
# options that all scripts and people build with.

set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/build.sh [options] [TARGET...]

Builds OneFlow MLIR into build/ (all of it, or the targets named). tools/setup.sh
has installed what this needs.

  --runtime-only     the runtime, oneflow-run and their tests, without the
                     compiler and without LLVM's libraries, into build-runtime/
  --dir DIR          another build folder
  --jobs N           compile N files at once (default: the processors at hand)
  --configure-only   stop before building
  -DNAME=VALUE       handed to CMake
  --help             show this text
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder='' jobs=$(nproc) configure_only='' runtime_only=''
options=() targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
  --runtime-only)
    runtime_only=1
    options+=(-DONEFLOW_BUILD_COMPILER=OFF)
    ;;
  --dir) folder=${2:?--dir needs a folder} && shift ;;
  --jobs) jobs=${2:?--jobs needs a number} && shift ;;
  --configure-only) configure_only=1 ;;
  -D*) options+=("$1") ;;
  --help | -h) usage && exit ;;
  -*) usage >&2 && exit 2 ;;
  *) targets+=("$1") ;;
  esac
  shift
done
folder=${folder:-$root/build${runtime_only:+-runtime}}

if [[ -x $root/.venv/bin/python ]]; then
  options=("-DPython_EXECUTABLE=$root/.venv/bin/python" "${options[@]}")
fi
if command -v ccache >/dev/null; then
  # Relative paths, so that every checkout shares what one has compiled.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
  options=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    "${options[@]}")
fi

cmake -G Ninja -S "$root" -B "$folder" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22 -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld-22 \
  -DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld-22 \
  "${options[@]}"
[[ $configure_only ]] || cmake --build "$folder" --parallel "$jobs" \
  ${targets[@]:+--target "${targets[@]}"}
