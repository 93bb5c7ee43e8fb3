// RUN: oneflow-opt %s -split-input-file -verify-diagnostics

// One case for each constraint of the dialect, by its name.

// expected-error @+1 {{placement_c1: expected at least one axis and one size per name, got: 0 names and 0 sizes}}
oneflow.placement @mesh cpu []

// -----

// expected-error @+1 {{placement_c2: expected positive sizes whose product is at most 1048576, got: 0}}
oneflow.placement @mesh cpu [dp = 0]

// -----

// expected-error @+1 {{placement_c2: expected positive sizes whose product is at most 1048576}}
oneflow.placement @mesh cpu [dp = 65536, tp = 65536]

// -----

// expected-error @+1 {{placement_c3: expected distinct axis names, got "dp" twice}}
oneflow.placement @mesh cpu [dp = 2, dp = 2]

// -----

// expected-error @+1 {{variable_c1: expected a tensor type with static shape, got: 'tensor<?xf32>'}}
oneflow.variable @w : tensor<?xf32>

// -----

// expected-error @+1 {{variable_c2: expected an initial value of type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
oneflow.variable @w : tensor<4xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error @+1 {{variable_c3: expected a dimension of the part and a whole of its rank, 1, got: dim 1 of [4]}}
oneflow.variable @w part of "W" [4] at dim 1 offset 0 : tensor<4xf32>

// -----

// expected-error @+1 {{variable_c3: expected a dimension of the part and a whole of its rank, 1, got: dim 0 of [4, 4]}}
oneflow.variable @w part of "W" [4, 4] at dim 0 offset 0 : tensor<4xf32>

// -----

// expected-error @+1 {{variable_c3: expected the whole's extent 5 in dimension 1, got: 4}}
oneflow.variable @w part of "W" [8, 5] at dim 0 offset 0 : tensor<4x4xf32>

// -----

// expected-error @+1 {{variable_c3: expected an interval of the whole's extent 8 in dimension 0, got: 4 elements from 5}}
oneflow.variable @w part of "W" [8] at dim 0 offset 5 : tensor<4xf32>

// -----

// expected-error @+1 {{variable_c3: expected an interval of the whole's extent 8 in dimension 0, got: 4 elements from 9223372036854775807}}
oneflow.variable @w part of "W" [8] at dim 0 offset 9223372036854775807 : tensor<4xf32>

// -----

// expected-error @+1 {{variable_c3: expected an interval of the whole's extent 8 in dimension 0, got: 4 elements from -1}}
oneflow.variable @w part of "W" [8] at dim 0 offset -1 : tensor<4xf32>

// -----

func.func @f() {
  // expected-error @+1 {{read_c1: expected the symbol of a variable, got: @w}}
  %0 = oneflow.read @w : tensor<4xf32>
  return
}

// -----

oneflow.variable @w : tensor<4xf32>
func.func @f() {
  // expected-error @+1 {{read_c1: expected the variable's type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
  %0 = oneflow.read @w : tensor<3xf32>
  return
}

// -----

oneflow.variable @w : tensor<4xf32>
func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{update_c1: expected the variable's type}}
  oneflow.update @w, %x : tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{gradient_c1: expected the symbol of a variable, got: @f}}
  oneflow.gradient @f, %x : tensor<3xf32>
  return
}

// -----

oneflow.placement @mesh cpu [dp = 2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{boxing_c1: expected a signature of one operand and one result, got: ([B], [B]) -> ([B])}}
  %0 = oneflow.boxing %x on @mesh sbp ([B], [B]) -> ([B]) : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a reducer (sum, max, min or prod), got: mean}}
  %0 = oneflow.relu %x sbp ([P(mean)]) -> ([P(sum)]) : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected S(dim), B or P(reducer), got: Q}}
  %0 = oneflow.relu %x sbp ([Q]) -> ([B]) : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{expected shapes that broadcast, got: 'tensor<4x3xf32>' and 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.add %x, %y : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{dropout_c1: expected a ratio in [0, 1), got: 1.000000e+00}}
  %0 = oneflow.dropout %x {ratio = 1.0 : f64, seed = 0 : i64, id = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %step: tensor<1xi64>) {
  // expected-error @+1 {{dropout_c2: expected a scalar step, got: 'tensor<1xi64>'}}
  %0 = oneflow.dropout %x at %step : tensor<1xi64> {ratio = 0.5 : f64, seed = 0 : i64, id = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %offset: tensor<1xi64>) {
  // expected-error @+1 {{dropout_c3: expected a scalar offset and an x with a dimension 0, got: 'tensor<1xi64>' and 'tensor<4xf32>'}}
  %0 = oneflow.dropout %x offset %offset : tensor<1xi64> {ratio = 0.5 : f64, seed = 0 : i64, id = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %offset: tensor<i64>) {
  // expected-error @+1 {{dropout_c3: expected a scalar offset and an x with a dimension 0, got: 'tensor<i64>' and 'tensor<f32>'}}
  %0 = oneflow.dropout %x offset %offset : tensor<i64> {ratio = 0.5 : f64, seed = 0 : i64, id = 0 : i64} : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<2x3x4xf32>) {
  // expected-error @+2 {{matmul_c1: expected ranks of at least 2, rhs of rank 2 or lhs's, got: 'tensor<4x3xf32>' and 'tensor<2x3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.matmul %x, %y : (tensor<4x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+2 {{matmul_c1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.matmul %x, %y : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x3xf32>, %y: tensor<5x3x4xf32>) {
  // expected-error @+2 {{matmul_c2: expected equal batch extents}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.matmul %x, %y : (tensor<2x4x3xf32>, tensor<5x3x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+2 {{matmul_c3: expected equal contracted extents, got: 3 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.matmul %x, %y : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+2 {{matmul_c4: expected rhs of lhs's rank where lhs is transposed}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.matmul %x, %y {transpose_lhs} : (tensor<2x3x4xf32>, tensor<3x5xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{reduce_c1: expected distinct, increasing dimensions of 'tensor<4x3xf32>', got: 0, 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.reduce <sum> %x dims [0, 2] : (tensor<4x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{reduce_c1: expected distinct, increasing dimensions of 'tensor<4x3xf32>', got: 1, 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.reduce <sum> %x dims [1, 0] : (tensor<4x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{broadcast_c1: expected extents that are the result's or 1, got: 'tensor<4x3xf32>' and 'tensor<3x4xf32>'}}
  %0 = oneflow.broadcast %x : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{broadcast_c1}}
  %0 = oneflow.broadcast %x : (tensor<4x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{transpose_c1: expected a permutation of 2 dimensions, got: 0, 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.transpose %x [0, 0] : (tensor<4x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{reshape_c1: expected 12 elements in the result, got: 10}}
  %0 = oneflow.reshape %x : (tensor<4x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{softmax_c1: expected a dimension of 'tensor<4x3xf32>', got: 2}}
  %0 = oneflow.softmax %x dim 2 : tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{softmax_c1: expected a dimension of 'tensor<4x3xf32>', got: -1}}
  %0 = oneflow.log_softmax %x dim -1 : tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{norm_c1: expected a dimension of 'tensor<4x3xf32>', got: 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = oneflow.layer_norm %x dims_from 2 {epsilon = 0.1 : f64} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{norm_c2: expected parameters of type 'tensor<3xf32>', got: 'tensor<4xf32>'}}
  %0:3 = oneflow.layer_norm %x bias %s dims_from 1 {epsilon = 0.1 : f64} : (tensor<4x3xf32>, tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<3xf64>) {
  // expected-error @+1 {{norm_c2: expected parameters of type 'tensor<3xf32>', got: 'tensor<3xf64>'}}
  %0:2 = oneflow.rms_norm %x scale %s dims_from 1 {epsilon = 0.1 : f64} : (tensor<4x3xf32>, tensor<3xf64>) -> (tensor<4x3xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{norm_c3: expected a finite epsilon of at least 0, got: -1}}
  %0:2 = oneflow.rms_norm %x dims_from 1 {epsilon = -1.0 : f64} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %labels: tensor<3xi64>) {
  // expected-error @+2 {{cross_entropy_c1: expected rank 2 and one index per row, got: 'tensor<4x3xf32>' and 'tensor<3xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = oneflow.cross_entropy %x, %labels : (tensor<4x3xf32>, tensor<3xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%dloss: tensor<3xf32>, %x: tensor<4x3xf32>, %labels: tensor<4xi64>, %log_sum: tensor<4xf32>) {
  // expected-error @+1 {{cross_entropy_grad_c1: expected dloss and log_sum of type 'tensor<4xf32>', got: 'tensor<3xf32>'}}
  %0 = oneflow.cross_entropy_grad %dloss, %x, %labels, %log_sum : (tensor<3xf32>, tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %indices: tensor<4xi64>) {
  // expected-error @+2 {{pick_c1: expected rank 2 and one index per row}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = oneflow.pick %x, %indices : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{sgd_update_c1: expected a scalar learning_rate, got: 'tensor<4xf32>'}}
  %0:2 = oneflow.sgd_update %p, %p, %p, %p {momentum = 0.9 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %step: tensor<1xi64>, %rate: tensor<f32>) {
  // expected-error @+1 {{adamw_update_c1: expected a scalar step, got: 'tensor<1xi64>'}}
  %0:3 = oneflow.adamw_update %p, %p, %p, %p, %step, %rate {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xi64>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// expected-error @+1 {{expected ranks below 1048576, got 2 from 1048575 on}}
oneflow.placement @mesh cpu [dp = 2] from 1048575
