// RUN: oneflow-opt %s --convert-oneflow-to-comm | FileCheck %s

oneflow.placement @mesh cpu [dp = 2]

// Even splits are static; each one-axis step is one collective.
// CHECK-LABEL: func.func @even
func.func @even() {
  // CHECK: [[X:%.*]] = comm.input "x" <tensor<8x4xf32>, @mesh, <[S(0)]>> : tensor<4x4xf32>
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<8x4xf32>
  // CHECK: [[R:%.*]] = comm.kernel "relu" on @mesh (%{{.*}} = [[X]] : tensor<4x4xf32>) -> (tensor<4x4xf32>)
  %r = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<8x4xf32>
  // CHECK: comm.all_to_all [[R]] dims 0 -> 1 over @mesh [0] : tensor<4x4xf32> -> tensor<8x2xf32>
  %t = oneflow.boxing %r on @mesh sbp ([S(0)]) -> ([S(1)]) : tensor<8x4xf32>
  // CHECK: comm.all_gather {{.*}} dim 1 over @mesh [0] : tensor<8x2xf32> -> tensor<8x4xf32>
  %b = oneflow.boxing %t on @mesh sbp ([S(1)]) -> ([B]) : tensor<8x4xf32>
  // CHECK: comm.output "y"
  oneflow.output "y" %b on @mesh sbp ([B]) -> () : tensor<8x4xf32>
  return
}

// Uneven ones are dynamic, and the op that makes the tensor says by which scalar.
// CHECK-LABEL: func.func @uneven
func.func @uneven() {
  // CHECK: [[E:%.*]] = comm.scalar <extent, 5, @mesh, [0], [1]>
  // CHECK: [[X:%.*]] = comm.input "x" {{.*}} extents([[E]]) : tensor<?x4xf32>
  %x = oneflow.input "x" on @mesh sbp () -> ([S(0)]) : tensor<5x4xf32>
  // CHECK: [[S:%.*]] = comm.kernel "reduce" on @mesh
  %s = oneflow.reduce <sum> %x dims [0] on @mesh sbp ([S(0)]) -> ([P(sum)]) : (tensor<5x4xf32>) -> tensor<4xf32>
  // CHECK: comm.all_reduce sum [[S]] over @mesh [0] : tensor<4xf32> -> tensor<4xf32>
  %b = oneflow.boxing %s on @mesh sbp ([P(sum)]) -> ([B]) : tensor<4xf32>
  oneflow.output "y" %b on @mesh sbp ([B]) -> () : tensor<4xf32>
  return
}

// What moves nothing is a kernel.
// CHECK-LABEL: func.func @local
func.func @local() {
  %x = oneflow.input "x" on @mesh sbp () -> ([B]) : tensor<8xf32>
  // CHECK: comm.kernel
  // CHECK: tensor.extract_slice
  // CHECK-NOT: comm.all
  %s = oneflow.boxing %x on @mesh sbp ([B]) -> ([S(0)]) : tensor<8xf32>
  // CHECK: comm.kernel
  // CHECK: tensor.insert_slice
  %p = oneflow.boxing %s on @mesh sbp ([S(0)]) -> ([P(max)]) : tensor<8xf32>
  // CHECK: comm.reduce_scatter max {{.*}} dim 0 over @mesh [0]
  %q = oneflow.boxing %p on @mesh sbp ([P(max)]) -> ([S(0)]) : tensor<8xf32>
  %b = oneflow.boxing %q on @mesh sbp ([S(0)]) -> ([B]) : tensor<8xf32>
  oneflow.output "y" %b on @mesh sbp ([B]) -> () : tensor<8xf32>
  return
}
