// RUN: oneflow-opt %s --split-input-file --oneflow-infer-sbp -verify-diagnostics

// A pinned signature that the op does not allow.

oneflow.placement @mesh cpu [dp = 2]
func.func @pinned() {
  %x = oneflow.input "x" on @mesh : tensor<8x4xf32>
  // expected-error@+1 {{mesh axis 0 asks for (S(0)) -> (S(1)), which this op does not allow; this op allows for these shapes: (B) -> (B), (S(0)) -> (S(0)), (S(1)) -> (S(1)),}}
  %0 = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(1)]) : tensor<8x4xf32>
  return
}

// -----

// Two functions that pin one variable otherwise.

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{along 'p': the signature of a use asks for S(1), but the signature of a use asks for S(0)}}
oneflow.variable @w on @mesh : tensor<4x4xf32>
func.func @first() {
  %w = oneflow.read @w on @mesh sbp () -> ([S(0)]) : tensor<4x4xf32>
  return
}
func.func @second() {
  // expected-note@+1 {{by this use}}
  %w = oneflow.read @w on @mesh sbp () -> ([S(1)]) : tensor<4x4xf32>
  return
}

// -----

// A storage that the shape does not allow.

oneflow.placement @mesh cpu [p = 8]
// expected-error@+1 {{along 'p': its storage asks for S(0): sbp_c3}}
oneflow.variable @w on @mesh storage [S(0)] : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{expected a placement, got none; oneflow-place gives every variable one}}
oneflow.variable @w : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
// expected-error@+1 {{is like itself, by way of @b}}
oneflow.variable @a like @b on @mesh : tensor<4xf32>
oneflow.variable @b like @a on @mesh : tensor<4xf32>

// -----

oneflow.placement @mesh cpu [p = 2]
oneflow.placement @tail cpu [p = 2] from 2
oneflow.variable @w on @mesh : tensor<4xf32>
func.func @elsewhere() {
  // expected-error@+1 {{expected the variable's placement @mesh, got: @tail}}
  %w = oneflow.read @w on @tail : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @dynamic() {
  // expected-error@+1 {{expected static shapes, got: 'tensor<?xf32>'; oneflow-infer-shapes fills them in}}
  %x = oneflow.input "x" on @mesh : tensor<?xf32>
  return
}

// -----

oneflow.placement @mesh cpu [p = 2]
func.func @boxing() {
  %x = oneflow.input "x" on @mesh : tensor<4xf32>
  // expected-error@+1 {{expected a signature: it alone says what a boxing does}}
  %0 = oneflow.boxing %x on @mesh : tensor<4xf32>
  return
}
