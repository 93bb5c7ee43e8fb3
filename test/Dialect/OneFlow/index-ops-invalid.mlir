// RUN: oneflow-opt %s -split-input-file -verify-diagnostics

// One case for each constraint of the ops that take parts of tensors.

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{slice_c1: expected 2 offsets, sizes and strides, got: 1, 2 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.slice %x offsets [0] sizes [4, 3] strides [1, 1] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{slice_c2: expected an offset and a size of at least 0 and a stride of at least 1, got: 0, 4 and 0 of dimension 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.slice %x offsets [0, 0] sizes [4, 3] strides [0, 1] : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{slice_c3: expected 2 elements from 1 by 2 to lie in dimension 1 of 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.slice %x offsets [0, 1] sizes [4, 2] strides [1, 2] : (tensor<4x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{slice_c3: expected 9223372036854775807 elements from 3 by 9223372036854775807}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.slice %x offsets [3, 0] sizes [9223372036854775807, 3] strides [9223372036854775807, 1] : (tensor<4x3xf32>) -> tensor<9223372036854775807x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{pad_c1: expected 2 numbers of low, high and interior elements, got: 2, 1 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pad %x low [0, 0] high [0] interior [0, 0] value 0.0 : f32 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{pad_c1: expected no negative number, got: 0, -1 and 0 of dimension 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pad %x low [0, 0] high [0, -1] interior [0, 0] value 0.0 : f32 : (tensor<4x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{pad_c1: dimension 1 gets more elements than an extent can count}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pad %x low [0, 0] high [0, 0] interior [0, 9223372036854775807] value 0.0 : f32 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{pad_c2: expected a value of type 'f32', got: 0 : i32}}
  %0 = oneflow.pad %x low [0, 0] high [0, 1] interior [0, 0] value 0 : i32 : (tensor<4x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{concat_c1: expected a dimension of 'tensor<4x3xf32>', got: 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.concat %x, %x dim 2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+2 {{concat_c2: expected shapes that are equal but for dimension 0, got: 'tensor<4x3xf32>' and 'tensor<4x2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.concat %x, %y dim 0 : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+2 {{select_c1: expected one element type, got: 'tensor<4xf32>' and 'tensor<4xf64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.select %c, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @+2 {{expected shapes that broadcast, got: 'tensor<4xf32>' and 'tensor<3xi1>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.select %c, %x, %x : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{gather_c1: expected a dimension of 'tensor<4x3xf32>', got: -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.gather %x, %i dim -1 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<4x2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.gather %x, %i dim 0 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{gather_grad_c1: expected the extents of 'tensor<2xi64>' from dimension 0 of dy on, got: 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.gather_grad %x, %i dim 0 extent 5 : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{gather_grad_c2: expected an extent of at least 0, got: -5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.gather_grad %x, %i dim 0 extent -5 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
