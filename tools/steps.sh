# shellcheck shell=bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the scripts beside it: numbered steps whose output goes to a log.
#
#   steps_begin 3 build/logs
#   step "build the tools" cmake --build build
#
# On a terminal a step shows the last line of its log while it runs; elsewhere a line
# when it begins, one a minute while it runs, and one when it ends. A step that
# fails prints the end of its log and ends the script with the step's status.

steps_begin() { # count folder-of-logs
  # shellcheck disable=SC2034 # steps_started is for the scripts
  steps_total=$1 steps_logs=$2 steps_done=0 steps_started=$SECONDS
  mkdir -p "$steps_logs"
  steps_live=
  [[ -t 1 && ${TERM:-dumb} != dumb && -z ${CI:-} ]] && steps_live=1
  return 0
}

# Seconds as 0:07 or 12:34.
steps_duration() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# The last line of a log: of a long build the part that moves.
steps_tail() {
  tail -c 400 "$1" 2>/dev/null | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 || true
}

step() { # title command...
  local title=$1 label log pid status=0 began=$SECONDS reported=$SECONDS line width
  shift
  steps_done=$((steps_done + 1))
  label="[$steps_done/$steps_total] $title"
  log=$steps_logs/$(printf '%02d' "$steps_done")-$(tr -cs 'a-zA-Z0-9\n' '-' <<<"$title").log
  log=${log/-.log/.log}
  if [[ ! $steps_live ]]; then
    printf '%s ...\n' "$label"
  fi
  # Job control gives the step a process group of its own, so that interrupting the
  # script ends all that the step started.
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -- "-$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true
        printf "\ninterrupted during: %s\n" "$title" >&2; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    if [[ $steps_live ]]; then
      width=$(tput cols 2>/dev/null || echo 80)
      line="$label  $(steps_duration $((SECONDS - began)))  $(steps_tail "$log")"
      printf '\r\033[K%s' "${line:0:$((width - 1))}"
      sleep 0.2
    else
      if ((SECONDS - reported >= 60)); then
        reported=$SECONDS
        line=$(steps_tail "$log")
        printf '      %s  %s\n' "$(steps_duration $((SECONDS - began)))" "${line:0:100}"
      fi
      sleep 0.1
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [[ ! $steps_live ]] || printf '\r\033[K'
  if [[ $status -ne 0 ]]; then
    printf '%s: failed after %s (exit status %d)\n' \
      "$label" "$(steps_duration $((SECONDS - began)))" "$status" >&2
    printf '\nthe end of %s:\n\n' "$log" >&2
    tail -n "${steps_failure_lines:-30}" "$log" >&2
    printf '\nerror: "%s" failed; all of its output is in %s\n' "$title" "$log" >&2
    exit "$status"
  fi
  printf '%s: done in %s\n' "$label" "$(steps_duration $((SECONDS - began)))"
}

# tools/setup.sh as a step; shown as it runs where it may ask for a password.
step_setup() {
  local setup
  setup=$(dirname "${BASH_SOURCE[0]}")/setup.sh
  if [[ $EUID -eq 0 ]] || "$setup" --check >/dev/null; then
    step "install what is missing" "$setup"
    return
  fi
  steps_done=$((steps_done + 1))
  printf '[%d/%d] install what is missing ...\n' "$steps_done" "$steps_total"
  "$setup"
}
