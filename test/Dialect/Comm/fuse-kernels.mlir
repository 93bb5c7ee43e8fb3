// RUN: oneflow-opt %s --oneflow-place="mesh=dp=1" --oneflow-infer-sbp --oneflow-insert-boxing --convert-oneflow-to-comm --cse --comm-fuse-kernels --comm-verify-local | FileCheck %s

// One function per rule of what merges and what does not.

oneflow.variable @w : tensor<16x32xf32>
oneflow.variable @b : tensor<32xf32>
oneflow.variable @v : tensor<32x16xf32>

// A product takes bias and activation along; the next product reads them from memory.
// CHECK-LABEL: func @epilogue
func.func @epilogue() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %w = oneflow.read @w : tensor<16x32xf32>
  %b = oneflow.read @b : tensor<32xf32>
  %v = oneflow.read @v : tensor<32x16xf32>
  // CHECK: comm.kernel "fc1+bias+act" {{.*}} -> (tensor<8x32xf32>)
  // CHECK: linalg.matmul
  // CHECK: arith.addf
  // CHECK: arith.maximumf
  %0 = oneflow.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> loc("fc1")
  %1 = oneflow.add %0, %b : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32> loc("bias")
  %2 = oneflow.relu %1 : tensor<8x32xf32> loc("act")
  // CHECK: comm.kernel "fc2" {{.*}} -> (tensor<8x16xf32>)
  // CHECK-NOT: comm.kernel
  %3 = oneflow.matmul %2, %v : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32> loc("fc2")
  oneflow.output "y" %3 : tensor<8x16xf32>
  return
}

// Leading dimensions that a product flattens do not stand in the way.
// CHECK-LABEL: func @flattened
func.func @flattened() {
  %x = oneflow.input "x" : tensor<2x8x16xf32>
  %w = oneflow.read @w : tensor<16x32xf32>
  %b = oneflow.read @b : tensor<32xf32>
  // CHECK: comm.kernel "fc+bias+act" {{.*}} -> (tensor<2x8x32xf32>)
  // CHECK-NOT: tensor.collapse_shape
  // CHECK-NOT: tensor.expand_shape
  // CHECK-NOT: comm.kernel
  %0 = oneflow.matmul %x, %w : (tensor<2x8x16xf32>, tensor<16x32xf32>) -> tensor<2x8x32xf32> loc("fc")
  %1 = oneflow.add %0, %b : (tensor<2x8x32xf32>, tensor<32xf32>) -> tensor<2x8x32xf32> loc("bias")
  %2 = oneflow.gelu <erf> %1 : tensor<2x8x32xf32> loc("act")
  oneflow.output "y" %2 : tensor<2x8x32xf32>
  return
}

// What others read stays a result.
// CHECK-LABEL: func @shared
func.func @shared() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: %[[K:.*]]:2 = comm.kernel "relu+exp+both" {{.*}} -> (tensor<8x16xf32>, tensor<8x16xf32>)
  // CHECK-NOT: comm.kernel
  // CHECK: comm.output "e" %[[K]]#0
  // CHECK: comm.output "y" %[[K]]#1
  %0 = oneflow.exp %x : tensor<8x16xf32> loc("exp")
  oneflow.output "e" %0 : tensor<8x16xf32>
  %1 = oneflow.relu %x : tensor<8x16xf32> loc("relu")
  %2 = oneflow.add %0, %1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> loc("both")
  oneflow.output "y" %2 : tensor<8x16xf32>
  return
}

// Kernels that only share an operand stay apart.
// CHECK-LABEL: func @siblings
func.func @siblings() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: comm.kernel "exp"
  // CHECK: comm.kernel "relu"
  %0 = oneflow.exp %x : tensor<8x16xf32> loc("exp")
  %1 = oneflow.relu %x : tensor<8x16xf32> loc("relu")
  oneflow.output "e" %0 : tensor<8x16xf32>
  oneflow.output "y" %1 : tensor<8x16xf32>
  return
}

// Rows: reductions over the last dimension, what feeds them and what reads them.
// CHECK-LABEL: func @rows
func.func @rows() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: comm.kernel "scale+softmax+square+sum+..." {{.*}} -> (tensor<8x16xf32>)
  // CHECK-NOT: comm.kernel
  %c = oneflow.constant dense<0.25> : tensor<f32>
  %0 = oneflow.mul %x, %c : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32> loc("scale")
  %1 = oneflow.softmax %0 dim 1 : tensor<8x16xf32> loc("softmax")
  %2 = oneflow.mul %1, %x : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> loc("square")
  %3 = oneflow.reduce <sum> %2 dims [1] {keep_dims} : (tensor<8x16xf32>) -> tensor<8x1xf32> loc("sum")
  %4 = oneflow.div %2, %3 : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32> loc("ratio")
  oneflow.output "y" %4 : tensor<8x16xf32>
  return
}

// A loss and its gradient are one kernel; the mean is over all rows and is another.
// CHECK-LABEL: func @cross_entropy
func.func @cross_entropy() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %labels = oneflow.input "labels" : tensor<8xi64>
  %d = oneflow.constant dense<0.125> : tensor<8xf32>
  // CHECK: comm.kernel "loss+gradient" {{.*}} -> (tensor<8xf32>, tensor<8x16xf32>)
  // CHECK: comm.kernel "mean+scale" {{.*}} -> (tensor<f32>)
  // CHECK-NOT: comm.kernel
  %loss, %log_sum = oneflow.cross_entropy %x, %labels : (tensor<8x16xf32>, tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) loc("loss")
  %dx = oneflow.cross_entropy_grad %d, %x, %labels, %log_sum : (tensor<8xf32>, tensor<8x16xf32>, tensor<8xi64>, tensor<8xf32>) -> tensor<8x16xf32> loc("gradient")
  %sum = oneflow.reduce <sum> %loss dims [0] : (tensor<8xf32>) -> tensor<f32> loc("mean")
  %n = oneflow.constant dense<0.125> : tensor<f32>
  %mean = oneflow.mul %sum, %n : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("scale")
  oneflow.output "loss" %mean : tensor<f32>
  oneflow.output "dx" %dx : tensor<8x16xf32>
  return
}

// Down the columns: what feeds the sum goes along unless it has to be stored, and what
// reads the sum back over all rows does not.
// CHECK-LABEL: func @columns
func.func @columns() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: %[[SUM:.*]] = comm.kernel "exp+sum" {{.*}} -> (tensor<16xf32>)
  // CHECK: comm.kernel "center" {{.*}} %[[SUM]]
  // CHECK: %[[R:.*]] = comm.kernel "relu"
  // CHECK: comm.kernel "total" {{.*}} %[[R]]
  %0 = oneflow.exp %x : tensor<8x16xf32> loc("exp")
  %1 = oneflow.reduce <sum> %0 dims [0] : (tensor<8x16xf32>) -> tensor<16xf32> loc("sum")
  %2 = oneflow.sub %x, %1 : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32> loc("center")
  %3 = oneflow.relu %x : tensor<8x16xf32> loc("relu")
  %4 = oneflow.reduce <sum> %3 dims [0] : (tensor<8x16xf32>) -> tensor<16xf32> loc("total")
  oneflow.output "c" %2 : tensor<8x16xf32>
  oneflow.output "r" %3 : tensor<8x16xf32>
  oneflow.output "t" %4 : tensor<16xf32>
  return
}

// A path outside: relu -> fc -> sum and relu -> sum. Merging relu and the sum would make
// a cycle.
// CHECK-LABEL: func @cycle
func.func @cycle() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %w = oneflow.input "w" : tensor<16x16xf32>
  // CHECK: %[[R:.*]] = comm.kernel "relu"
  // CHECK: comm.kernel "fc+sum" {{.*}} %[[R]]
  // CHECK-NOT: comm.kernel
  %0 = oneflow.relu %x : tensor<8x16xf32> loc("relu")
  %1 = oneflow.matmul %0, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("fc")
  %2 = oneflow.add %0, %1 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> loc("sum")
  oneflow.output "y" %2 : tensor<8x16xf32>
  return
}

// A product stored for another reader lets the reduction have what is between them.
// CHECK-LABEL: func @stored
func.func @stored() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %w = oneflow.read @w : tensor<16x32xf32>
  %y = oneflow.input "y" : tensor<8x32xf32>
  // CHECK: comm.kernel "fc" {{.*}} -> (tensor<8x32xf32>)
  // CHECK: comm.kernel "times+sum" {{.*}} -> (tensor<8xf32>)
  // CHECK-NOT: comm.kernel
  %0 = oneflow.matmul %x, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> loc("fc")
  %1 = oneflow.mul %0, %y : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32> loc("times")
  %2 = oneflow.reduce <sum> %1 dims [1] : (tensor<8x32xf32>) -> tensor<8xf32> loc("sum")
  oneflow.output "p" %0 : tensor<8x32xf32>
  oneflow.output "s" %2 : tensor<8xf32>
  return
}

// Constants are no buffers, and no kernel: each reader has its own.
// CHECK-LABEL: func @constants
func.func @constants() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  %c = oneflow.constant dense<2.0> : tensor<16xf32> loc("two")
  // CHECK: comm.kernel "two+exp" on @mesh (%{{[^,]*}}) -> (tensor<8x16xf32>)
  // CHECK: comm.kernel "two+total" on @mesh (%{{[^,]*}}) -> (tensor<16xf32>)
  // CHECK-NOT: comm.kernel
  %0 = oneflow.mul %x, %c : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32> loc("exp")
  %1 = oneflow.reduce <sum> %x dims [0] : (tensor<8x16xf32>) -> tensor<16xf32> loc("total")
  %2 = oneflow.mul %1, %c : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("total")
  oneflow.output "y" %0 : tensor<8x16xf32>
  oneflow.output "z" %2 : tensor<16xf32>
  return
}

// A reshape goes into what reads it, a transpose as well where that stays one nest.
// CHECK-LABEL: func @moved
func.func @moved() {
  %x = oneflow.input "x" : tensor<8x16xf32>
  // CHECK: comm.kernel "split+swap+exp" {{.*}} -> (tensor<4x8x4xf32>)
  // CHECK-NOT: comm.kernel
  %0 = oneflow.reshape %x : (tensor<8x16xf32>) -> tensor<8x4x4xf32> loc("split")
  %1 = oneflow.transpose %0 [1, 0, 2] : (tensor<8x4x4xf32>) -> tensor<4x8x4xf32> loc("swap")
  %2 = oneflow.exp %1 : tensor<4x8x4xf32> loc("exp")
  oneflow.output "y" %2 : tensor<4x8x4xf32>
  return
}

// Elements of different rows meet in x + transpose(x): that is no part of the nest that
// computes x. The transpose is: it is another way to store it.
// CHECK-LABEL: func @rows_meet
func.func @rows_meet() {
  %x = oneflow.input "x" : tensor<8x8xf32>
  // CHECK: %[[K:.*]]:2 = comm.kernel "exp+swap"
  // CHECK: comm.kernel "sum" {{.*}} %[[K]]#0 {{.*}} %[[K]]#1
  // CHECK-NOT: comm.kernel
  %0 = oneflow.exp %x : tensor<8x8xf32> loc("exp")
  %1 = oneflow.transpose %0 [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("swap")
  %2 = oneflow.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("sum")
  oneflow.output "y" %2 : tensor<8x8xf32>
  return
}

// What is small is not computed again for every row that reads it.
// CHECK-LABEL: func @no_work_twice
func.func @no_work_twice() {
  %x = oneflow.input "x" : tensor<8x32xf32>
  %b = oneflow.read @b : tensor<32xf32>
  // CHECK: comm.kernel "exp" {{.*}} -> (tensor<32xf32>)
  // CHECK: comm.kernel "sum" {{.*}} -> (tensor<8x32xf32>)
  %0 = oneflow.exp %b : tensor<32xf32> loc("exp")
  %1 = oneflow.add %x, %0 : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32> loc("sum")
  oneflow.output "y" %1 : tensor<8x32xf32>
  return
}
