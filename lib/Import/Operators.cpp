//===- Operators.cpp - the table of operators -----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, and the way of a node through it: found by name and opset, checked
// for its number of inputs and outputs, folded where all inputs are known, else
// built.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

using namespace mlir;
using namespace oneflow::importer;

static constexpr int64_t kNewest = kNewestOpset;
/// For inputs and outputs without a limit.
static constexpr unsigned kAny = ~0u;

// Where an operator has several rows, its attributes became inputs in between;
// its handler tells them apart by the opset.
static constexpr Operator kOperators[] = {
    // name, opsets, inputs, outputs, build, fold
    {"Add", 7, kNewest, 2, 2, 1, importAdd, foldAdd},
    {"And", 7, kNewest, 2, 2, 1, importAnd, foldAnd},
    {"AveragePool", 7, kNewest, 1, 1, 1, importAveragePool, nullptr},
    {"BatchNormalization", 7, 13, 5, 5, 5, importBatchNormalization, nullptr},
    {"BatchNormalization", 14, kNewest, 5, 5, 3, importBatchNormalization,
     nullptr},
    {"Cast", 7, kNewest, 1, 1, 1, importCast, foldCast},
    {"Concat", 7, kNewest, 1, kAny, 1, importConcat, foldConcat},
    {"Constant", 7, kNewest, 0, 0, 1, importConstant, nullptr},
    {"ConstantOfShape", 9, kNewest, 1, 1, 1, nullptr, foldConstantOfShape},
    {"Conv", 7, kNewest, 2, 3, 1, importConv, nullptr},
    {"Div", 7, kNewest, 2, 2, 1, importDiv, foldDiv},
    {"Dropout", 7, 11, 1, 1, 2, importDropout, nullptr},
    {"Dropout", 12, kNewest, 1, 3, 2, importDropout, nullptr},
    {"Equal", 7, kNewest, 2, 2, 1, importEqual, foldEqual},
    {"Erf", 9, kNewest, 1, 1, 1, importErf, nullptr},
    {"Exp", 7, kNewest, 1, 1, 1, importExp, nullptr},
    {"Expand", 8, kNewest, 2, 2, 1, importExpand, foldExpand},
    {"Flatten", 7, kNewest, 1, 1, 1, importFlatten, foldFlatten},
    {"Gather", 7, kNewest, 2, 2, 1, importGather, foldGather},
    {"Gelu", 20, kNewest, 1, 1, 1, importGelu, nullptr},
    {"Gemm", 7, 10, 3, 3, 1, importGemm, nullptr},
    {"Gemm", 11, kNewest, 2, 3, 1, importGemm, nullptr},
    {"GlobalAveragePool", 7, kNewest, 1, 1, 1, importGlobalAveragePool,
     nullptr},
    {"GlobalMaxPool", 7, kNewest, 1, 1, 1, importGlobalMaxPool, nullptr},
    {"Greater", 7, kNewest, 2, 2, 1, importGreater, foldGreater},
    {"GreaterOrEqual", 12, kNewest, 2, 2, 1, importGreaterOrEqual,
     foldGreaterOrEqual},
    {"Identity", 7, kNewest, 1, 1, 1, importIdentity, nullptr},
    {"LayerNormalization", 17, kNewest, 2, 3, 3, importLayerNormalization,
     nullptr},
    {"Less", 7, kNewest, 2, 2, 1, importLess, foldLess},
    {"LessOrEqual", 12, kNewest, 2, 2, 1, importLessOrEqual, foldLessOrEqual},
    {"Log", 7, kNewest, 1, 1, 1, importLog, nullptr},
    {"LogSoftmax", 7, kNewest, 1, 1, 1, importLogSoftmax, nullptr},
    {"MatMul", 7, kNewest, 2, 2, 1, importMatMul, nullptr},
    {"Max", 7, kNewest, 1, kAny, 1, importMax, foldMax},
    {"MaxPool", 7, 7, 1, 1, 1, importMaxPool, nullptr},
    {"MaxPool", 8, kNewest, 1, 1, 2, importMaxPool, nullptr},
    {"Min", 7, kNewest, 1, kAny, 1, importMin, foldMin},
    {"Mul", 7, kNewest, 2, 2, 1, importMul, foldMul},
    {"Neg", 7, kNewest, 1, 1, 1, importNeg, foldNeg},
    {"Not", 7, kNewest, 1, 1, 1, importNot, foldNot},
    {"Or", 7, kNewest, 2, 2, 1, importOr, foldOr},
    {"Pad", 7, 10, 1, 1, 1, importPad, nullptr},
    {"Pad", 11, 17, 2, 3, 1, importPad, nullptr},
    {"Pad", 18, kNewest, 2, 4, 1, importPad, nullptr},
    {"Pow", 7, kNewest, 2, 2, 1, importPow, nullptr},
    {"RMSNormalization", 23, kNewest, 2, 2, 1, importRmsNormalization, nullptr},
    {"Range", 11, kNewest, 3, 3, 1, nullptr, foldRange},
    {"Reciprocal", 7, kNewest, 1, 1, 1, importReciprocal, nullptr},
    {"ReduceL2", 7, 17, 1, 1, 1, importReduceL2, nullptr},
    {"ReduceL2", 18, kNewest, 1, 2, 1, importReduceL2, nullptr},
    {"ReduceMax", 7, 17, 1, 1, 1, importReduceMax, nullptr},
    {"ReduceMax", 18, kNewest, 1, 2, 1, importReduceMax, nullptr},
    {"ReduceMean", 7, 17, 1, 1, 1, importReduceMean, nullptr},
    {"ReduceMean", 18, kNewest, 1, 2, 1, importReduceMean, nullptr},
    {"ReduceMin", 7, 17, 1, 1, 1, importReduceMin, nullptr},
    {"ReduceMin", 18, kNewest, 1, 2, 1, importReduceMin, nullptr},
    {"ReduceProd", 7, 17, 1, 1, 1, importReduceProd, foldReduceProd},
    {"ReduceProd", 18, kNewest, 1, 2, 1, importReduceProd, foldReduceProd},
    {"ReduceSum", 7, 12, 1, 1, 1, importReduceSum, nullptr},
    {"ReduceSum", 13, kNewest, 1, 2, 1, importReduceSum, nullptr},
    {"ReduceSumSquare", 7, 17, 1, 1, 1, importReduceSumSquare, nullptr},
    {"ReduceSumSquare", 18, kNewest, 1, 2, 1, importReduceSumSquare, nullptr},
    {"Relu", 7, kNewest, 1, 1, 1, importRelu, nullptr},
    {"Reshape", 7, kNewest, 2, 2, 1, importReshape, foldReshape},
    {"Shape", 7, kNewest, 1, 1, 1, importShape, nullptr},
    {"Sigmoid", 7, kNewest, 1, 1, 1, importSigmoid, nullptr},
    {"Size", 7, kNewest, 1, 1, 1, importSize, nullptr},
    {"Slice", 7, 9, 1, 1, 1, importSlice, foldSlice},
    {"Slice", 10, kNewest, 3, 5, 1, importSlice, foldSlice},
    {"Softmax", 7, kNewest, 1, 1, 1, importSoftmax, nullptr},
    {"Split", 7, 12, 1, 1, kAny, importSplit, foldSplit},
    {"Split", 13, kNewest, 1, 2, kAny, importSplit, foldSplit},
    {"Sqrt", 7, kNewest, 1, 1, 1, importSqrt, foldSqrt},
    {"Squeeze", 7, 12, 1, 1, 1, importSqueeze, foldSqueeze},
    {"Squeeze", 13, kNewest, 1, 2, 1, importSqueeze, foldSqueeze},
    {"Sub", 7, kNewest, 2, 2, 1, importSub, foldSub},
    {"Sum", 7, kNewest, 1, kAny, 1, importSum, nullptr},
    {"Tanh", 7, kNewest, 1, 1, 1, importTanh, nullptr},
    {"Transpose", 7, kNewest, 1, 1, 1, importTranspose, nullptr},
    {"Trilu", 14, kNewest, 1, 2, 1, importTrilu, foldTrilu},
    {"Unsqueeze", 7, 12, 1, 1, 1, importUnsqueeze, foldUnsqueeze},
    {"Unsqueeze", 13, kNewest, 2, 2, 1, importUnsqueeze, foldUnsqueeze},
    {"Where", 9, kNewest, 3, 3, 1, importWhere, foldWhere},
    {"Xor", 7, kNewest, 2, 2, 1, importXor, foldXor},
};

ArrayRef<Operator> oneflow::importer::operatorTable() { return kOperators; }

namespace {

/// The error of a node whose operator has no row.
LogicalResult reportUnsupported(NodeImporter &node) {
  StringRef type = node.proto().op_type();
  SmallVector<StringRef> names;
  const Operator *other = nullptr;
  for (const Operator &row : kOperators) {
    if (names.empty() || names.back() != row.name)
      names.push_back(row.name);
    if (type == row.name)
      other = &row;
  }
  auto diagnostic = node.error() << "the operator is not supported";
  if (other)
    return diagnostic << " in opset " << node.opset() << ", expected "
                      << other->since << " to " << other->until;
  StringRef nearest;
  unsigned best = 3;
  for (StringRef name : names) {
    unsigned distance = type.edit_distance_insensitive(name, true, best);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  if (!nearest.empty())
    diagnostic << "; did you mean " << nearest << "?";
  return diagnostic << "; supported are " << llvm::join(names, ", ");
}

LogicalResult checkNode(NodeImporter &node) {
  StringRef domain = node.proto().domain();
  if (!domain.empty() && domain != "ai.onnx")
    return node.error() << "operators of domain '" << domain
                        << "' are not supported, only those of ai.onnx";
  for (const auto &attribute : node.proto().attribute()) {
    if (attribute.type() == ::onnx::AttributeProto::GRAPH ||
        attribute.type() == ::onnx::AttributeProto::GRAPHS ||
        attribute.has_g() || attribute.graphs_size())
      return node.error()
             << "attribute '" << attribute.name()
             << "' holds a subgraph; control flow is not supported";
    if (!attribute.ref_attr_name().empty())
      return node.error() << "attribute '" << attribute.name()
                          << "' refers to a function's attribute, which has no "
                             "meaning in a graph";
  }
  return success();
}

LogicalResult checkArity(NodeImporter &node, const Operator &row) {
  auto atMost = [](unsigned count) {
    return count == kAny ? std::string("any number") : std::to_string(count);
  };
  if (node.inputCount() < row.minInputs || node.inputCount() > row.maxInputs)
    return node.error() << "expected " << row.minInputs << " to "
                        << atMost(row.maxInputs) << " inputs, got "
                        << node.inputCount();
  for (unsigned i = 0; i < node.inputCount(); ++i)
    if ((i < row.minInputs || row.maxInputs == kAny) && !node.hasInput(i))
      return node.error() << "input " << i << " has no name";
  unsigned outputs = node.proto().output_size();
  if (outputs < 1 || outputs > row.maxOutputs)
    return node.error() << "expected 1 to " << row.maxOutputs
                        << " outputs, got " << outputs;
  return success();
}

/// What an operator that is only computed at import says otherwise.
LogicalResult reportUnknownInput(NodeImporter &node) {
  for (const std::string &name : node.proto().input()) {
    if (name.empty())
      continue;
    GraphValue &value = node.importer().find(name);
    if (value.isWeight() || (!value.data && !value.initializer))
      return node.error()
             << "the operator is supported on shapes and constants "
                "only, but '"
             << name << "' is computed when the model runs";
  }
  return node.error()
         << "the operator is supported on integers and floats of up to "
         << kFoldLimit << " elements only";
}

} // namespace

LogicalResult oneflow::importer::importNode(GraphImporter &graph,
                                            const ::onnx::NodeProto &proto,
                                            int index) {
  NodeImporter node(graph, proto, index);
  if (failed(checkNode(node)))
    return failure();
  const Operator *found = nullptr;
  for (const Operator &row : kOperators)
    if (proto.op_type() == row.name && row.since <= node.opset() &&
        node.opset() <= row.until)
      found = &row;
  if (!found)
    return reportUnsupported(node);
  if (failed(checkArity(node, *found)))
    return failure();
  bool done = false;
  if (found->fold) {
    FailureOr<bool> known = node.canFold();
    if (failed(known))
      return failure();
    if (*known) {
      FailureOr<bool> folded = found->fold(node);
      if (failed(folded))
        return failure();
      done = *folded;
    }
  }
  if (!done) {
    if (!found->build)
      return reportUnknownInput(node);
    if (failed(found->build(node)))
      return failure();
  }
  return node.checkAttributes();
}
