// RUN: oneflow-opt %s --comm-fuse-kernels --comm-verify-local | FileCheck %s
// RUN: oneflow-opt %s --comm-fuse-kernels="max-ops=1" | FileCheck %s --check-prefix=SMALL
// RUN: oneflow-opt %s --comm-fuse-kernels="max-operands=2" | FileCheck %s --check-prefix=SMALL

// Communication is where kernels end, and none starts later than before.

oneflow.placement @mesh cpu [dp = 2]

#id = affine_map<(d0) -> (d0)>

// The sum is one communication behind the double, which must not wait for it. The half
// is as deep as the sum.
// CHECK-LABEL: func @depth
// CHECK: %[[D:.*]] = comm.kernel "double"
// CHECK: comm.all_reduce sum %[[D]]
// CHECK: %[[S:.*]] = comm.kernel "sum+half"
// CHECK-NOT: comm.kernel
// SMALL-LABEL: func @depth
// SMALL: comm.kernel "double"
// SMALL: comm.kernel "sum"
// SMALL: comm.kernel "half"
func.func @depth() {
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[P(sum)]>> : tensor<4xf32>
  %r = comm.all_reduce sum %x over @mesh [0] : tensor<4xf32> -> tensor<4xf32>
  %d = comm.kernel "double" on @mesh (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %in, %in : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    comm.yield %y : tensor<4xf32>
  }
  %rd = comm.all_reduce sum %d over @mesh [0] : tensor<4xf32> -> tensor<4xf32>
  %s = comm.kernel "sum" on @mesh (%a = %d : tensor<4xf32>, %b = %r : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %v = arith.addf %in, %other : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    comm.yield %y : tensor<4xf32>
  }
  %h = comm.kernel "half" on @mesh (%a = %s : tensor<4xf32>, %b = %rd : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %other: f32, %out: f32):
      %v = arith.subf %in, %other : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    comm.yield %y : tensor<4xf32>
  }
  comm.output "h" %h <tensor<4xf32>, @mesh, <[B]>> : tensor<4xf32>
  return
}

// The all-reduce of the double stands before its other reader, and moves behind the
// merged kernel, with all that depends on it.
// CHECK-LABEL: func @moved
// CHECK: %[[K:.*]]:2 = comm.kernel "double+negate"
// CHECK: %[[R:.*]] = comm.all_reduce sum %[[K]]#0
// CHECK: comm.output "r" %[[R]]
// CHECK: comm.output "n" %[[K]]#1
// SMALL-LABEL: func @moved
// SMALL: comm.kernel "double"
// SMALL: comm.kernel "negate"
func.func @moved() {
  %x = comm.input "x" <tensor<4xf32>, @mesh, <[P(sum)]>> : tensor<4xf32>
  %d = comm.kernel "double" on @mesh (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %in, %in : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    comm.yield %y : tensor<4xf32>
  }
  %r = comm.all_reduce sum %d over @mesh [0] : tensor<4xf32> -> tensor<4xf32>
  comm.output "r" %r <tensor<4xf32>, @mesh, <[B]>> : tensor<4xf32>
  %n = comm.kernel "negate" on @mesh (%a = %d : tensor<4xf32>) -> (tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.negf %in : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    comm.yield %y : tensor<4xf32>
  }
  comm.output "n" %n <tensor<4xf32>, @mesh, <[P(sum)]>> : tensor<4xf32>
  return
}
