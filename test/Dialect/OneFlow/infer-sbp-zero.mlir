// ZeRO on the training step of a perceptron of two layers, x [8, 4] -> 16 -> 3: what is
// split, what is gathered when, and what stays as the user or the shapes have it.

// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=1' | FileCheck %s --check-prefix=STATE
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=2' | FileCheck %s --check-prefix=STATE
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=3' | FileCheck %s --check-prefix=ALL
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=3' --oneflow-rank-pipeline | FileCheck %s --check-prefix=RANK
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2,tp=2 zero=1 hints=w1=S(0)@tp,b1=S(0)@tp,w2=S(1)@tp' | FileCheck %s --check-prefix=MESH
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2,tp=2 zero=3 hints=w1=S(0)@tp,b1=S(0)@tp,w2=S(1)@tp' | FileCheck %s --check-prefix=MESH3
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=3 hints=w1=B@dp,b1.velocity=B@dp,w2=S(1)@dp' | FileCheck %s --check-prefix=PINNED
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=4 zero=3 explain' 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=1 zero=3' | FileCheck %s --check-prefix=ONE
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 micro-batches=2 zero=1' | FileCheck %s --check-prefixes=TIME,TIME1
// RUN: oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 micro-batches=2 zero=2' | FileCheck %s --check-prefixes=TIME,TIME2
// RUN: not oneflow-opt %s --oneflow-spread-pipeline='mesh=tp=2 micro-batches=2 zero=1' 2>&1 | FileCheck %s --check-prefix=NO-AXIS
// RUN: not oneflow-opt %s --oneflow-spread-pipeline='mesh=tp=2 zero=1' 2>&1 | FileCheck %s --check-prefix=NO-AXIS
// RUN: not oneflow-opt %s --oneflow-spread-pipeline='mesh=dp=2 zero=4' 2>&1 | FileCheck %s --check-prefix=FOUR
// RUN: echo 'oneflow.variable @w : tensor<4xf32>' > %t.mlir
// RUN: not oneflow-opt %t.mlir --oneflow-spread-pipeline='mesh=dp=2 zero=2' 2>&1 | FileCheck %s --check-prefix=NO-STEP

// The state is split, the parameters are not. Gradients are reduced to their parts, and no
// parameter moves until its new value is gathered.
// STATE-DAG: oneflow.variable @w1 on @mesh storage [B]
// STATE-DAG: oneflow.variable @w1.velocity like @w1 on @mesh storage [S(0)]
// STATE-DAG: oneflow.variable @b2.velocity like @b2 on @mesh storage [S(0)]
// STATE-LABEL: func.func @train
// STATE-NOT: sbp ([S(0)]) -> ([B])
// STATE: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<f32>
// STATE-NOT: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B])
// STATE-NOT: sbp ([S(0)]) -> ([B])
// STATE: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<3xf32>
// STATE: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(1)]) : tensor<3x16xf32>
// STATE: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<16xf32>
// STATE: %[[G:.*]] = oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<16x4xf32>
// STATE: %[[W:.*]] = oneflow.boxing {{.*}} sbp ([B]) -> ([S(0)]) : tensor<16x4xf32>
// STATE: %[[NEW:.*]], %{{.*}} = oneflow.sgd_update %[[W]], %[[G]], {{.*}} sbp ([S(0)], [S(0)], [S(0)], [B]) -> ([S(0)], [S(0)])
// STATE: %[[WHOLE:.*]] = oneflow.boxing %[[NEW]] on @mesh sbp ([S(0)]) -> ([B]) : tensor<16x4xf32>
// STATE: oneflow.update @w1, %[[WHOLE]]

// Every parameter is gathered before its use; the backward pass gathers w2, which it needs,
// again. Nothing is gathered behind the updates.
// ALL: oneflow.variable @w1 on @mesh storage [S(0)]
// ALL-LABEL: func.func @train
// ALL: %[[W2:.*]] = oneflow.read @w2 on @mesh sbp () -> ([S(1)])
// ALL: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<16x4xf32>
// ALL: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<16xf32>
// ALL: %[[FORWARD:.*]] = oneflow.boxing %[[W2]] on @mesh sbp ([S(1)]) -> ([B]) : tensor<3x16xf32>
// ALL: oneflow.matmul {{.*}}, %[[FORWARD]] on
// ALL: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<3xf32>
// ALL: oneflow.output "loss"
// ALL: %[[AGAIN:.*]] = oneflow.read @w2
// ALL: %[[BACKWARD:.*]] = oneflow.boxing %[[AGAIN]] on @mesh sbp ([S(1)]) -> ([B]) : tensor<3x16xf32>
// ALL: oneflow.matmul {{.*}}, %[[BACKWARD]] on
// ALL-NOT: {{sbp \(\[S\(.\)\]\) -> \(\[B\]\)}}
// ALL: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([S(0)]) : tensor<16x4xf32>
// ALL-NOT: oneflow.boxing
// ALL: oneflow.update @w2
// ALL-NOT: oneflow.boxing
// ALL: return

// Common subexpressions are merged on the way to ranks, but not these.
// RANK: comm.all_gather {{.*}} -> tensor<3x16xf32>
// RANK: comm.output "loss"
// RANK: comm.all_gather {{.*}} -> tensor<3x16xf32>
// RANK-NOT: comm.all_gather
// RANK: return

// A dimension that no other axis splits is taken where there is one.
// MESH-DAG: oneflow.variable @w1.velocity like @w1 on @mesh storage [S(1), S(0)]
// MESH-DAG: oneflow.variable @b1.velocity like @b1 on @mesh storage [S(0), S(0)]
// MESH-DAG: oneflow.variable @w2.velocity like @w2 on @mesh storage [S(0), S(1)]
// MESH-DAG: oneflow.variable @w1 on @mesh storage [B, S(0)]
// MESH: oneflow.boxing {{.*}} sbp ([P(sum), S(0)]) -> ([S(1), S(0)]) : tensor<16x4xf32>
// MESH: oneflow.boxing {{.*}} sbp ([S(1), S(0)]) -> ([B, S(0)]) : tensor<16x4xf32>

// MESH3: oneflow.variable @w1 on @mesh storage [S(1), S(0)]
// MESH3: oneflow.boxing {{.*}} sbp ([S(1), S(0)]) -> ([B, S(0)]) : tensor<16x4xf32>

// Micro-batches share their ranks' memory. Stage 1 accumulates whole gradients, stage 2 parts.
// TIME: oneflow.variable @w1.velocity like @w1 on @mesh storage [B, S(0)]
// TIME-LABEL: func.func @train
// TIME1: oneflow.boxing {{.*}} sbp ([P(sum), P(sum)]) -> ([B, P(sum)]) : tensor<16x4xf32>
// TIME1: oneflow.boxing {{.*}} sbp ([B, P(sum)]) -> ([B, S(0)]) : tensor<16x4xf32>
// TIME2: oneflow.boxing {{.*}} sbp ([P(sum), P(sum)]) -> ([P(sum), S(0)]) : tensor<16x4xf32>
// TIME2: oneflow.boxing {{.*}} sbp ([P(sum), S(0)]) -> ([B, S(0)]) : tensor<16x4xf32>

// What the user pins stays; the update works on parts all the same.
// PINNED-DAG: oneflow.variable @w1 on @mesh storage [B]
// PINNED-DAG: oneflow.variable @b1 on @mesh storage [S(0)]
// PINNED-DAG: oneflow.variable @w2 on @mesh storage [S(1)]
// PINNED-DAG: oneflow.variable @w1.velocity like @w1 on @mesh storage [S(0)]
// PINNED-DAG: oneflow.variable @b1.velocity like @b1 on @mesh storage [B]
// PINNED-DAG: oneflow.variable @w2.velocity like @w2 on @mesh storage [S(1)]
// PINNED: oneflow.sgd_update {{.*}} sbp ([S(0)], [S(0)], [S(0)], [B]) -> ([S(0)], [S(0)]) {{.*}}tensor<16xf32>
// PINNED: oneflow.boxing {{.*}} sbp ([S(0)]) -> ([B]) : tensor<16xf32>
// PINNED: oneflow.update @b1.velocity

// SMALL: remark: @w1 sbp [S(0)]; dp: split by zero 3
// SMALL: remark: @b2 sbp [B]; dp: whole, since zero finds no dimension that 4 ranks could share
// SMALL-DAG: oneflow.variable @w1 on @mesh storage [S(0)]
// SMALL-DAG: oneflow.variable @w2 on @mesh storage [S(1)]
// SMALL-DAG: oneflow.variable @b2 on @mesh storage [B]
// SMALL-DAG: oneflow.variable @b2.velocity like @b2 on @mesh storage [B]
// SMALL: oneflow.boxing {{.*}} sbp ([P(sum)]) -> ([B]) : tensor<3xf32>

// ONE: oneflow.variable @w1 on @mesh storage [B]

// NO-AXIS: error: zero 1: expected a mesh axis that splits inputs, along which to split what training keeps, got none
// FOUR: error: option zero: expected a stage of at most 3, got: 4
// NO-STEP: error: zero 2: expected a training step with an optimizer's updates, got none

oneflow.variable @w1 : tensor<16x4xf32> {trainable}
oneflow.variable @b1 : tensor<16xf32> {trainable}
oneflow.variable @w2 : tensor<3x16xf32> {trainable}
oneflow.variable @b2 : tensor<3xf32> {trainable}
oneflow.variable @w1.velocity like @w1 : tensor<16x4xf32>
oneflow.variable @b1.velocity like @b1 : tensor<16xf32>
oneflow.variable @w2.velocity like @w2 : tensor<3x16xf32>
oneflow.variable @b2.velocity like @b2 : tensor<3xf32>
oneflow.variable @rate : tensor<f32>
func.func @train() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %labels = oneflow.input "labels" : tensor<8xi64>
  %w1 = oneflow.read @w1 : tensor<16x4xf32>
  %b1 = oneflow.read @b1 : tensor<16xf32>
  %w2 = oneflow.read @w2 : tensor<3x16xf32>
  %b2 = oneflow.read @b2 : tensor<3xf32>
  %m1 = oneflow.matmul %x, %w1 {transpose_rhs} : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %a1 = oneflow.add %m1, %b1 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %h = oneflow.relu %a1 : tensor<8x16xf32>
  %m2 = oneflow.matmul %h, %w2 {transpose_rhs} : (tensor<8x16xf32>, tensor<3x16xf32>) -> tensor<8x3xf32>
  %logits = oneflow.add %m2, %b2 : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %loss, %log_sum = oneflow.cross_entropy %logits, %labels : (tensor<8x3xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>)
  %sum = oneflow.reduce <sum> %loss dims [0] : (tensor<8xf32>) -> tensor<f32>
  oneflow.output "loss" %sum : tensor<f32>
  %dloss = oneflow.constant dense<1.0> : tensor<8xf32>
  %dlogits = oneflow.cross_entropy_grad %dloss, %logits, %labels, %log_sum : (tensor<8xf32>, tensor<8x3xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x3xf32>
  %db2 = oneflow.reduce <sum> %dlogits dims [0] : (tensor<8x3xf32>) -> tensor<3xf32>
  %dw2 = oneflow.matmul %dlogits, %h {transpose_lhs} : (tensor<8x3xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>
  %dh = oneflow.matmul %dlogits, %w2 : (tensor<8x3xf32>, tensor<3x16xf32>) -> tensor<8x16xf32>
  %da1 = oneflow.relu_grad %dh, %h : tensor<8x16xf32>
  %db1 = oneflow.reduce <sum> %da1 dims [0] : (tensor<8x16xf32>) -> tensor<16xf32>
  %dw1 = oneflow.matmul %da1, %x {transpose_lhs} : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %lr = oneflow.read @rate : tensor<f32>
  %vw1 = oneflow.read @w1.velocity : tensor<16x4xf32>
  %vb1 = oneflow.read @b1.velocity : tensor<16xf32>
  %vw2 = oneflow.read @w2.velocity : tensor<3x16xf32>
  %vb2 = oneflow.read @b2.velocity : tensor<3xf32>
  %nw1, %nvw1 = oneflow.sgd_update %w1, %dw1, %vw1, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>) -> (tensor<16x4xf32>, tensor<16x4xf32>)
  %nb1, %nvb1 = oneflow.sgd_update %b1, %db1, %vb1, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>)
  %nw2, %nvw2 = oneflow.sgd_update %w2, %dw2, %vw2, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<f32>) -> (tensor<3x16xf32>, tensor<3x16xf32>)
  %nb2, %nvb2 = oneflow.sgd_update %b2, %db2, %vb2, %lr {momentum = 0.9, weight_decay = 0.0} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  oneflow.update @w1, %nw1 : tensor<16x4xf32>
  oneflow.update @b1, %nb1 : tensor<16xf32>
  oneflow.update @w2, %nw2 : tensor<3x16xf32>
  oneflow.update @b2, %nb2 : tensor<3xf32>
  oneflow.update @w1.velocity, %nvw1 : tensor<16x4xf32>
  oneflow.update @b1.velocity, %nvb1 : tensor<16xf32>
  oneflow.update @w2.velocity, %nvw2 : tensor<3x16xf32>
  oneflow.update @b2.velocity, %nvb2 : tensor<3xf32>
  return
}
