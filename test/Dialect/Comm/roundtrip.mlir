// RUN: oneflow-opt %s | oneflow-opt | FileCheck %s
// RUN: oneflow-opt %s -mlir-print-op-generic | oneflow-opt | FileCheck %s
// RUN: oneflow-opt %s --comm-verify-local | FileCheck %s

// Every op of the dialect survives printing and parsing, in its own form and in the
// generic one, and passes the gate.

oneflow.placement @mesh cpu [dp = 2, tp = 3]
oneflow.placement @tail cpu [dp = 2] from 6
oneflow.variable @w on @mesh storage [B, S(0)] : tensor<5x4xf32>

// CHECK-LABEL: func @collectives
func.func @collectives() {
  // CHECK: %[[E:.*]] = comm.scalar <extent, 5, @mesh, [0, 1], [1, 2]>
  %e = comm.scalar <extent, 5, @mesh, [0, 1], [1, 2]>
  // CHECK: comm.scalar <offset, 5, @mesh, [1], [1]>
  %o = comm.scalar <offset, 5, @mesh, [1], [1]>
  // CHECK: comm.scalar <coordinate, 0, @mesh, [0], [1]>
  %c = comm.scalar <coordinate, 0, @mesh, [0], [1]>
  // CHECK: %[[X:.*]] = comm.input "x" <tensor<8x6xf32>, @mesh, <[S(0), B]>> : tensor<4x6xf32>
  %x = comm.input "x" <tensor<8x6xf32>, @mesh, <[S(0), B]>> : tensor<4x6xf32>
  // CHECK: comm.input "u" <tensor<5x6xf32>, @mesh, <[S(0), S(0, block = 2)]>> extents(%[[E]]) : tensor<?x6xf32>
  %u = comm.input "u" <tensor<5x6xf32>, @mesh, <[S(0), S(0, block = 2)]>> extents(%e) : tensor<?x6xf32>
  // CHECK: %[[R:.*]] = comm.all_reduce sum %[[X]] over @mesh [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  %r = comm.all_reduce sum %x over @mesh [1] : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: comm.all_reduce max
  %r2 = comm.all_reduce max %x over @mesh [0, 1] : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK: comm.all_gather %[[R]] dim 0 over @mesh [0] : tensor<4x6xf32> -> tensor<8x6xf32>
  %g = comm.all_gather %r dim 0 over @mesh [0] : tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK: comm.reduce_scatter min %{{.*}} dim 1 over @mesh [1] : tensor<8x6xf32> -> tensor<8x2xf32>
  %s = comm.reduce_scatter min %g dim 1 over @mesh [1] : tensor<8x6xf32> -> tensor<8x2xf32>
  // CHECK: comm.all_to_all %{{.*}} dims 1 -> 0 over @mesh [1] extents(%[[E]]) : tensor<8x2xf32> -> tensor<?x6xf32>
  %a = comm.all_to_all %s dims 1 -> 0 over @mesh [1] extents(%e) : tensor<8x2xf32> -> tensor<?x6xf32>
  // CHECK: %[[T:.*]] = comm.exchange %[[X]] from <tensor<8x6xf32>, @mesh, <[S(0), B]>> to <tensor<8x6xf32>, @tail, <[S(1)]>> : tensor<4x6xf32> -> tensor<8x3xf32>
  %t = comm.exchange %x from <tensor<8x6xf32>, @mesh, <[S(0), B]>> to <tensor<8x6xf32>, @tail, <[S(1)]>> : tensor<4x6xf32> -> tensor<8x3xf32>
  // CHECK: comm.output "t" %[[T]] <tensor<8x6xf32>, @tail, <[S(1)]>> : tensor<8x3xf32>
  comm.output "t" %t <tensor<8x6xf32>, @tail, <[S(1)]>> : tensor<8x3xf32>
  return
}

// CHECK-LABEL: func @kernels
func.func @kernels() {
  // CHECK: %[[E:.*]] = comm.scalar
  %e = comm.scalar <extent, 5, @mesh, [1], [1]>
  // CHECK: %[[W:.*]] = comm.read @w extents(%[[E]]) : tensor<?x4xf32>
  %w = comm.read @w extents(%e) : tensor<?x4xf32>
  // CHECK: %[[K:.*]]:2 = comm.kernel "twice" on @mesh (%{{.*}} = %[[W]] : tensor<?x4xf32>, %{{.*}} = %[[E]] : index) extents(%[[E]]) -> (tensor<?x4xf32>, tensor<f32>) {
  // CHECK: comm.yield %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<f32>
  %k:2 = comm.kernel "twice" on @mesh (%a = %w : tensor<?x4xf32>, %n = %e : index) extents(%e) -> (tensor<?x4xf32>, tensor<f32>) {
    %c = arith.constant dense<1.0> : tensor<f32>
    comm.yield %a, %c : tensor<?x4xf32>, tensor<f32>
  }
  // CHECK: comm.update @w, %[[K]]#0 : tensor<?x4xf32>
  comm.update @w, %k#0 : tensor<?x4xf32>
  return
}
