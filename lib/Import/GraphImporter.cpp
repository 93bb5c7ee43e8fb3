//===- GraphImporter.cpp - from a graph to a module -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of an import: initializers are declared, inputs bound, nodes built
// one after the other, outputs checked against what the model declares.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "NodeImporter.h"
#include "TensorData.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace oneflow::importer;

bool GraphValue::isWeight() const {
  return initializer && type.getRank() > 0 &&
         isa<FloatType>(type.getElementType());
}

void GraphImporter::define(StringRef name, GraphValue value) {
  value.name = name.str();
  values[name] = std::make_shared<GraphValue>(std::move(value));
}

Location GraphImporter::location(StringRef name) {
  return model.location(builder.getContext(), name);
}

FailureOr<HostTensorRef> GraphImporter::load(GraphValue &value) {
  if (value.data || !value.initializer)
    return value.data;
  FailureOr<HostTensor> loaded =
      loadTensor(location(value.name), "initializer '" + value.name + "'",
                 *value.initializer, model.path);
  if (failed(loaded))
    return failure();
  value.data = std::make_shared<const HostTensor>(std::move(*loaded));
  return value.data;
}

Value GraphImporter::materialize(GraphValue &value) {
  if (value.value)
    return value.value;
  FailureOr<HostTensorRef> data = load(value);
  if (failed(data))
    return {};
  Location loc = location(value.name);
  if (!value.initializer || value.type.getRank() == 0) {
    value.value = ConstantOp::create(builder, loc, value.type,
                                     (*data)->toDenseAttribute(),
                                     FlatSymbolRefAttr(), SignatureAttr());
    return value.value;
  }
  ElementsAttr elements = (*data)->toAttribute(value.name);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    VariableOp::create(builder, loc, builder.getStringAttr(value.name),
                       TypeAttr::get(value.type), elements,
                       value.isWeight() ? builder.getUnitAttr() : UnitAttr(),
                       FlatSymbolRefAttr(), FlatSymbolRefAttr(), NdSbpAttr(),
                       PartAttr());
  }
  // A large weight is in the attribute now; do not keep it twice.
  if (value.isWeight())
    value.data.reset();
  value.value =
      ReadOp::create(builder, loc, value.type,
                     FlatSymbolRefAttr::get(builder.getContext(), value.name),
                     FlatSymbolRefAttr(), SignatureAttr());
  return value.value;
}

LogicalResult GraphImporter::importInitializers() {
  for (const ::onnx::TensorProto &initializer : model.graph().initializer()) {
    const std::string &name = initializer.name();
    std::string what = "initializer '" + name + "'";
    initializers.insert(name);
    // What nothing uses may be of any type.
    if (!isUsed(name))
      continue;
    if (failed(checkTensor(location(name), what, initializer, model.path)))
      return failure();
    if (name == "main")
      return emitError(location(name))
             << what
             << ": the name is that of the module's function; rename it";
    GraphValue value;
    value.type = *tensorTypeOf(location(name), what, initializer);
    value.initializer = &initializer;
    define(name, std::move(value));
  }
  return success();
}

LogicalResult GraphImporter::importNodes() {
  Block *block = builder.getInsertionBlock();
  for (auto [index, node] : llvm::enumerate(model.graph().node())) {
    Operation *last = block->empty() ? nullptr : &block->back();
    if (failed(importNode(*this, node, index)) ||
        failed(importShardings(node, index, last)))
      return failure();
  }
  return success();
}

LogicalResult
GraphImporter::importOutput(const ::onnx::ValueInfoProto &output) {
  Location loc = location(output.name());
  GraphValue &value = find(output.name());
  if (output.has_type()) {
    const ::onnx::TypeProto &type = output.type();
    if (!type.has_tensor_type())
      return emitError(loc)
             << "output '" << output.name() << "': only tensors are supported";
    int32_t declared = type.tensor_type().elem_type();
    if (declared && convertElementType(builder.getContext(), declared) !=
                        value.type.getElementType())
      return emitError(loc) << "output '" << output.name()
                            << "': the model declares element type "
                            << elementTypeName(declared)
                            << ", its nodes compute " << value.type;
  }
  Value materialized = materialize(value);
  if (!materialized)
    return failure();
  OutputOp::create(builder, loc, builder.getStringAttr(output.name()),
                   materialized, FlatSymbolRefAttr(), SignatureAttr());
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> GraphImporter::run() {
  MLIRContext *context = builder.getContext();
  context->loadDialect<OneFlowDialect, func::FuncDialect>();
  Location loc = model.location(context);
  OwningOpRef<ModuleOp> owned(ModuleOp::create(loc));
  module = *owned;
  builder.setInsertionPointToEnd(module.getBody());
  auto main = func::FuncOp::create(builder, loc, "main",
                                   builder.getFunctionType({}, {}));
  function = main;
  builder.setInsertionPointToStart(main.addEntryBlock());

  for (const ::onnx::NodeProto &node : model.graph().node())
    for (const std::string &input : node.input())
      uses.insert(input);
  for (const ::onnx::ValueInfoProto &output : model.graph().output())
    uses.insert(output.name());

  if (failed(checkDims()) || failed(chooseConfiguration()) ||
      failed(importInitializers()))
    return failure();
  for (const ::onnx::ValueInfoProto &input : model.graph().input())
    if (failed(importInput(input)))
      return failure();
  if (failed(importNodes()))
    return failure();
  for (const ::onnx::ValueInfoProto &output : model.graph().output())
    if (failed(importOutput(output)))
      return failure();
  func::ReturnOp::create(builder, loc);

  recognizeGelu(main);
  removeUnused(module);
  if (failed(verify(module)))
    return failure();
  return owned;
}
