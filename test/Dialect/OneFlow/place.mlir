// RUN: oneflow-opt %s --split-input-file --oneflow-place='mesh=dp=2,tp=3 device=cuda' | FileCheck %s

// Everything goes to one mesh.

// CHECK-LABEL: module
// CHECK: oneflow.placement @mesh cuda [dp = 2, tp = 3]
// CHECK: oneflow.variable @w on @mesh : tensor<4xf32>
// CHECK: oneflow.read @w on @mesh
// CHECK: oneflow.relu %{{.*}} on @mesh
// CHECK: oneflow.output "y" %{{.*}} on @mesh
oneflow.variable @w : tensor<4xf32>
func.func @f() {
  %w = oneflow.read @w : tensor<4xf32>
  %y = oneflow.relu %w : tensor<4xf32>
  oneflow.output "y" %y : tensor<4xf32>
  return
}

// -----

// What is placed stays, and a variable is where its uses are.

// CHECK-LABEL: module
// CHECK: oneflow.placement @mesh cpu [x = 5]
// CHECK: oneflow.placement @tail cpu [p = 2] from 5
// CHECK: oneflow.variable @w on @tail : tensor<4xf32>
// CHECK: oneflow.read @w on @tail
// CHECK: oneflow.read @w on @tail
// CHECK: oneflow.relu %{{.*}} on @mesh
oneflow.placement @mesh cpu [x = 5]
oneflow.placement @tail cpu [p = 2] from 5
oneflow.variable @w : tensor<4xf32>
func.func @f() {
  %0 = oneflow.read @w : tensor<4xf32>
  %1 = oneflow.read @w on @tail : tensor<4xf32>
  %2 = oneflow.relu %0 : tensor<4xf32>
  oneflow.output "y" %2 : tensor<4xf32>
  oneflow.output "z" %1 : tensor<4xf32>
  return
}

// -----

// The name of the placement is another where a variable has it.

// CHECK-LABEL: module
// CHECK: oneflow.placement @mesh_1 cuda [dp = 2, tp = 3]
// CHECK: oneflow.variable @mesh on @mesh_1 : tensor<4xf32>
// CHECK: oneflow.variable @mesh_0 on @mesh_1 : tensor<4xf32>
oneflow.variable @mesh : tensor<4xf32>
oneflow.variable @mesh_0 : tensor<4xf32>
