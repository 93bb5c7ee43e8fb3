// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Normalisations over classes, losses, and optimizer updates.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_TRAININGOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_TRAININGOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

class OneFlow_SoftmaxLikeOp<string mnemonic>
    : OneFlow_ComputeOp<mnemonic, (ins OneFlow_FloatTensor:$x, I64Attr:$dim),
        [SameOperandsAndResultType, DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $x `dim` $dim `` custom<Spread>($placement, $signature) attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def OneFlow_SoftmaxOp : OneFlow_SoftmaxLikeOp<"softmax"> {
  let summary = "exp(x) over its sum along a dimension";
  let description = [{
    Split along `dim`, it is decomposed into reductions with P(max) and P(sum).

    Constraints:
    1. softmax_c1: dim is a dimension of x
  }];
}

def OneFlow_LogSoftmaxOp : OneFlow_SoftmaxLikeOp<"log_softmax"> {
  let summary = "x less the logarithm of the sum of exp(x) along a dimension";
  let description = [{
    Split along `dim`, it is decomposed into reductions with P(max) and P(sum).

    Constraints:
    1. softmax_c1: dim is a dimension of x
  }];
}

def OneFlow_CrossEntropyOp : OneFlow_ComputeOp<"cross_entropy",
    (ins OneFlow_FloatTensor:$logits, RankedTensorOf<[I64]>:$labels),
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "softmax cross-entropy of each sample against its label";
  let description = [{
    `(n c), (n) -> (n), (n)`: `loss[i] = log_sum[i] - logits[i, labels[i]]` with
    `log_sum[i] = log Σ exp(logits[i, :])`, which the gradient needs. Split along the
    classes, it is decomposed with P(max) and P(sum): the logits are not gathered. A
    label outside [0, c) is an error when the step runs.

    Constraints:
    1. cross_entropy_c1: logits have rank 2, labels rank 1 of the same extent
  }];
  let results = (outs OneFlow_FloatTensor:$loss, OneFlow_FloatTensor:$log_sum);
  let assemblyFormat = [{
    $logits `,` $labels `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_CrossEntropyGradOp : OneFlow_ComputeOp<"cross_entropy_grad",
    (ins OneFlow_FloatTensor:$dloss, OneFlow_FloatTensor:$logits,
         RankedTensorOf<[I64]>:$labels, OneFlow_FloatTensor:$log_sum),
    [AllTypesMatch<["logits", "result"]>]> {
  let summary = "gradient of cross_entropy with respect to the logits";
  let description = [{
    `dloss[i] · (exp(logits[i, j] - log_sum[i]) - [j = labels[i]])`.

    Constraints:
    1. cross_entropy_grad_c1: logits have rank 2, the others rank 1 of the same extent
  }];
  let hasVerifier = 1;
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $dloss `,` $logits `,` $labels `,` $log_sum `` custom<Spread>($placement, $signature)
    attr-dict `:` functional-type(operands, results)
  }];
}

def OneFlow_PickOp : OneFlow_ComputeOp<"pick",
    (ins OneFlow_FloatTensor:$x, RankedTensorOf<[I64]>:$indices),
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "one element of each row";
  let description = [{
    `(n c), (n) -> (n)`: `x[i, indices[i]]`. Split along c it gives P(sum): each rank
    answers for its own columns. An index outside [0, c) is an error when the step runs.

    Constraints:
    1. pick_c1: x has rank 2, indices rank 1 of the same extent
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $indices `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_SgdUpdateOp : OneFlow_ComputeOp<"sgd_update",
    (ins OneFlow_FloatTensor:$parameter, OneFlow_FloatTensor:$gradient,
         OneFlow_FloatTensor:$velocity, OneFlow_FloatTensor:$learning_rate,
         F64Attr:$momentum, F64Attr:$weight_decay),
    [AllTypesMatch<["parameter", "gradient", "velocity", "new_parameter",
                    "new_velocity"]>]> {
  let summary = "one step of gradient descent with momentum";
  let description = [{
    `v' = momentum · v + (g + weight_decay · p)`, `p' = p - learning_rate · v'`.

    Constraints:
    1. sgd_update_c1: learning_rate is a scalar
  }];
  let hasVerifier = 1;
  let results = (outs OneFlow_FloatTensor:$new_parameter,
                      OneFlow_FloatTensor:$new_velocity);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $velocity `,` $learning_rate
    `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_AdamWUpdateOp : OneFlow_ComputeOp<"adamw_update",
    (ins OneFlow_FloatTensor:$parameter, OneFlow_FloatTensor:$gradient,
         OneFlow_FloatTensor:$first_moment, OneFlow_FloatTensor:$second_moment,
         RankedTensorOf<[I64]>:$step, OneFlow_FloatTensor:$learning_rate,
         F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay),
    [AllTypesMatch<["parameter", "gradient", "first_moment", "second_moment",
                    "new_parameter", "new_first_moment", "new_second_moment"]>]> {
  let summary = "one step of AdamW";
  let description = [{
    Loshchilov and Hutter, arXiv 1711.05101, as PyTorch states it. `step` counts from 1.

    `m' = beta1 · m + (1 - beta1) · g`, `v' = beta2 · v + (1 - beta2) · g²`,
    `p' = p - lr · weight_decay · p
            - lr · m' / (1 - beta1^step) / (√(v' / (1 - beta2^step)) + epsilon)`.

    Constraints:
    1. adamw_update_c1: step and learning_rate are scalars
  }];
  let hasVerifier = 1;
  let results = (outs OneFlow_FloatTensor:$new_parameter,
                      OneFlow_FloatTensor:$new_first_moment,
                      OneFlow_FloatTensor:$new_second_moment);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $first_moment `,` $second_moment `,` $step `,`
    $learning_rate `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_TRAININGOPS_TD
