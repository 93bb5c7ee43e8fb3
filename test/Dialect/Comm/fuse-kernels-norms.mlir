// RUN: oneflow-opt %s --oneflow-logical-pipeline="train=true optimizer=none" --oneflow-place="mesh=dp=1" --oneflow-infer-sbp --oneflow-insert-boxing --convert-oneflow-to-comm --cse --comm-fuse-kernels --comm-verify-local | FileCheck %s

// A layer norm between two products. Forward it is one kernel; backward one over the rows,
// behind what goes into the product that gives the gradient of its result, and a sum for
// each parameter.

oneflow.variable @w : tensor<16x32xf32> {trainable}
oneflow.variable @s : tensor<32xf32> {trainable}
oneflow.variable @b : tensor<32xf32> {trainable}
oneflow.variable @v : tensor<32x10xf32> {trainable}

// CHECK-LABEL: func @train
// CHECK: %[[X:.*]] = comm.kernel "matmul" {{.*}} -> (tensor<8x32xf32>)
// CHECK: %[[Y:.*]]:3 = comm.kernel "layer_norm{{.*}}" {{.*}} %[[X]] {{.*}} -> (tensor<8x32xf32>, tensor<8x1xf32>, tensor<8x32xf32>)
// CHECK: %[[Z:.*]] = comm.kernel {{.*}} %[[Y]]#0 {{.*}} -> (tensor<8x10xf32>)
// The loss and its gradient.
// CHECK: comm.kernel {{.*}} %[[Z]] {{.*}} -> (tensor<8xf32>, tensor<8x10xf32>)
// CHECK: comm.kernel {{.*}} -> (tensor<f32>)
// CHECK: comm.kernel {{.*}} -> (tensor<32x10xf32>)
// CHECK: %[[DY:.*]]:4 = comm.kernel {{.*}} %[[Y]]#2 {{.*}} -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>)
// CHECK: %[[DX:.*]] = comm.kernel {{.*}} %[[DY]]#{{.*}} %[[Y]]#1 {{.*}} -> (tensor<8x32xf32>)
// CHECK: comm.kernel {{.*}} %[[DY]]#{{.*}} -> (tensor<32xf32>)
// CHECK: comm.kernel {{.*}} %[[DY]]#{{.*}} -> (tensor<32xf32>)
// CHECK: comm.kernel {{.*}} %[[DX]] {{.*}} -> (tensor<16x32xf32>)
// CHECK-NOT: comm.kernel
// CHECK: return
func.func @main() {
  %x0 = oneflow.input "x" : tensor<8x16xf32>
  %w = oneflow.read @w : tensor<16x32xf32>
  %x = oneflow.matmul %x0, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %s = oneflow.read @s : tensor<32xf32>
  %b = oneflow.read @b : tensor<32xf32>
  %y, %mean, %inverse = oneflow.layer_norm %x scale %s bias %b dims_from 1 {epsilon = 1.0e-5 : f64} : (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8x1xf32>, tensor<8x1xf32>)
  %v = oneflow.read @v : tensor<32x10xf32>
  %z = oneflow.matmul %y, %v : (tensor<8x32xf32>, tensor<32x10xf32>) -> tensor<8x10xf32>
  oneflow.output "logits" %z : tensor<8x10xf32>
  return
}
