// RUN: oneflow-opt %s --oneflow-infer-sbp='hints={w=S(1)@tp,node=S(0)@dp,x=B@dp}' | FileCheck %s
// RUN: oneflow-opt %s --oneflow-infer-sbp='hints={h?ads=S(0, block = 3)@tp}' | FileCheck %s --check-prefix=BLOCK
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=nodr=S(0)@dp' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=w=S(0)@pp' 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=w=S(2)@tp' 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=small=S(0)@tp' 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=w=P(sum)@tp' 2>&1 | FileCheck %s --check-prefix=PARTIAL
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=node=S(2)@tp' 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=w=S(0)@tp,?=S(1)@tp' 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=fixed=S(1)@tp' 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=w=Q@tp' 2>&1 | FileCheck %s --check-prefix=TEXT

// A node that became two ops: its result is the second's. Its gradient, a later op of
// the same name, is left alone: what it carries is no contradiction.

// CHECK: oneflow.variable @w on @mesh storage [{{.*}}, S(1)]
// CHECK: oneflow.input "x" on @mesh sbp () -> ([B, {{.*}}])
// CHECK: oneflow.matmul {{.*}} -> ([{{.*}}, {{.*}}])
// CHECK-NEXT: oneflow.add {{.*}} -> ([S(0), {{.*}}])
// CHECK: oneflow.exp {{.*}}
// CHECK: oneflow.neg {{.*}} -> ([B, B])

// BLOCK: oneflow.variable @heads on @mesh storage [B, S(0, block = 3)]
// BLOCK: oneflow.read @heads on @mesh sbp () -> ([B, S(0, block = 3)])

// NAME: error: hint 'nodr=S(0)@dp' matches no variable, input or node; nearest name: node
// AXIS: infer-sbp-hints.mlir:[[#@LINE+11]]:1: error: {{.*}}hint 'w=S(0)@pp': @mesh: no axis 'pp', the axes are: dp, tp; nearest: dp
// DIM: infer-sbp-hints.mlir:[[#@LINE+10]]:1: error: {{.*}}along 'tp': hint 'w=S(2)@tp' asks for S(2): sbp_c2: expected a dimension of a tensor of rank 2 along mesh axis 1, got: S(2); a tensor of 8x8 can lie there as: B, S(0), S(1); nearest: S(1)
// SMALL: error: {{.*}}along 'tp': hint 'small=S(0)@tp' asks for S(0): sbp_c3: expected at least 4 blocks {{.*}}; a tensor of 3 can lie there as: B; nearest: B
// PARTIAL: error: {{.*}}hint 'w=P(sum)@tp' asks for P(sum): variables and inputs are never partial
// OP: error: {{.*}}'oneflow.add' op result 0 along 'tp': hint 'node=S(2)@tp' asks for S(2): sbp_c2: {{.*}}; a tensor of 8x8 can lie there as: B, S(0), S(1); nearest: S(1)
// TWO: error: {{.*}}along 'tp': hint '?=S(1)@tp' asks for S(1), but hint 'w=S(0)@tp' asks for S(0)
// FIXED: error: {{.*}}along 'tp': hint 'fixed=S(1)@tp' asks for S(1), but its storage asks for S(0)
// TEXT: error: option hints: expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: 'w=Q@tp': expected S, B or P at column 1 of 'Q'

oneflow.placement @mesh cpu [dp = 2, tp = 4]

oneflow.variable @w on @mesh : tensor<8x8xf32>
oneflow.variable @fixed on @mesh storage [B, S(0)] : tensor<8x8xf32>
oneflow.variable @small on @mesh : tensor<3xf32>
oneflow.variable @heads on @mesh : tensor<24xf32>
oneflow.variable @bias on @mesh : tensor<8xf32>
func.func @f() {
  %x = oneflow.input "x" on @mesh : tensor<8x8xf32>
  %w = oneflow.read @w on @mesh : tensor<8x8xf32>
  %b = oneflow.read @bias on @mesh : tensor<8xf32>
  %heads = oneflow.read @heads on @mesh : tensor<24xf32>
  %0 = oneflow.matmul %x, %w on @mesh : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("node")
  %1 = oneflow.add %0, %b on @mesh : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32> loc("node")
  %2 = oneflow.exp %1 on @mesh : tensor<8x8xf32> loc("other")
  %3 = oneflow.neg %x on @mesh sbp ([B, B]) -> ([B, B]) : tensor<8x8xf32> loc("node")
  oneflow.output "y" %2 on @mesh : tensor<8x8xf32>
  return
}
