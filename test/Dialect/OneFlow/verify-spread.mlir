// RUN: oneflow-opt %s --split-input-file --oneflow-verify-spread -verify-diagnostics

// A graph that is spread: no error. Blocks that cut at the same places feed each
// other.

oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w on @mesh storage [S(0)] : tensor<4xf32>
func.func @good() {
  %w = oneflow.read @w on @mesh sbp () -> ([S(0)]) : tensor<4xf32>
  %0 = oneflow.relu %w on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<4xf32>
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0, block = 2)]) : tensor<4xf32>
  %1 = oneflow.add %0, %x on @mesh sbp ([S(0)], [S(0)]) -> ([S(0)]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  oneflow.update @w, %1 on @mesh sbp ([S(0)]) -> () : tensor<4xf32>
  return
}

// -----

func.func @unplaced() {
  // expected-error@+1 {{expected a placement, got none}}
  %x = oneflow.input "x" : tensor<4xf32>
  return
}

// -----

func.func @missing() {
  // expected-error@+1 {{expected the symbol of a placement, got: @nowhere}}
  %x = oneflow.input "x" on @nowhere : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @unsigned() {
  // expected-error@+1 {{expected a signature, got none}}
  %x = oneflow.input "x" on @mesh : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @rule() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<4xf32>
  // expected-error@+1 {{which this op does not allow; this op allows for these shapes: (B) -> (B), (S(0)) -> (S(0)), (P(max)) -> (P(max)), (P(min)) -> (P(min)); nearest:}}
  %0 = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([P(sum)]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @states() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-error@+1 {{expected a signature of 1 operands and 0 results}}
  oneflow.output "x" %x on @mesh sbp ([B], [B]) -> () : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @decompose() {
  %x = oneflow.input "x" on @mesh sbp () -> ([S(1)]) : tensor<4x6xf32>
  // expected-error@+1 {{splits, along 'p', what the op needs whole; oneflow-decompose-split replaces it}}
  %0 = oneflow.softmax %x dim 1 on @mesh sbp ([S(1)]) -> ([S(1)]) : tensor<4x6xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @unboxed() {
  // expected-note@+1 {{it comes from here}}
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<4xf32>
  // expected-error@+1 {{expected operand 0 as [B] on @mesh, got: [S(0)] on @mesh; oneflow-insert-boxing changes it}}
  %0 = oneflow.relu %x on @mesh sbp ([B]) -> ([B]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
oneflow.placement @tail cpu [p = 2] from 2
func.func @elsewhere() {
  // expected-note@+1 {{it comes from here}}
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-error@+1 {{expected operand 0 as [B] on @tail, got: [B] on @mesh}}
  %0 = oneflow.relu %x on @tail sbp ([B]) -> ([B]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w on @mesh storage [S(0)] : tensor<4xf32>
func.func @storage() {
  // expected-error@+1 {{expected the storage of the variable, [S(0)], got: [B]}}
  %w = oneflow.read @w on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-error@+1 {{expected the storage of the variable, [S(0)], got: [B]}}
  oneflow.update @w, %w on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{expected a storage, got none}}
oneflow.variable @unstored on @mesh : tensor<4xf32>
// expected-error@+1 {{expected a placement}}
oneflow.variable @unplaced storage [B] : tensor<4xf32>
// expected-error@+1 {{storage: sbp_c2}}
oneflow.variable @illegal on @mesh storage [S(1)] : tensor<4xf32>
// expected-error@+1 {{expected a storage of splits and broadcasts, got: [P(sum)]}}
oneflow.variable @partial on @mesh storage [P(sum)] : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 8]
func.func @boxing() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-error@+1 {{result 0: sbp_c3}}
  %0 = oneflow.boxing %x on @mesh sbp ([B]) -> ([S(0)]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @two_inputs() {
  // expected-note@+1 {{it has this name, too}}
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-error@+1 {{expected distinct names of inputs, got "x" twice}}
  %y = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<3xf32>
  oneflow.output "x" %x on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @two_outputs() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-note@+1 {{it has this name, too}}
  oneflow.output "r" %x on @mesh sbp ([B]) -> () : tensor<4xf32>
  // expected-error@+1 {{expected distinct names of outputs, got "r" twice}}
  oneflow.output "r" %x on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [dp = 1]
oneflow.variable @w on @mesh storage [B] : tensor<4xf32>

func.func @two_updates() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<4xf32>
  // expected-note @below {{it is updated here, too}}
  oneflow.update @w, %x on @mesh sbp ([B]) -> () : tensor<4xf32>
  // expected-error @below {{expected at most one update of @w in a function, got another}}
  oneflow.update @w, %x on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// -----

// Parts that tile their wholes, whatever the order: no error.
oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w.1 part of "w" [4, 6] at dim 1 offset 2 on @mesh storage [S(1)] : tensor<4x4xf32>
oneflow.variable @w.0 part of "w" [4, 6] at dim 1 offset 0 on @mesh storage [B] : tensor<4x2xf32>
oneflow.variable @all part of "v" [4] at dim 0 offset 0 on @mesh storage [B] : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<2xf32>
// expected-error@+1 {{expected the next part of "w" from 2 along dim 0, got: from 3}}
oneflow.variable @w.1 part of "w" [6] at dim 0 offset 3 on @mesh storage [B] : tensor<3xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<4xf32>
// expected-error@+1 {{expected the next part of "w" from 4 along dim 0, got: from 3, which overlaps another}}
oneflow.variable @w.1 part of "w" [6] at dim 0 offset 3 on @mesh storage [B] : tensor<3xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{expected parts of "w" up to 6 along dim 0, got: up to 4}}
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-note@+1 {{another part is here}}
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<3xf32>
// expected-error@+1 {{expected parts of "w" to agree in type: 'f32', got: 'f64'}}
oneflow.variable @w.1 part of "w" [6] at dim 0 offset 3 on @mesh storage [B] : tensor<3xf64>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-note@+1 {{another part is here}}
oneflow.variable @w.0 part of "w" [6, 6] at dim 0 offset 0 on @mesh storage [B] : tensor<3x6xf32>
// expected-error@+1 {{expected parts of "w" to agree: [6, 6] at dim 0, got: [6, 6] at dim 1}}
oneflow.variable @w.1 part of "w" [6, 6] at dim 1 offset 3 on @mesh storage [B] : tensor<6x3xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-note@+1 {{another part is here}}
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<3xf32> {trainable}
// expected-error@+1 {{expected parts of "w" to agree: all trainable or none}}
oneflow.variable @w.1 part of "w" [6] at dim 0 offset 3 on @mesh storage [B] : tensor<3xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-note@+1 {{it is here}}
oneflow.variable @w on @mesh storage [B] : tensor<6xf32>
// expected-error@+1 {{is part of "w", which is also a variable's name}}
oneflow.variable @w.0 part of "w" [6] at dim 0 offset 0 on @mesh storage [B] : tensor<6xf32>

// -----

// expected-error@+1 {{expected a placement, got none; oneflow-place gives every variable one}}
oneflow.variable @w : tensor<6xf32>
