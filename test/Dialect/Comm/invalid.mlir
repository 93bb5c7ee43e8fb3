// RUN: oneflow-opt %s --split-input-file --verify-diagnostics

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comm.kernel' op kernel_c1: expected 1 region arguments, got: 0}}
  %0 = "comm.kernel"(%x) <{name = "k", placement = @mesh, operandSegmentSizes = array<i32: 1, 0>}> ({
    %c = arith.constant dense<1.0> : tensor<4xf32>
    comm.yield %c : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @argument_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comm.kernel' op kernel_c1: expected a region argument of type 'tensor<4xf32>', got: 'tensor<5xf32>'}}
  "comm.kernel"(%x) <{name = "k", placement = @mesh, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a: tensor<5xf32>):
    comm.yield
  }) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @tensors_first(%x: tensor<4xf32>, %n: index) {
  // expected-error @+1 {{'comm.kernel' op kernel_c1: expected all tensors before the scalars}}
  comm.kernel "k" on @mesh (%m = %n : index, %a = %x : tensor<4xf32>) -> () {
    comm.yield
  }
  return
}

// -----

func.func @neither(%x: f32) {
  // expected-error @+1 {{'comm.kernel' op kernel_c1: expected tensors and index values, got: 'f32'}}
  comm.kernel "k" on @mesh (%a = %x : f32) -> () {
    comm.yield
  }
  return
}

// -----

func.func @results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comm.kernel' op kernel_c2: expected to yield 'tensor<5xf32>', got: 'tensor<4xf32>'}}
  %0 = comm.kernel "k" on @mesh (%a = %x : tensor<4xf32>) -> (tensor<5xf32>) {
    comm.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @extents(%x: tensor<?xf32>) {
  // expected-error @+1 {{'comm.kernel' op kernel_c3: expected 1 extents, got: 0}}
  %0 = comm.kernel "k" on @mesh (%a = %x : tensor<?xf32>) -> (tensor<?xf32>) {
    comm.yield %a : tensor<?xf32>
  }
  return
}

// -----

func.func @outside(%x: tensor<4xf32>) {
  // expected-error @+1 {{'comm.yield' op expects parent op 'comm.kernel'}}
  comm.yield %x : tensor<4xf32>
  return
}
