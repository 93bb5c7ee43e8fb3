// RUN: oneflow-opt %s --comm-verify-local --split-input-file --verify-diagnostics

// Placements and variables stay beside the functions.
oneflow.placement @mesh cpu [dp = 3]
oneflow.variable @w on @mesh storage [B] : tensor<4xf32>
func.func @good() {
  %w = comm.read @w : tensor<4xf32>
  %0 = comm.kernel "all" on @mesh (%a = %w : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %zero = arith.constant 0.0 : f32
      %positive = arith.cmpf ogt, %in, %zero : f32
      cf.assert %positive, "expected a positive element"
      %log = math.log %in : f32
      linalg.yield %log : f32
    } -> tensor<4xf32>
    comm.yield %r : tensor<4xf32>
  }
  comm.update @w, %0 : tensor<4xf32>
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
func.func @logical() {
  // expected-error @unknown {{'oneflow.input' op (image) expected only ops of the comm dialect in a per-rank program: run --convert-oneflow-to-comm first}}
  %x = oneflow.input "x" : tensor<4xf32> loc("image")
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
func.func @body() {
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[B]>> : tensor<4xf32>
  %0 = comm.kernel "loop" on @mesh (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    // expected-error @+1 {{'bufferization.alloc_tensor' op in kernel "loop": expected only linalg, tensor, arith and math ops and cf.assert}}
    %r = bufferization.alloc_tensor() copy(%a) : tensor<4xf32>
    comm.yield %r : tensor<4xf32>
  }
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
func.func @no_scalar() {
  // expected-error @+1 {{'comm.input' op expected 1 extents for 'tensor<?xf32>', got: 0}}
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[S(0)]>> : tensor<?xf32>
  return
}

// -----

oneflow.placement @mesh cpu [dp = 3]
func.func @not_a_scalar(%n: index) {
  // expected-error @+1 {{'comm.input' op expected every extent from a comm.scalar, got: a block argument}}
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[S(0)]>> extents(%n) : tensor<?xf32>
  return
}
