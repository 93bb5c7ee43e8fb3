// RUN: oneflow-opt %s --split-input-file --oneflow-infer-sbp="hints=h.?.w=S(1)@p" -verify-diagnostics -o /dev/null

// Four heads of three: three ranks do not share them by fours, two would. One warning for
// each hint, however many layers it pins.

oneflow.placement @mesh cpu [p = 3]
// expected-warning@+1 {{hint 'h.?.w=S(1)@p' splits h.0.w within the 4 blocks of 3 (attention heads, say) that heads makes of them, which 3 ranks do not share evenly, so that all that works by blocks gathers them; S(1, block = 3)@p splits between blocks}}
oneflow.variable @h.0.w on @mesh : tensor<6x12xf32>
oneflow.variable @h.1.w on @mesh : tensor<6x12xf32>
oneflow.variable @bias on @mesh : tensor<12xf32>
func.func @heads() {
  %x = oneflow.input "x" on @mesh : tensor<2x5x6xf32>
  %w = oneflow.read @h.0.w on @mesh : tensor<6x12xf32>
  %v = oneflow.read @h.1.w on @mesh : tensor<6x12xf32>
  %b = oneflow.read @bias on @mesh : tensor<12xf32>
  %0 = oneflow.matmul %x, %w on @mesh : (tensor<2x5x6xf32>, tensor<6x12xf32>) -> tensor<2x5x12xf32>
  %1 = oneflow.add %0, %b on @mesh : (tensor<2x5x12xf32>, tensor<12xf32>) -> tensor<2x5x12xf32>
  %2 = oneflow.reshape %1 on @mesh : (tensor<2x5x12xf32>) -> tensor<2x5x4x3xf32> loc("heads"("model.onnx":3:0))
  oneflow.output "y" %2 on @mesh : tensor<2x5x4x3xf32>
  %3 = oneflow.matmul %x, %v on @mesh : (tensor<2x5x6xf32>, tensor<6x12xf32>) -> tensor<2x5x12xf32>
  %4 = oneflow.reshape %3 on @mesh : (tensor<2x5x12xf32>) -> tensor<2x5x4x3xf32>
  oneflow.output "z" %4 on @mesh : tensor<2x5x4x3xf32>
  return
}

// -----

// Two ranks share four heads evenly, and what is split before the product is no head.

oneflow.placement @mesh cpu [p = 2]
oneflow.variable @h.0.w on @mesh : tensor<6x12xf32>
oneflow.variable @in on @mesh : tensor<6x12xf32> {oneflow.sbp = ["S(0)@p"]}
func.func @fine() {
  %x = oneflow.input "x" on @mesh : tensor<2x5x6xf32>
  %w = oneflow.read @h.0.w on @mesh : tensor<6x12xf32>
  %0 = oneflow.matmul %x, %w on @mesh : (tensor<2x5x6xf32>, tensor<6x12xf32>) -> tensor<2x5x12xf32>
  %1 = oneflow.reshape %0 on @mesh : (tensor<2x5x12xf32>) -> tensor<2x5x4x3xf32>
  oneflow.output "y" %1 on @mesh : tensor<2x5x4x3xf32>
  %v = oneflow.read @in on @mesh : tensor<6x12xf32>
  %2 = oneflow.matmul %x, %v on @mesh : (tensor<2x5x6xf32>, tensor<6x12xf32>) -> tensor<2x5x12xf32>
  %3 = oneflow.reshape %2 on @mesh : (tensor<2x5x12xf32>) -> tensor<2x5x4x3xf32>
  oneflow.output "z" %3 on @mesh : tensor<2x5x4x3xf32>
  return
}

// -----

// Fewer heads than ranks: there is no split between them to offer.

oneflow.placement @mesh cpu [p = 5]
oneflow.variable @h.0.w on @mesh : tensor<6x12xf32>
func.func @few() {
  %x = oneflow.input "x" on @mesh : tensor<2x5x6xf32>
  %w = oneflow.read @h.0.w on @mesh : tensor<6x12xf32>
  %0 = oneflow.matmul %x, %w on @mesh : (tensor<2x5x6xf32>, tensor<6x12xf32>) -> tensor<2x5x12xf32>
  %1 = oneflow.reshape %0 on @mesh : (tensor<2x5x12xf32>) -> tensor<2x5x4x3xf32>
  oneflow.output "y" %1 on @mesh : tensor<2x5x4x3xf32>
  return
}
