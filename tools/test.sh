#!/usr/bin/env bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs, builds and runs every test. What continuous integration calls.

set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/test.sh [options]

Installs what is missing, builds everything, and runs every test through ctest; then
builds the runtime alone, without the compiler, and runs its tests. Ends with the
skipped tests and their reasons (test/skips.txt) and a line "tests: N passed, N
failed". Exits with 0 when nothing failed.

  --filter REGEX     run the tests whose names match (ctest -R)
  --exclude REGEX    leave out the tests whose names match (ctest -E)
  --no-install       do not run tools/setup.sh
  --no-build         use what is in build/ (and build-runtime/)
  --no-runtime-only  leave out the build of the runtime alone
  --jobs N           compile N files, run N tests at once (default: the processors)
  --list             build, then list the tests instead of running them
  --help             show this text
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
install=1 build=1 runtime_only=1 list='' jobs=$(nproc) selection=()
while [[ $# -gt 0 ]]; do
  case $1 in
  --filter) selection+=(-R "${2:?--filter needs a regular expression}") && shift ;;
  --exclude) selection+=(-E "${2:?--exclude needs a regular expression}") && shift ;;
  --no-install) install='' ;;
  --no-build) build='' ;;
  --no-runtime-only) runtime_only='' ;;
  --jobs) jobs=${2:?--jobs needs a number} && shift ;;
  --list) list=1 ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done

# shellcheck source=tools/steps.sh
source "$root/tools/steps.sh"
python=$root/.venv/bin/python
[[ -x $python || $install ]] || python=python3
folders=("$root/build" ${runtime_only:+"$root/build-runtime"})

steps_begin $((${install:-0} + ${build:+2} + ${build:+${runtime_only:-0}})) \
  "$root/build/logs"
[[ ! $install ]] || step_setup
if [[ $build ]]; then
  step "configure" "$root/tools/build.sh" --configure-only
  step "build" "$root/tools/build.sh" --jobs "$jobs"
  if [[ $runtime_only ]]; then
    step "build the runtime without the compiler" \
      "$root/tools/build.sh" --runtime-only --jobs "$jobs"
  fi
fi

if [[ $list ]]; then
  ctest --test-dir "$root/build" -N "${selection[@]}"
  exit
fi

# So that the reasons of cases skipped inside a test reach its log.
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -rs"
# Colors would end up in the logs and hide skips from the summary: mpirun gives its
# processes a terminal.
export NO_COLOR=1 GTEST_COLOR=no
status=0
for folder in "${folders[@]}"; do
  printf '\ntests of %s\n' "${folder#"$root"/}"
  rm -f "$folder/tests.xml"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" \
    --timeout 600 --test-output-size-passed 1048576 --output-junit "$folder/tests.xml" "${selection[@]}" </dev/null ||
    status=$?
done
printf '\n'
"$python" "$root/test/summarize.py" --skips "$root/test/skips.txt" \
  "${folders[@]/%//tests.xml}" || status=$?
exit "$status"
