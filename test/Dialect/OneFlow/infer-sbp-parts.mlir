// RUN: oneflow-opt %s --oneflow-infer-sbp='hints=w=S(1)@tp' | FileCheck %s --check-prefix=WHOLE
// RUN: oneflow-opt %s --oneflow-infer-sbp='hints=w.0=S(1)@tp' | FileCheck %s --check-prefix=PART
// RUN: not oneflow-opt %s --oneflow-infer-sbp='hints=ww=S(1)@tp' 2>&1 | FileCheck %s --check-prefix=NAME

// A hint that names the whole pins every part.
// WHOLE: oneflow.variable @w.0 part of "w" [4, 6] at dim 1 offset 0 on @mesh storage [S(1)]
// WHOLE: oneflow.variable @w.1 part of "w" [4, 6] at dim 1 offset 4 on @mesh storage [S(1)]
// PART: @w.0 part of "w" {{.*}} storage [S(1)]
// PART: @w.1 part of "w" {{.*}} storage [{{B|S\(0\)}}]
// NAME: nearest name: w
oneflow.placement @mesh cpu [tp = 2]
oneflow.variable @w.0 part of "w" [4, 6] at dim 1 offset 0 on @mesh : tensor<4x4xf32>
oneflow.variable @w.1 part of "w" [4, 6] at dim 1 offset 4 on @mesh : tensor<4x2xf32>
func.func @main() {
  %0 = oneflow.read @w.0 on @mesh : tensor<4x4xf32>
  oneflow.output "y" %0 on @mesh : tensor<4x4xf32>
  return
}
