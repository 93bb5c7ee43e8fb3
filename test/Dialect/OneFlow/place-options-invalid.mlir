// RUN: not oneflow-opt %s --oneflow-place='mesh=dp=two' 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not oneflow-opt %s --oneflow-place='mesh=dp=2,dp=2' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not oneflow-opt %s --oneflow-place='mesh=dp=0' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not oneflow-opt %s --oneflow-place='device=tpu' 2>&1 | FileCheck %s --check-prefix=DEVICE

// SIZE: error: option mesh: expected AXIS=SIZE, separated by commas, got: 'dp=two' in 'dp=two'
// TWICE: error: option mesh: expected distinct axis names, got 'dp' twice in 'dp=2,dp=2'
// ZERO: error: option mesh: expected a positive size, got: 'dp=0' in 'dp=0'
// DEVICE: error: option device: expected cpu or cuda, got: 'tpu'

func.func @f() {
  return
}
