// RUN: oneflow-opt %s --oneflow-logical-pipeline="train=true" --oneflow-place="mesh=dp=1" --oneflow-infer-sbp --oneflow-insert-boxing --convert-oneflow-to-comm --cse --comm-fuse-kernels --comm-verify-local | FileCheck %s --check-prefix=ONE
// RUN: oneflow-opt %s --oneflow-logical-pipeline="train=true" --oneflow-place="mesh=dp=3" --oneflow-infer-sbp --oneflow-insert-boxing --convert-oneflow-to-comm --cse --comm-fuse-kernels --comm-verify-local | FileCheck %s --check-prefix=MANY

// A training step of two layers: forward, loss, backward and AdamW.

oneflow.variable @w1 : tensor<16x32xf32> {trainable}
oneflow.variable @b1 : tensor<32xf32> {trainable}
oneflow.variable @w2 : tensor<32x10xf32> {trainable}
oneflow.variable @b2 : tensor<10xf32> {trainable}

// On one rank an update is the epilogue of the product, or the end of the sum, that
// gives its gradient.
// ONE-LABEL: func @train
// The count of steps.
// ONE: comm.kernel {{.*}} -> (tensor<i64>)
// The two layers.
// ONE: %[[H:.*]] = comm.kernel "fc1+bias1+act" {{.*}} -> (tensor<8x32xf32>)
// ONE: %[[L:.*]] = comm.kernel "fc2+bias2" {{.*}} %[[H]] {{.*}} -> (tensor<8x10xf32>)
// The loss of each row with the gradient, and the mean.
// ONE: %[[D:.*]]:2 = comm.kernel {{.*}} %[[L]] {{.*}} -> (tensor<8xf32>, tensor<8x10xf32>)
// ONE: comm.kernel {{.*}} %[[D]]#0 {{.*}} -> (tensor<f32>)
// Backward through the second product and the activation.
// ONE: comm.kernel {{.*}} %[[D]]#1 {{.*}} -> (tensor<8x32xf32>)
// One kernel per parameter.
// ONE: comm.kernel {{.*}} -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>)
// ONE: comm.kernel {{.*}} -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
// ONE: comm.kernel {{.*}} -> (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>)
// ONE: comm.kernel {{.*}} -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
// ONE-NOT: comm.kernel
// ONE: return

// On several, the gradients are summed in between, and nothing crosses that. The batch
// of 8 is uneven: the rows are dynamic.
// MANY-LABEL: func @train
// MANY: comm.kernel {{.*}} -> (tensor<i64>)
// MANY: comm.kernel "fc1+bias1+act" {{.*}} -> (tensor<?x32xf32>)
// MANY: comm.kernel "fc2+bias2" {{.*}} -> (tensor<?x10xf32>)
// MANY: comm.kernel {{.*}} -> (tensor<?xf32>, tensor<?x10xf32>)
// MANY: %[[S:.*]] = comm.kernel {{.*}} -> (tensor<f32>)
// MANY: %[[ALL:.*]] = comm.all_reduce sum %[[S]]
// MANY: comm.kernel {{.*}} %[[ALL]] {{.*}} -> (tensor<f32>)
// MANY-DAG: %[[DB2:.*]] = comm.kernel {{.*}} -> (tensor<10xf32>)
// MANY-DAG: %[[GB2:.*]] = comm.all_reduce sum %[[DB2]]
// MANY-DAG: %[[DW2:.*]] = comm.kernel {{.*}} -> (tensor<32x10xf32>)
// MANY-DAG: %[[GW2:.*]] = comm.all_reduce sum %[[DW2]]
// MANY-DAG: comm.kernel {{.*}} -> (tensor<?x32xf32>)
// MANY-DAG: %[[DB1:.*]] = comm.kernel {{.*}} -> (tensor<32xf32>)
// MANY-DAG: %[[GB1:.*]] = comm.all_reduce sum %[[DB1]]
// MANY-DAG: %[[DW1:.*]] = comm.kernel {{.*}} -> (tensor<16x32xf32>)
// MANY-DAG: %[[GW1:.*]] = comm.all_reduce sum %[[DW1]]
// MANY: comm.kernel {{.*}} %[[GW1]] {{.*}} -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>)
// MANY: comm.kernel {{.*}} %[[GB1]] {{.*}} -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
// MANY: comm.kernel {{.*}} %[[GW2]] {{.*}} -> (tensor<32x10xf32>, tensor<32x10xf32>, tensor<32x10xf32>)
// MANY: comm.kernel {{.*}} %[[GB2]] {{.*}} -> (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>)
// MANY-NOT: comm.kernel
// MANY: return
func.func @main() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %w1 = oneflow.read @w1 : tensor<16x32xf32>
  %b1 = oneflow.read @b1 : tensor<32xf32>
  %w2 = oneflow.read @w2 : tensor<32x10xf32>
  %b2 = oneflow.read @b2 : tensor<10xf32>
  %0 = oneflow.matmul %x, %w1 : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> loc("fc1")
  %1 = oneflow.add %0, %b1 : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32> loc("bias1")
  %2 = oneflow.relu %1 : tensor<8x32xf32> loc("act")
  %3 = oneflow.matmul %2, %w2 : (tensor<8x32xf32>, tensor<32x10xf32>) -> tensor<8x10xf32> loc("fc2")
  %4 = oneflow.add %3, %b2 : (tensor<8x10xf32>, tensor<10xf32>) -> tensor<8x10xf32> loc("bias2")
  oneflow.output "y" %4 : tensor<8x10xf32>
  return
}
