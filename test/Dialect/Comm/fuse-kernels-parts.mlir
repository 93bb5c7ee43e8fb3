// RUN: oneflow-opt %s --oneflow-place="mesh=dp=1" --oneflow-infer-sbp --oneflow-insert-boxing --convert-oneflow-to-comm --cse --comm-fuse-kernels --comm-verify-local | FileCheck %s

// A reader takes slices where it wants them; packed projections are never copied.
// CHECK-LABEL: func @slices
func.func @slices() {
  %x = oneflow.input "x" : tensor<8x12xf32>
  // CHECK: comm.kernel {{.*}} -> (tensor<8x4xf32>)
  // CHECK: tensor.extract_slice
  // CHECK: tensor.extract_slice
  // CHECK: arith.mulf
  // CHECK-NOT: comm.kernel
  %0 = oneflow.slice %x offsets [0, 0] sizes [8, 4] strides [1, 1] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %1 = oneflow.slice %x offsets [0, 4] sizes [8, 4] strides [1, 2] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %2 = oneflow.mul %0, %1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  oneflow.output "y" %2 : tensor<8x4xf32>
  return
}

// Rows are gathered into the loop that uses them.
// CHECK-LABEL: func @gathered
func.func @gathered() {
  %table = oneflow.input "table" : tensor<100x16xf32>
  %ids = oneflow.input "ids" : tensor<8xi64>
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: comm.kernel {{.*}} -> (tensor<8x16xf32>)
  // CHECK: tensor.extract
  // CHECK: arith.addf
  // CHECK-NOT: comm.kernel
  %0 = oneflow.gather %table, %ids dim 0 : (tensor<100x16xf32>, tensor<8xi64>) -> tensor<8x16xf32>
  %1 = oneflow.add %0, %x : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  oneflow.output "y" %1 : tensor<8x16xf32>
  return
}

// What is added at indices is computed before, or it would be once for every row of the
// table; and no row is done before the last index was seen.
// CHECK-LABEL: func @scattered
func.func @scattered() {
  %table = oneflow.input "table" : tensor<100x16xf32>
  %ids = oneflow.input "ids" : tensor<8xi64>
  %dy = oneflow.input "dy" : tensor<8x16xf32>
  // CHECK: comm.kernel {{.*}} -> (tensor<8x16xf32>)
  // CHECK: math.exp
  // CHECK: comm.kernel {{.*}} -> (tensor<100x16xf32>)
  // CHECK-NOT: math.exp
  // CHECK-NOT: arith.subf
  // CHECK: comm.kernel {{.*}} -> (tensor<100x16xf32>)
  // CHECK: arith.subf
  %0 = oneflow.exp %dy : tensor<8x16xf32>
  %1 = oneflow.gather_grad %0, %ids dim 0 extent 100 : (tensor<8x16xf32>, tensor<8xi64>) -> tensor<100x16xf32>
  %2 = oneflow.sub %table, %1 : (tensor<100x16xf32>, tensor<100x16xf32>) -> tensor<100x16xf32>
  oneflow.output "y" %2 : tensor<100x16xf32>
  return
}
