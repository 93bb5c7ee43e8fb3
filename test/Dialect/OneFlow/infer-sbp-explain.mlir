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
// expected-remark@+1 {{@m sbp [S(0)]; p: pinned by being like @w}}
oneflow.variable @m like @w on @mesh : tensor<4xf32>
// expected-remark@+1 {{@free sbp [S(0)]; p: about as cheap as B}}
oneflow.variable @free on @mesh : tensor<4xf32>
func.func @first() {
  %w = oneflow.read @w on @mesh : tensor<4xf32>
  %m = oneflow.read @m on @mesh : tensor<4xf32>
  // expected-remark@+1 {{first: add sbp ([S(0)], [S(0)]) -> ([S(0)]); p: follows operand 0, rather than (P(sum), P(sum)) -> (P(sum)), which regroups what is to stay split (0.00184 us more) (from @w: pinned by the signature of a use)}}
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
  // expected-remark@+1 {{work: input sbp () -> ([B]); p: fits its use by matmul, cheaper than () -> (S(0)) by 0.0214 us (from output 'small': nothing else is allowed)}}
  %x = oneflow.input "x" on @mesh : tensor<4x4xf32>
  // expected-remark@+1 {{p: fits its use by output 'small', about as cheap as (S(0), B) -> (S(0)) (from output 'small': nothing else is allowed)}}
  %0 = oneflow.matmul %x, %x on @mesh : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{}}
  oneflow.output "small" %0 on @mesh : tensor<4x4xf32>
  // expected-remark@+1 {{}}
  %y = oneflow.input "y" on @mesh : tensor<4096x4096xf32>
  // expected-remark@+1 {{-> ([S(0)]); p: about as cheap as (B, S(1)) -> (S(1))}}
  %1 = oneflow.matmul %y, %y on @mesh : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  // expected-remark@+1 {{}}
  oneflow.output "large" %1 on @mesh : tensor<4096x4096xf32>
  return
}

// -----

// A variable and what is like it move together: neither is the other's reason, which is what
// both would take if they lay whole.

oneflow.placement @mesh cpu [p = 2]
// expected-remark@+1 {{@w sbp [S(0)]; p: cheaper than B by 327 us}}
oneflow.variable @w on @mesh : tensor<512x512xf32>
// expected-remark@+1 {{@m sbp [S(0)]; p: lies as @w, which it is like (from @w: cheaper than B by 327 us)}}
oneflow.variable @m like @w on @mesh : tensor<512x512xf32>
func.func @step() {
  // expected-remark@+1 {{}}
  %x = oneflow.input "x" on @mesh : tensor<64x512xf32>
  %w = oneflow.read @w on @mesh : tensor<512x512xf32>
  %m = oneflow.read @m on @mesh : tensor<512x512xf32>
  // expected-remark@+1 {{step: add sbp}}
  %0 = oneflow.add %w, %m on @mesh : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  oneflow.update @m, %0 on @mesh : tensor<512x512xf32>
  // expected-remark@+1 {{}}
  %1 = oneflow.matmul %x, %0 on @mesh {oneflow.sbp = ["in1=S(0)@p"]} : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  // expected-remark@+1 {{}}
  oneflow.output "y" %1 on @mesh : tensor<64x512xf32>
  return
}
