// RUN: oneflow-opt %s --split-input-file --oneflow-insert-boxing -verify-diagnostics

oneflow.placement @mesh cpu [p = 2]
func.func @unsigned() {
  // expected-error@+1 {{expected a signature, got none; oneflow-infer-sbp chooses one}}
  %x = oneflow.input "x" on @mesh : tensor<4xf32>
  return
}

// -----

func.func @unplaced() {
  // expected-error@+1 {{expected a placement, got none; oneflow-place gives every op one}}
  %x = oneflow.input "x" sbp () -> ([B]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 4]
func.func @illegal() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<3xf32>
  // expected-error@+1 {{operand 0: sbp_c3}}
  %y = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<3xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 4]
func.func @axes() {
  // expected-error@+1 {{sbp_c1: expected one Sbp for each of the 1 axes of @mesh, got: [B, B]}}
  %x = oneflow.input "x" on @mesh sbp () -> ([B, B]) : tensor<3xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 4]
func.func @argument(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected operand 0 to come from an op of the logical graph}}
  %y = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @dynamic() {
  // expected-error@+1 {{expected static shapes, got: 'tensor<?xf32>'; oneflow-infer-shapes fills them in}}
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<?xf32>
  %y = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<?xf32>
  return
}
