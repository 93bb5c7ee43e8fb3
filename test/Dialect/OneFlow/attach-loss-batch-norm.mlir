// RUN: oneflow-opt %s --oneflow-attach-loss=loss=mean | FileCheck %s

oneflow.variable @mean : tensor<4xf32>
oneflow.variable @variance : tensor<4xf32>

// Evaluation uses the running statistics, training the batch's, and moves them.
// CHECK-LABEL: func @eval
// CHECK: oneflow.batch_norm {{.*}} {epsilon = {{.*}} : f64, momentum = 7.500000e-01 : f64} :
// CHECK-NOT: oneflow.update
// CHECK-LABEL: func @train
// CHECK: %[[MEAN:.*]] = oneflow.read @mean
// CHECK: %{{.*}}, %[[BATCH:.*]], %{{.*}} = oneflow.batch_norm {{.*}}training} :
// CHECK: oneflow.update @variance, %
// CHECK: %[[KEPT:.*]] = oneflow.mul %[[MEAN]], %
// CHECK: %[[ADDED:.*]] = oneflow.mul %[[BATCH]], %
// CHECK: %[[NEXT:.*]] = oneflow.add %[[KEPT]], %[[ADDED]]
// CHECK: oneflow.update @mean, %[[NEXT]]
func.func @main() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %c = oneflow.input "c" : tensor<4xf32>
  %mean = oneflow.read @mean : tensor<4xf32>
  %variance = oneflow.read @variance : tensor<4xf32>
  %y, %m, %v = oneflow.batch_norm %x scale %c bias %c mean %mean variance %variance {epsilon = 1.0e-5 : f64, momentum = 0.75 : f64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  oneflow.output "y" %y : tensor<8x4xf32>
  return
}
