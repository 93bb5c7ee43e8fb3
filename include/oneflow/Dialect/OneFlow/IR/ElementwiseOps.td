// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that compute each result element from the operands' elements at the same
// place.

#ifndef ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISEOPS_TD
#define ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISEOPS_TD

include "oneflow/Dialect/OneFlow/IR/OneFlowBase.td"

// An elementwise op. Its .cpp gives `buildScalar`, the computation on scalars; `partials`
// are the partial rules (C++ expressions of type sbp::PartialRule). The factor rule
// and the kernel follow.
class OneFlow_ElementwiseOp<string mnemonic, dag operandsAndAttributes,
                            string partials, list<Trait> traits = []>
    : OneFlow_ComputeOp<mnemonic, operandsAndAttributes, traits> {
  code elementwiseDeclaration = [{
    /// Builds the op's value for one element; `operands` are scalars.
    ::mlir::Value buildScalar(::mlir::OpBuilder &builder, ::mlir::Location loc,
                              ::mlir::ValueRange operands);
  }];
  let extraClassDeclaration = elementwiseDeclaration;
  code elementwiseDefinition = [{
    ::oneflow::sbp::OpRule $cppClass::getSbpRule() {
      return ::oneflow::elementwiseRule(getOperation(), {}] # partials # [{});
    }
    ::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>
    $cppClass::buildLocal(::mlir::OpBuilder &builder, ::oneflow::LocalView &view) {
      return ::oneflow::buildElementwise(
          getOperation(), builder, view,
          [&](::mlir::OpBuilder &body, ::mlir::Location loc,
              ::mlir::ValueRange operands) {
            return buildScalar(body, loc, operands);
          });
    }
  }];
  let extraClassDefinition = elementwiseDefinition;
}

class OneFlow_UnaryOp<string mnemonic, string partials, list<Trait> traits = []>
    : OneFlow_ElementwiseOp<mnemonic, (ins OneFlow_FloatTensor:$x), partials,
        !listconcat(traits, [SameOperandsAndResultType,
                             DeclareOpInterfaceMethods<GradientOpInterface>])> {
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $x `` custom<Spread>($placement, $signature) attr-dict `:` type($x)
  }];
}

defvar Increasing = "::oneflow::increasing()";
defvar Decreasing = "::oneflow::decreasing()";
defvar NoPartials = "{}";

def OneFlow_ReluOp : OneFlow_UnaryOp<"relu", Increasing> {
  let summary = "max(x, 0); NaN stays NaN";
}
def OneFlow_TanhOp : OneFlow_UnaryOp<"tanh", Increasing> {
  let summary = "hyperbolic tangent";
}
def OneFlow_SigmoidOp : OneFlow_UnaryOp<"sigmoid", Increasing> {
  let summary = "1 / (1 + exp(-x))";
}
def OneFlow_ErfOp : OneFlow_UnaryOp<"erf", Increasing> {
  let summary = "error function";
}
def OneFlow_ExpOp : OneFlow_UnaryOp<"exp", Increasing> {
  let summary = "e to the power x";
}
// Increasing where they are defined. A part of a maximum may lie outside, as the neutral
// element does, and its NaN would win; one of a minimum makes the whole NaN as well.
defvar IncreasingAboveZero =
    "{::oneflow::passes({0}, ::oneflow::sbp::Reducer::Min)}";
def OneFlow_LogOp : OneFlow_UnaryOp<"log", IncreasingAboveZero> {
  let summary = "natural logarithm";
}
def OneFlow_SqrtOp : OneFlow_UnaryOp<"sqrt", IncreasingAboveZero> {
  let summary = "square root";
}
def OneFlow_NegOp : OneFlow_UnaryOp<"neg", "::oneflow::negation()"> {
  let summary = "-x";
}

def OneFlow_GeluKind : I32EnumAttr<"GeluKind", "which form of GELU", [
    I32EnumAttrCase<"Erf", 0, "erf">, I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::oneflow";
  let genSpecializedAttr = 0;
}
def OneFlow_GeluKindAttr : EnumAttr<OneFlow_Dialect, OneFlow_GeluKind, "gelu_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def OneFlow_GeluOp : OneFlow_ElementwiseOp<"gelu",
    (ins OneFlow_FloatTensor:$x, OneFlow_GeluKindAttr:$kind), NoPartials,
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "x times the normal distribution function of x, exact or by tanh";
  let description = [{
    Kept whole for its gradient (`oneflow.gelu_grad`). Hendrycks and Gimpel, arXiv
    1606.08415.
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $x `` custom<Spread>($placement, $signature) attr-dict `:` type($x)
  }];
}

def OneFlow_GeluGradOp : OneFlow_ElementwiseOp<"gelu_grad",
    (ins OneFlow_FloatTensor:$dy, OneFlow_FloatTensor:$x, OneFlow_GeluKindAttr:$kind),
    "{::oneflow::linearIn(0)}", [SameOperandsAndResultType]> {
  let summary = "dy times the derivative of GELU at x";
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $kind $dy `,` $x `` custom<Spread>($placement, $signature) attr-dict `:` type($x)
  }];
}

def OneFlow_ReluGradOp : OneFlow_ElementwiseOp<"relu_grad",
    (ins OneFlow_FloatTensor:$dy, OneFlow_FloatTensor:$y),
    "{::oneflow::linearIn(0)}", [SameOperandsAndResultType]> {
  let summary = "dy where y > 0, else 0";
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $dy `,` $y `` custom<Spread>($placement, $signature) attr-dict `:` type($y)
  }];
}

// Shapes broadcast as NumPy's do.
class OneFlow_BinaryOp<string mnemonic, string partials, list<Trait> traits = []>
    : OneFlow_ElementwiseOp<mnemonic, (ins OneFlow_Tensor:$lhs, OneFlow_Tensor:$rhs),
        partials, !listconcat(traits, [
          SameOperandsAndResultElementType,
          DeclareOpInterfaceMethods<InferTypeOpInterface>,
          DeclareOpInterfaceMethods<GradientOpInterface>])> {
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDefinition = elementwiseDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> loc,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr,
        ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::oneflow::inferBroadcastType(loc, operands, types);
    }
  }];
}

def OneFlow_AddOp : OneFlow_BinaryOp<"add", "{::oneflow::linearIn({0, 1})}",
                                     [Commutative]> {
  let summary = "lhs + rhs";
}
def OneFlow_SubOp : OneFlow_BinaryOp<"sub", "{::oneflow::linearIn({0, 1})}"> {
  let summary = "lhs - rhs";
}
def OneFlow_MulOp : OneFlow_BinaryOp<"mul",
    "{::oneflow::linearIn(0), ::oneflow::linearIn(1), ::oneflow::passes({0, 1}, ::oneflow::sbp::Reducer::Prod)}",
    [Commutative]> {
  let summary = "lhs * rhs";
}
def OneFlow_DivOp : OneFlow_BinaryOp<"div", "::oneflow::dividend(getOperation())"> {
  let summary = "lhs / rhs; integers truncate toward zero";
}
def OneFlow_MaxOp : OneFlow_BinaryOp<"max",
    "{::oneflow::passes({0, 1}, ::oneflow::sbp::Reducer::Max)}", [Commutative]> {
  let summary = "larger of lhs and rhs; NaN wins";
}
def OneFlow_MinOp : OneFlow_BinaryOp<"min",
    "{::oneflow::passes({0, 1}, ::oneflow::sbp::Reducer::Min)}", [Commutative]> {
  let summary = "smaller of lhs and rhs; NaN wins";
}

def OneFlow_CompareOp : OneFlow_ElementwiseOp<"compare",
    (ins OneFlow_Tensor:$lhs, OneFlow_Tensor:$rhs, OneFlow_CompareKindAttr:$kind),
    NoPartials, [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "an order between lhs and rhs, as booleans";
  let results = (outs RankedTensorOf<[I1]>:$result);
  let assemblyFormat = [{
    $kind $lhs `,` $rhs `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
}

def OneFlow_CastOp : OneFlow_ElementwiseOp<"cast", (ins OneFlow_Tensor:$x),
    "::oneflow::castPartials(getOperation())",
    [SameOperandsAndResultShape, DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "converts the element type";
  let description = [{
    Between floats it rounds to nearest even; to integers it truncates, saturates at
    the type's ends and takes NaN to 0; to booleans it tests for not zero. One rule on
    every device.
  }];
  let results = (outs OneFlow_Tensor:$result);
  let assemblyFormat = [{
    $x `` custom<Spread>($placement, $signature) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def OneFlow_DropoutOp : OneFlow_ComputeOp<"dropout",
    (ins OneFlow_FloatTensor:$x, Optional<RankedTensorOf<[I64]>>:$step,
         Optional<RankedTensorOf<[I64]>>:$offset,
         F64Attr:$ratio, I64Attr:$seed, I64Attr:$id),
    [AllTypesMatch<["x", "result"]>, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "zeroes elements at random and scales the others";
  let description = [{
    Each element is kept with probability 1 - ratio and then divided by it. The draw is
    the first word of Philox 4x32-10 (Salmon et al., SC'11); an element is dropped where
    it is below ratio * 2^32. The key is `seed`, the counter is

    | word | holds |
    |---|---|
    | 0, 1 | the low and the high half of the element's logical index, 64 bits |
    | 2 | the low 32 bits of `step` |
    | 3 | the low 32 bits of `id` |

    so it is the same under every SBP and mesh. The logical index is row-major. Where x
    is a part of a batch along dimension 0, `offset` is the index in the whole batch of
    x's first row, and x's rows draw what they draw there; without it that is 0. Without
    `step` the op is the identity: training supplies it.

    Example:
    ```mlir
    %y = oneflow.dropout %x at %step : tensor<i64> offset %offset : tensor<i64>
        {ratio = 0.25 : f64, seed = 3 : i64, id = 7 : i64} : tensor<4x3xf32>
    ```

    Constraints:
    1. dropout_c1: 0 <= ratio < 1
    2. dropout_c2: step is a scalar
    3. dropout_c3: offset is a scalar, and x has a dimension 0
  }];
  let results = (outs OneFlow_FloatTensor:$result);
  let assemblyFormat = [{
    $x (`at` $step^ `:` type($step))? (`offset` $offset^ `:` type($offset))? ``
    custom<Spread>($placement, $signature) attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

#endif // ONEFLOW_DIALECT_ONEFLOW_IR_ELEMENTWISEOPS_TD
