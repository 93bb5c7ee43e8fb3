// RUN: oneflow-opt %s --comm-fuse-kernels --comm-verify-local | FileCheck %s

// Kernels that only find elements elsewhere.

oneflow.placement @mesh cpu [dp = 3]

#id = affine_map<(d0) -> (d0)>

// Each reader takes its slice itself, at the rank's own offset.
// CHECK-LABEL: func @slice
// CHECK: %[[N:.*]] = comm.scalar <extent
// CHECK: %[[AT:.*]] = comm.scalar <offset
// CHECK: %[[X:.*]] = comm.input
// CHECK: comm.kernel "part+exp" on @mesh (%[[A:.*]] = %[[X]] : tensor<8xf32>, %[[P:.*]] = %[[AT]] : index, %[[M:.*]] = %[[N]] : index) extents(%[[N]])
// CHECK-NEXT: tensor.extract_slice %[[A]][%[[P]]] [%[[M]]] [1]
// CHECK: comm.kernel "part+negate" on @mesh ({{.*}} = %[[X]] : tensor<8xf32>,
// CHECK: tensor.extract_slice
// CHECK-NOT: comm.kernel
func.func @slice() {
  %n = comm.scalar <extent, 8, @mesh, [0], [1]>
  %at = comm.scalar <offset, 8, @mesh, [0], [1]>
  %x = comm.input "x" <tensor<8xf32>, @mesh, <[B]>> : tensor<8xf32>
  %part = comm.kernel "part" on @mesh (%a = %x : tensor<8xf32>, %p = %at : index, %m = %n : index) extents(%n) -> (tensor<?xf32>) {
    %s = tensor.extract_slice %a[%p] [%m] [1] : tensor<8xf32> to tensor<?xf32>
    comm.yield %s : tensor<?xf32>
  }
  %e = comm.kernel "exp" on @mesh (%a = %part : tensor<?xf32>, %m = %n : index) extents(%n) -> (tensor<?xf32>) {
    %out = tensor.empty(%m) : tensor<?xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<?xf32>) outs(%out : tensor<?xf32>) {
    ^bb0(%in: f32, %o: f32):
      %v = math.exp %in : f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
    comm.yield %y : tensor<?xf32>
  }
  %g = comm.kernel "negate" on @mesh (%a = %part : tensor<?xf32>, %m = %n : index) extents(%n) -> (tensor<?xf32>) {
    %out = tensor.empty(%m) : tensor<?xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<?xf32>) outs(%out : tensor<?xf32>) {
    ^bb0(%in: f32, %o: f32):
      %v = arith.negf %in : f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
    comm.yield %y : tensor<?xf32>
  }
  comm.output "e" %e <tensor<8xf32>, @mesh, <[S(0)]>> : tensor<?xf32>
  comm.output "g" %g <tensor<8xf32>, @mesh, <[S(0)]>> : tensor<?xf32>
  return
}

// A slice that is handed to a communication has to be somewhere.
// CHECK-LABEL: func @kept_slice
// CHECK: %[[P:.*]] = comm.kernel "part"
// CHECK: comm.all_gather %[[P]]
func.func @kept_slice() {
  %x = comm.input "x" <tensor<6xf32>, @mesh, <[B]>> : tensor<6xf32>
  %at = comm.scalar <offset, 6, @mesh, [0], [1]>
  %part = comm.kernel "part" on @mesh (%a = %x : tensor<6xf32>, %p = %at : index) -> (tensor<2xf32>) {
    %s = tensor.extract_slice %a[%p] [2] [1] : tensor<6xf32> to tensor<2xf32>
    comm.yield %s : tensor<2xf32>
  }
  %all = comm.all_gather %part dim 0 over @mesh [0] : tensor<2xf32> -> tensor<6xf32>
  comm.output "all" %all <tensor<6xf32>, @mesh, <[B]>> : tensor<6xf32>
  return
}

// A window sum over padded rows, with what reads it.
// CHECK-LABEL: func @padded
// CHECK: comm.kernel "window+exp"
// CHECK: tensor.pad
// CHECK-NOT: comm.kernel
func.func @padded() {
  %x = comm.input "x" <tensor<8xf32>, @mesh, <[B]>> : tensor<8xf32>
  %w = comm.kernel "window" on @mesh (%a = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %zero = arith.constant 0.0 : f32
    %pad = tensor.pad %a low[1] high[1] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<8xf32> to tensor<10xf32>
    %size = tensor.empty() : tensor<3xf32>
    %out = tensor.empty() : tensor<8xf32>
    %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<8xf32>) -> tensor<8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%pad, %size : tensor<10xf32>, tensor<3xf32>) outs(%fill : tensor<8xf32>) {
    ^bb0(%in: f32, %ignored: f32, %sum: f32):
      %v = arith.addf %in, %sum : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    comm.yield %y : tensor<8xf32>
  }
  %e = comm.kernel "exp" on @mesh (%a = %w : tensor<8xf32>) -> (tensor<8xf32>) {
    %out = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%out : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %v = math.exp %in : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    comm.yield %y : tensor<8xf32>
  }
  comm.output "e" %e <tensor<8xf32>, @mesh, <[B]>> : tensor<8xf32>
  return
}

// An update keeps its value a result, whoever else reads it.
// CHECK-LABEL: func @update
// CHECK: %[[K:.*]]:2 = comm.kernel "next+exp"
// CHECK: comm.update @w, %[[K]]#0
// CHECK: comm.output "e" %[[K]]#1
oneflow.variable @w on @mesh storage [B] : tensor<8xf32>
func.func @update() {
  %w = comm.read @w : tensor<8xf32>
  %next = comm.kernel "next" on @mesh (%a = %w : tensor<8xf32>) -> (tensor<8xf32>) {
    %out = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%out : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %v = arith.negf %in : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    comm.yield %y : tensor<8xf32>
  }
  comm.update @w, %next : tensor<8xf32>
  %e = comm.kernel "exp" on @mesh (%a = %next : tensor<8xf32>) -> (tensor<8xf32>) {
    %out = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%out : tensor<8xf32>) {
    ^bb0(%in: f32, %o: f32):
      %v = math.exp %in : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    comm.yield %y : tensor<8xf32>
  }
  comm.output "e" %e <tensor<8xf32>, @mesh, <[B]>> : tensor<8xf32>
  return
}
