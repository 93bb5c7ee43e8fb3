#!/usr/bin/env bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The C and C++ sources in LLVM's format, with the one version of clang-format whose
# opinion counts.

set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/format.sh [--check] [--clang-format PROGRAM] [FILE...]

Formats the checkout's C and C++ sources (or the files named) in place.

  --check                 change nothing; list what would change and exit with 1
  --clang-format PROGRAM  default clang-format-22
  --help                  show this text
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
check='' program=clang-format-22 files=()
while [[ $# -gt 0 ]]; do
  case $1 in
  --check) check=1 ;;
  --clang-format) program=${2:?--clang-format needs a program} && shift ;;
  --help | -h) usage && exit ;;
  -*) usage >&2 && exit 2 ;;
  *) files+=("$1") ;;
  esac
  shift
done

cd "$root"
if [[ ${#files[@]} -eq 0 ]]; then
  mapfile -t files < <(git ls-files --cached --others --exclude-standard \
    '*.h' '*.cpp' '*.c' | sort -u)
fi
if [[ ! $check ]]; then
  exec "$program" -i "${files[@]}"
fi
# Only the names: the cure is the same for all.
wrong=$("$program" --dry-run "${files[@]}" 2>&1 |
  sed -nE 's/^([^:]+):[0-9]+:[0-9]+: (warning|error): code should be clang-formatted.*/\1/p' | sort -u)
if [[ $wrong ]]; then
  printf '%s\n' "$wrong"
  printf 'error: %d of %d files are not formatted; run tools/format.sh\n' \
    "$(wc -l <<<"$wrong")" "${#files[@]}" >&2
  exit 1
fi
printf '%d files are formatted\n' "${#files[@]}"
