#!/usr/bin/env bash
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From a fresh checkout to trained models: installs, builds, trains one ONNX model
# three ways, and has onnxruntime judge each result.

set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/quickstart.sh [options]

Installs what is missing, builds, and trains a classifier of handwritten digits:
on one rank, on two ranks with the batch split (dp=2), and on two ranks with the
weights split (tp=2); each once with ranks as threads of one process and once with
ranks as processes under mpirun. The trained weights are written back into the ONNX
model, which onnxruntime then runs on held-out samples. Fails unless every model
reaches 97 % there and onnxruntime predicts what oneflow-run predicts.

  --epochs N     passes over the data (default 40)
  --no-install   do not run tools/setup.sh
  --no-build     use what is in build/
  --bin DIR      use these tools instead of building any
  --python PROG  use this Python (default: that of .venv)
  --output DIR   where to work (default build/quickstart)
  --jobs N       compile N files at once (default: the processors at hand)
  --help         show this text
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
epochs=40 python='' install=1 build=1 jobs=$(nproc) bin=$root/build/bin output=$root/build/quickstart
while [[ $# -gt 0 ]]; do
  case $1 in
  --epochs) epochs=${2:?--epochs needs a number} && shift ;;
  --no-install) install='' ;;
  --no-build) build='' ;;
  --bin) bin=$(cd "${2:?--bin needs a folder}" && pwd) && build='' && shift ;;
  --python) python=$(command -v "${2:?--python needs a program}") && shift ;;
  --output) output=${2:?--output needs a folder} && shift ;;
  --jobs) jobs=${2:?--jobs needs a number} && shift ;;
  --help | -h) usage && exit ;;
  *) usage >&2 && exit 2 ;;
  esac
  shift
done
mkdir -p "$output"
output=$(cd "$output" && pwd)
cd "$output"
readonly minimum=0.97

# shellcheck source=tools/steps.sh
source "$root/tools/steps.sh"
[[ $python ]] || python=$root/.venv/bin/python

# One step each for plans, training, mpirun, onnxruntime, predictions; and the data.
steps_begin $((6 + ${install:-0} + 2 * ${build:-0})) "$output/logs"

declare -A ranks=([one]=1 [dp]=2 [tp]=2)
declare -A mesh=([one]=dp=1 [dp]=dp=2 [tp]=tp=2)
# Tensor parallel as in Megatron: the first layer by its outputs, the second by its
# inputs, so that no rank needs the other's activations between the two.
declare -A pins=([tp]="--sbp fc1.*=S(0)@tp --sbp fc2.weight=S(1)@tp --sbp fc3.*=S(0)@tp")
plans=(one dp tp)

compile_plans() {
  local plan options
  for plan in "${plans[@]}"; do
    read -ra options <<<"${pins[$plan]:-}"
    "$bin/oneflow-compile" digits_mlp.onnx --dim batch=64 --train --verbose --explain \
      --mesh "${mesh[$plan]}" "${options[@]}" -o "$plan.ofp"
  done
}

train() { # plan launcher-name launcher...
  local plan=$1 name=$1-$2
  shift 2
  "$@" "$bin/oneflow-run" train "$plan.ofp" --data digits_train.npz \
    --validation digits_test.npz --epochs "$epochs" --save "$name.safetensors" \
    --save-onnx "$name.onnx" --loss-log "$name.csv"
}

train_local() {
  local plan
  for plan in "${plans[@]}"; do train "$plan" local; done
}

train_mpi() {
  local plan options=(--oversubscribe)
  # mpirun refuses root unless told; containers often have no other user.
  [[ $EUID -ne 0 ]] || options+=(--allow-run-as-root)
  for plan in "${plans[@]}"; do
    train "$plan" mpi mpirun -n "${ranks[$plan]}" "${options[@]}"
  done
}

# What oneflow-run makes of the held-out samples with the trained weights.
infer() {
  local plan way
  for plan in "${plans[@]}"; do
    for way in local mpi; do
      "$bin/oneflow-run" infer "$plan.ofp" --entry eval \
        --weights "$plan-$way.safetensors" --input digits_test.npz \
        --output "$plan-$way-scores.npz"
    done
  done
}

# The same from onnxruntime, compared with it: scores reach tens, so 1e-4 is a few
# units in the last place of float32 after sums of 128 terms.
judge() {
  local plan way
  for plan in "${plans[@]}"; do
    for way in local mpi; do
      "$python" "$root/python/models/evaluate.py" "$plan-$way.onnx" digits_test.npz \
        --compare "$plan-$way-scores.npz" --key logits --max-abs 1e-4 \
        >"$plan-$way.json" || {
        cat "$plan-$way.json"
        echo "$plan-$way: onnxruntime's scores differ from oneflow-run's"
        return 1
      }
    done
  done
}

report() {
  "$python" - "$minimum" "${plans[@]}" <<'PYTHON'
import csv, json, sys

minimum, plans = float(sys.argv[1]), sys.argv[2:]
ranks = {"one": "1 rank", "dp": "2 ranks, dp=2", "tp": "2 ranks, tp=2"}
ways = {"local": "threads", "mpi": "mpirun"}
failures = []
print(f"{'mesh':<15}{'ranks are':<11}{'last loss':>10}{'accuracy':>10}{'same predictions':>18}{'largest difference':>20}")
for plan in plans:
    for way in ways:
        with open(f"{plan}-{way}.json") as file:
            result = json.load(file)
        with open(f"{plan}-{way}.csv") as file:
            loss = float(list(csv.reader(file))[-1][-1])
        accuracy, agreement = result["accuracy"], result["prediction_agreement"]
        print(f"{ranks[plan]:<15}{ways[way]:<11}{loss:>10.5f}{accuracy:>10.2%}{agreement:>18.2%}{result['max_abs_diff']:>20.1e}")
        if not accuracy >= minimum:
            failures.append(f"{plan}-{way}: expected an accuracy of {minimum:.0%} or more, got: {accuracy:.2%}")
        if agreement != 1:
            failures.append(f"{plan}-{way}: onnxruntime predicts otherwise for {1 - agreement:.2%} of the samples")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
PYTHON
}

[[ ! $install ]] || step_setup
if [[ $build ]]; then
  step "configure" "$root/tools/build.sh" --configure-only
  step "build" "$root/tools/build.sh" --jobs "$jobs"
fi
for tool in oneflow-compile oneflow-run; do
  [[ -x $bin/$tool ]] || {
    echo "error: $bin/$tool is missing; run without --no-build" >&2
    exit 1
  }
done
step "make the digits data and an untrained model" \
  "$python" "$root/python/models/digits.py" --output "$output"
step "compile for 1 rank, dp=2 and tp=2" compile_plans
step "train, ranks as threads" train_local
step "train, ranks as processes under mpirun" train_mpi
step "predict with oneflow-run" infer
step "predict and compare with onnxruntime" judge

printf '\n'
report || {
  printf '\nerror: the trained models are not what they should be, see above\n' >&2
  exit 1
}
cat <<TEXT

What happened: an untrained ONNX classifier was compiled into three plans, trained on
1437 samples of handwritten digits, written back as ONNX and run by onnxruntime on
360 samples that training never saw; "same predictions" counts where it agrees with
oneflow-run. All of it took $(steps_duration $((SECONDS - steps_started))).

  $output/
    digits_mlp.onnx      the untrained model
    one.ofp dp.ofp tp.ofp     the plans
    *-local.* *-mpi.*    trained models (.onnx, .safetensors) and losses (.csv)
    logs/                what every step printed; the compiler's log lists
                         each communication with its bytes

Next: docs/overview.md, or "$bin/oneflow-compile --help".
TEXT
