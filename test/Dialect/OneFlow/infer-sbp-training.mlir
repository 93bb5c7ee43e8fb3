// The training step of a perceptron of two layers, x [8, 4] -> 16 -> 10, spread in
// the ways that are known to be good.

// RUN: oneflow-opt %s --pass-pipeline='builtin.module(oneflow-place{mesh=dp=2},oneflow-infer-sbp,oneflow-decompose-split,oneflow-insert-boxing,oneflow-verify-spread)' | FileCheck %s --check-prefix=DP
// RUN: oneflow-opt %s --pass-pipeline='builtin.module(oneflow-place{mesh=tp=2},oneflow-infer-sbp{hints={fc1.weight=S(0)@tp,fc1.bias=S(0)@tp,fc2.weight=S(1)@tp}},oneflow-decompose-split,oneflow-insert-boxing,oneflow-verify-spread)' | FileCheck %s --check-prefix=TP
// RUN: oneflow-opt %s --pass-pipeline='builtin.module(oneflow-place{mesh=dp=2,tp=2},oneflow-infer-sbp{hints={fc1.weight=S(0)@tp,fc1.bias=S(0)@tp,fc2.weight=S(1)@tp}},oneflow-decompose-split,oneflow-insert-boxing,oneflow-verify-spread)' | FileCheck %s --check-prefix=BOTH
// RUN: oneflow-opt %s --pass-pipeline='builtin.module(oneflow-place{mesh=dp=2,tp=2},oneflow-infer-sbp{hints={fc2.*=S(0)@tp}},oneflow-decompose-split,oneflow-insert-boxing,oneflow-verify-spread)' | FileCheck %s --check-prefix=CLASSES
// RUN: oneflow-opt %s --pass-pipeline='builtin.module(oneflow-place{mesh=dp=2},oneflow-infer-sbp{hints={fc?.weight=S(0)@dp,fc?.bias=S(0)@dp}},oneflow-decompose-split,oneflow-insert-boxing,oneflow-verify-spread)' | FileCheck %s --check-prefix=ZERO

// Data parallel: no activation is boxed; the loss and each of the four gradients are
// reduced once.
// DP-LABEL: func.func @train
// DP: oneflow.input "x" on @mesh sbp () -> ([S(0)])
// DP: oneflow.input "labels" on @mesh sbp () -> ([S(0)])
// DP: oneflow.matmul {{.*}} sbp ([S(0)], [B]) -> ([S(0)]) {transpose_rhs}
// DP: oneflow.matmul {{.*}} sbp ([S(0)], [B]) -> ([S(0)]) {transpose_rhs}
// DP: oneflow.cross_entropy
// DP-NEXT: oneflow.reduce <sum> {{.*}} sbp ([S(0)]) -> ([P(sum)])
// DP-NEXT: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<f32>
// DP-NOT: oneflow.boxing
// DP: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<10xf32>
// DP-NEXT: oneflow.matmul {{.*}} sbp ([S(0)], [S(0)]) -> ([P(sum)]) {transpose_lhs}
// DP-NEXT: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<10x16xf32>
// DP-NOT: oneflow.boxing
// DP: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<16xf32>
// DP-NOT: oneflow.boxing
// DP: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<16x4xf32>
// DP-NOT: oneflow.boxing
// DP: return

// Tensor parallel: split by columns, then by rows, one all-reduce. The gradient of x
// is not asked for, and so is no other.
// TP: oneflow.variable @fc1.weight.velocity like @fc1.weight on @mesh storage [S(0)]
// TP-LABEL: func.func @train
// TP: oneflow.input "x" on @mesh sbp () -> ([B])
// TP: oneflow.matmul {{.*}} sbp ([B], [S(0)]) -> ([S(1)]) {transpose_rhs}
// TP-NEXT: oneflow.add {{.*}} sbp ([S(1)], [S(0)]) -> ([S(1)])
// TP-NEXT: oneflow.relu {{.*}} sbp ([S(1)]) -> ([S(1)])
// TP-NEXT: oneflow.matmul {{.*}} sbp ([S(1)], [S(1)]) -> ([P(sum)]) {transpose_rhs}
// TP-NEXT: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<8x10xf32>
// TP-NOT: oneflow.boxing
// TP: return

// Both: each axis does its part.
// BOTH-LABEL: func.func @train
// BOTH: oneflow.matmul {{.*}} sbp ([S(0), B], [B, S(0)]) -> ([S(0), S(1)]) {transpose_rhs}
// BOTH: oneflow.matmul {{.*}} sbp ([S(0), S(1)], [B, S(1)]) -> ([S(0), P(sum)]) {transpose_rhs}
// BOTH-NEXT: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<8x10xf32>
// BOTH-NOT: oneflow.boxing
// BOTH: oneflow.boxing {{.*}} sbp ([P(sum), B]) -> ([B, B]) : tensor<f32>
// BOTH-NOT: oneflow.boxing
// BOTH: oneflow.boxing {{.*}} sbp ([P(sum), B]) -> ([B, B]) : tensor<10xf32>
// BOTH-NOT: oneflow.boxing
// BOTH: oneflow.boxing {{.*}} sbp ([P(sum), S(1)]) -> ([B, S(1)]) : tensor<10x16xf32>
// BOTH-NOT: oneflow.boxing
// BOTH: oneflow.boxing {{.*}} sbp ([P(sum), S(0)]) -> ([B, S(0)]) : tensor<16xf32>
// BOTH-NOT: oneflow.boxing
// BOTH: oneflow.boxing {{.*}} sbp ([P(sum), S(0)]) -> ([B, S(0)]) : tensor<16x4xf32>
// BOTH-NOT: oneflow.boxing
// BOTH: return

// Classes split: of the logits only one number per sample moves along tp, three times,
// and the gradient of the hidden layer is reduced.
// CLASSES-LABEL: func.func @train
// CLASSES: oneflow.matmul {{.*}} sbp ([S(0), B], [B, S(0)]) -> ([S(0), S(1)]) {transpose_rhs}
// CLASSES-NOT: oneflow.boxing {{.*}} : tensor<8x10xf32>
// CLASSES: oneflow.boxing {{.*}} sbp ([S(0), P(max)]) -> ([S(0), B]) : tensor<8x1xf32>
// CLASSES: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<8x1xf32>
// CLASSES: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), B]) : tensor<8xf32>
// CLASSES: oneflow.cross_entropy_grad {{.*}} sbp ([S(0), B], [S(0), S(1)], [S(0), B], [S(0), B]) -> ([S(0), S(1)])
// CLASSES-NOT: oneflow.boxing {{.*}} : tensor<8x10xf32>
// CLASSES: oneflow.boxing {{.*}} sbp ([S(0), P(sum)]) -> ([S(0), {{B|S\(1\)}}]) : tensor<8x16xf32>
// CLASSES: return

// Split storage: parameters are gathered once for both directions, gradients scattered.
// ZERO-LABEL: func.func @train
// ZERO: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<16x4xf32>
// ZERO: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<16xf32>
// ZERO: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<10x16xf32>
// ZERO: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<10xf32>
// ZERO-NOT: sbp ([S(0)]) -> ([B])
// ZERO: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<10x16xf32>
// ZERO-NOT: sbp ([S(0)]) -> ([B])
// ZERO: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<16x4xf32>
// ZERO-NOT: sbp ([S(0)]) -> ([B])
// ZERO: return

oneflow.variable @fc1.weight : tensor<16x4xf32> {trainable}
oneflow.variable @fc1.bias : tensor<16xf32> {trainable}
oneflow.variable @fc2.weight : tensor<10x16xf32> {trainable}
oneflow.variable @fc2.bias : tensor<10xf32> {trainable}
oneflow.variable @fc1.weight.velocity like @fc1.weight : tensor<16x4xf32>
oneflow.variable @fc1.bias.velocity like @fc1.bias : tensor<16xf32>
oneflow.variable @fc2.weight.velocity like @fc2.weight : tensor<10x16xf32>
oneflow.variable @fc2.bias.velocity like @fc2.bias : tensor<10xf32>
oneflow.variable @optimizer.learning_rate : tensor<f32>
func.func @train() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %labels = oneflow.input "labels" : tensor<8xi64>
  %w1 = oneflow.read @fc1.weight : tensor<16x4xf32>
  %b1 = oneflow.read @fc1.bias : tensor<16xf32>
  %w2 = oneflow.read @fc2.weight : tensor<10x16xf32>
  %b2 = oneflow.read @fc2.bias : tensor<10xf32>
  %m1 = oneflow.matmul %x, %w1 {transpose_rhs} : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %a1 = oneflow.add %m1, %b1 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %h = oneflow.relu %a1 : tensor<8x16xf32>
  %m2 = oneflow.matmul %h, %w2 {transpose_rhs} : (tensor<8x16xf32>, tensor<10x16xf32>) -> tensor<8x10xf32>
  %logits = oneflow.add %m2, %b2 : (tensor<8x10xf32>, tensor<10xf32>) -> tensor<8x10xf32>
  %loss, %log_sum = oneflow.cross_entropy %logits, %labels : (tensor<8x10xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  %sum = oneflow.reduce <sum> %loss dims [0] : (tensor<8xf32>) -> tensor<f32>
  %n = oneflow.constant dense<0.125> : tensor<f32>
  %mean = oneflow.mul %sum, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  oneflow.output "loss" %mean : tensor<f32>
  %dloss = oneflow.constant dense<0.125> : tensor<8xf32>
  %dlogits = oneflow.cross_entropy_grad %dloss, %logits, %labels, %log_sum : (tensor<8xf32>, tensor<8x10xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x10xf32>
  %db2 = oneflow.reduce <sum> %dlogits dims [0] : (tensor<8x10xf32>) -> tensor<10xf32>
  %dw2 = oneflow.matmul %dlogits, %h {transpose_lhs} : (tensor<8x10xf32>, tensor<8x16xf32>) -> tensor<10x16xf32>
  %dh = oneflow.matmul %dlogits, %w2 : (tensor<8x10xf32>, tensor<10x16xf32>) -> tensor<8x16xf32>
  %da1 = oneflow.relu_grad %dh, %h : tensor<8x16xf32>
  %db1 = oneflow.reduce <sum> %da1 dims [0] : (tensor<8x16xf32>) -> tensor<16xf32>
  %dw1 = oneflow.matmul %da1, %x {transpose_lhs} : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %lr = oneflow.read @optimizer.learning_rate : tensor<f32>
  %vw1 = oneflow.read @fc1.weight.velocity : tensor<16x4xf32>
  %vb1 = oneflow.read @fc1.bias.velocity : tensor<16xf32>
  %vw2 = oneflow.read @fc2.weight.velocity : tensor<10x16xf32>
  %vb2 = oneflow.read @fc2.bias.velocity : tensor<10xf32>
  %nw1, %nvw1 = oneflow.sgd_update %w1, %dw1, %vw1, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>) -> (tensor<16x4xf32>, tensor<16x4xf32>)
  %nb1, %nvb1 = oneflow.sgd_update %b1, %db1, %vb1, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>)
  %nw2, %nvw2 = oneflow.sgd_update %w2, %dw2, %vw2, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<10x16xf32>, tensor<10x16xf32>, tensor<10x16xf32>, tensor<f32>) -> (tensor<10x16xf32>, tensor<10x16xf32>)
  %nb2, %nvb2 = oneflow.sgd_update %b2, %db2, %vb2, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>, tensor<f32>) -> (tensor<10xf32>, tensor<10xf32>)
  oneflow.update @fc1.weight, %nw1 : tensor<16x4xf32>
  oneflow.update @fc1.bias, %nb1 : tensor<16xf32>
  oneflow.update @fc2.weight, %nw2 : tensor<10x16xf32>
  oneflow.update @fc2.bias, %nb2 : tensor<10xf32>
  oneflow.update @fc1.weight.velocity, %nvw1 : tensor<16x4xf32>
  oneflow.update @fc1.bias.velocity, %nvb1 : tensor<16xf32>
  oneflow.update @fc2.weight.velocity, %nvw2 : tensor<10x16xf32>
  oneflow.update @fc2.bias.velocity, %nvb2 : tensor<10xf32>
  return
}
