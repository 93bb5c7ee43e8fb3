// RUN: oneflow-opt %s --oneflow-decompose-batch-norm --canonicalize --cse | FileCheck %s

// Two passes over the batch, each a reduction that says what it may be taken of.
// CHECK-LABEL: func @training
// CHECK: %[[X:.*]] = oneflow.input "x"
// CHECK: %[[SUM:.*]] = oneflow.reduce <sum> %[[X]] dims [0, 2] {keep_dims, oneflow.per_micro_batch} : (tensor<8x4x6xf32>) -> tensor<1x4x1xf32>
// CHECK: %[[MEAN:.*]] = oneflow.div %[[SUM]]
// CHECK: %[[CENTERED:.*]] = oneflow.sub %[[X]], %[[MEAN]]
// CHECK: %[[SQUARES:.*]] = oneflow.mul %[[CENTERED]], %[[CENTERED]]
// CHECK: oneflow.reduce <sum> %[[SQUARES]] dims [0, 2] {keep_dims, oneflow.per_micro_batch} : (tensor<8x4x6xf32>) -> tensor<1x4x1xf32>
// CHECK-NOT: oneflow.reduce
// CHECK-NOT: oneflow.batch_norm
func.func @training() {
  %x = oneflow.input "x" : tensor<8x4x6xf32>
  %c = oneflow.input "c" : tensor<4xf32>
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, training, per_micro_batch} : (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  oneflow.output "y" %y : tensor<8x4x6xf32>
  return
}

// Nothing is reduced; what the node was asked for goes to the ends.
// CHECK-LABEL: func @inference
// CHECK-NOT: oneflow.reduce
// CHECK: oneflow.sub {{.*}} {oneflow.sharding = [#oneflow.sharding<in 0
// CHECK: oneflow.add {{.*}} {oneflow.sharding = [#oneflow.sharding<out 0
// CHECK-NOT: oneflow.batch_norm
func.func @inference() {
  %x = oneflow.input "x" : tensor<8x4x6xf32>
  %c = oneflow.input "c" : tensor<4xf32>
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %c variance %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, oneflow.sharding = [#oneflow.sharding<in 0, groups = [[0], [1]], dims = [[0, 2]], devices = 2>, #oneflow.sharding<out 0, groups = [[0], [1]], dims = [[0, 2]], devices = 2>]} : (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  oneflow.output "y" %y : tensor<8x4x6xf32>
  return
}
