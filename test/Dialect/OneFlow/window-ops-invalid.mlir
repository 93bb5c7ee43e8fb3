// RUN: oneflow-opt %s -split-input-file -verify-diagnostics

// One case for each constraint of convolution, pooling and batch norm.

func.func @f(%x: tensor<2x4xf32>, %w: tensor<6x4xf32>) {
  // expected-error @+2 {{convolution_c1: expected equal ranks of at least 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1] high [1] dilations [1] groups 1 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c1: expected 1 strides, low, high and dilations, got: 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1, 1] high [1] dilations [1] groups 1 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c2: expected strides in [1, 2^31), got: 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [0] low [1] high [1] dilations [1] groups 1 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c2: expected padding in [0, 2^31), got: -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1] high [-1] dilations [1] groups 1 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c2: expected groups in [1, 2^31), got: 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1] high [1] dilations [1] groups 0 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c3: expected channels in 2 groups, as many in weight as in a group of x, got: 4 of x, 4 of weight and 6 of the result}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1] high [1] dilations [1] groups 2 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c4: expected a window of at most 10 and at least 1 elements in spatial dimension 0, got: 3 elements with dilation 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution %x, %w strides [1] low [1] high [1] dilations [5] groups 1 : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c5: expected 1 extents in [0, 2^31)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution_grad_input %d, %w strides [1] low [1] high [1] dilations [1] groups 1 extents [8, 8] : (tensor<2x6x8xf32>, tensor<6x4x3xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c6: expected dy of 'tensor<2x6x9xf32>', got: 'tensor<2x6x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution_grad_input %d, %w strides [1] low [1] high [1] dilations [1] groups 1 extents [9] : (tensor<2x6x8xf32>, tensor<6x4x3xf32>) -> tensor<2x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %w: tensor<6x4x3xf32>, %d: tensor<2x6x8xf32>) {
  // expected-error @+2 {{convolution_c6: expected dy of}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.convolution_grad_weight %x, %d strides [1] low [1] high [1] dilations [1] groups 1 extents [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<6x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c1: expected at least 1 and at most 2 window extents}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool <max> %x window [2] strides [2] low [0, 0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c2: expected window extents in [1, 2^31), got: 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool <max> %x window [0] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c3: expected a window of at most 8 elements, got: 9 elements with dilation 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool <max> %x window [9] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+1 {{pool_c4: expected max or sum, got: min}}
  %0 = oneflow.pool <min> %x window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+1 {{pool_c4: expected sum of an index, got: max}}
  %0 = oneflow.pool <max> %x at %i window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x5xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+1 {{pool_c5: expected an index of the shape of 'tensor<3x4xf32>', got: 'tensor<3x5xi32>'}}
  %0 = oneflow.pool <sum> %x at %i window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x5xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+1 {{pool_c5: expected an index of the shape of 'tensor<3x4xf32>'}}
  %0 = oneflow.pool_grad %y at %i window [2] strides [2] low [0] high [0] dilations [1] extents [8] : (tensor<3x4xf32>, tensor<3x5xi32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c6: expected less than 2^31 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool_index %x, %x window [2] strides [2] low [0] high [0] dilations [1] : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x4xi32>
  return
}

// -----

func.func @f(%x: tensor<65536x65536xf32>, %y: tensor<1x1xf32>) {
  // expected-error @+2 {{pool_c6: expected less than 2^31 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool_index %x, %y window [65536, 65536] strides [1, 1] low [0, 0] high [0, 0] dilations [1, 1] : (tensor<65536x65536xf32>, tensor<1x1xf32>) -> tensor<1x1xi32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c7: expected 1 extents in [0, 2^31) of dimensions of}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool_grad %y window [2] strides [2] low [0] high [0] dilations [1] extents [8, 8] : (tensor<3x4xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>, %i: tensor<3x5xi32>) {
  // expected-error @+2 {{pool_c7: expected dy of 'tensor<3x5xf32>', got: 'tensor<3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pool_grad %y window [2] strides [2] low [0] high [0] dilations [1] extents [10] : (tensor<3x4xf32>) -> tensor<3x10xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{batch_norm_c1: expected at least 2 dimensions}}
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 0.1 : f64, momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %c: tensor<8xf32>) {
  // expected-error @+1 {{batch_norm_c2: expected parameters of shape [4], got: 'tensor<8xf32>'}}
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 0.1 : f64, momentum = 0.9 : f64} : (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{batch_norm_c3: expected a finite epsilon of at least 0}}
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = -0.1 : f64, momentum = 0.9 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{batch_norm_c3: expected a momentum in [0, 1], got: 1.5}}
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 0.1 : f64, momentum = 1.5 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{'oneflow.per_micro_batch' goes with a reduction, without a value}}
  %0 = oneflow.transpose %x [1, 0] {oneflow.per_micro_batch} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}
