// RUN: not oneflow-opt %s -oneflow-mixed-precision=type=f8 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not oneflow-opt %s -oneflow-mixed-precision=ops=matmul 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not oneflow-opt %s -oneflow-mixed-precision=ops=matmul=medium 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not oneflow-opt %s -oneflow-mixed-precision=ops=matmul=low,einsum=low 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not oneflow-opt %s -oneflow-mixed-precision=ops=adamw_update=low 2>&1 | FileCheck %s --check-prefix=UPDATE
// RUN: not oneflow-opt %s -oneflow-mixed-precision=ops=relu=low,relu=high 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not oneflow-opt %s -oneflow-mixed-precision=type=bf16 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not oneflow-opt %s -oneflow-mixed-precision="type=bf16 train=main" 2>&1 | FileCheck %s --check-prefix=MASTER

// TYPE: error: option type: expected f32, bf16 or f16, got: f8
// ENTRY: error: option ops: expected op=low, op=high or op=follow, got: 'matmul'
// WORD: error: option ops: expected op=low, op=high or op=follow, got: 'matmul=medium'
// NAME: error: option ops: no op 'einsum' computes in a type of its choice; expected one of add, {{.*}}, matmul, {{.*}}, transpose
// UPDATE: error: option ops: no op 'adamw_update' computes in a type of its choice
// TWICE: error: option ops: 'relu' is named twice
// WIDE: error: 'oneflow.matmul' op expected operands of f32, f16 or bf16 for mixed precision, got: 'tensor<4x4xf64>'
// MASTER: error: 'oneflow.variable' op expected parameters of f32 to train in mixed precision, got: {{.*}}tensor<4xbf16>

oneflow.variable @b : tensor<4xbf16> {trainable}
func.func @main() {
  %b = oneflow.read @b : tensor<4xbf16>
  oneflow.output "b" %b : tensor<4xbf16>
  %x = oneflow.input "x" : tensor<4x4xf64>
  %0 = oneflow.matmul %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  oneflow.output "y" %0 : tensor<4x4xf64>
  return
}
