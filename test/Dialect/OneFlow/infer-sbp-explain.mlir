// RUN: oneflow-opt %s --split-input-file --oneflow-infer-sbp=explain -verify-diagnostics -o /dev/null

// Every op and variable is told what was chosen for it and why: in the end, by what it
// goes along with.

oneflow.placement @mesh cpu [dp = 2]
// expected-remark@+1 {{sbp [S(1)]; dp: pinned by its storage}}
oneflow.variable @w on @mesh storage [S(1)] : tensor<4x6xf32>
func.func @pinned() {
  // expected-remark@+1 {{sbp () -> ([S(0)]); dp: pinned by default: inputs are split along dp}}
  %x = oneflow.input "x" on @mesh : tensor<8x4xf32>
  %w = oneflow.read @w on @mesh : tensor<4x6xf32>
  // expected-remark@+1 {{sbp ([S(1)], [S(0)]) -> ([P(sum)]); dp: pinned by its signature}}
  %0 = oneflow.matmul %x, %w on @mesh sbp ([S(1)], [S(0)]) -> ([P(sum)]) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // expected-remark@+1 {{pinned by its signature}}
  %1 = oneflow.relu %0 on @mesh sbp ([B]) -> ([B]) : tensor<8x6xf32>
  // expected-remark@+1 {{sbp ([B]) -> (); dp: nothing else is allowed}}
  oneflow.output "y" %1 on @mesh : tensor<8x6xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-remark@+1 {{sbp [S(0)]; p: pinned by the signature of a use}}
oneflow.variable @w on @mesh : tensor<4xf32>
// expected-remark@+1 {{sbp [S(0)]; p: pinned by being like @w}}
oneflow.variable @m like @w on @mesh : tensor<4xf32>
// expected-remark@+1 {{sbp [S(0)]; p: cheaper than B by}}
oneflow.variable @free on @mesh : tensor<4xf32>
func.func @first() {
  %w = oneflow.read @w on @mesh : tensor<4xf32>
  %m = oneflow.read @m on @mesh : tensor<4xf32>
  // expected-remark@+1 {{sbp ([S(0)], [S(0)]) -> ([S(0)]); p: follows operand 0, rather than (P(sum), P(sum)) -> (P(sum)) (from @w: pinned by the signature of a use)}}
  %0 = oneflow.add %w, %m on @mesh : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  oneflow.update @w, %0 on @mesh : tensor<4xf32>
  return
}
func.func @second() {
  %w = oneflow.read @w on @mesh sbp () -> ([S(0)]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 4]
func.func @work() {
  // expected-remark@+1 {{p: fits its use, cheaper than () -> (S(0)) by}}
  %x = oneflow.input "x" on @mesh : tensor<4x4xf32>
  // expected-remark@+1 {{p: fits its use, cheaper than (S(0), B) -> (S(0)) by}}
  %0 = oneflow.matmul %x, %x on @mesh : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{}}
  oneflow.output "small" %0 on @mesh : tensor<4x4xf32>
  // expected-remark@+1 {{}}
  %y = oneflow.input "y" on @mesh : tensor<4096x4096xf32>
  // expected-remark@+1 {{no dearer than (B, S(1)) -> (S(1))}}
  %1 = oneflow.matmul %y, %y on @mesh : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  // expected-remark@+1 {{}}
  oneflow.output "large" %1 on @mesh : tensor<4096x4096xf32>
  return
}
