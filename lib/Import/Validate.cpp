//===- Validate.cpp - whether a model's structure is sound ----------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks that do not depend on operators: versions, names, and that every
// value is defined once and before it is used.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow::importer;

namespace {

class Validator {
public:
  Validator(MLIRContext *context, Model &model)
      : context(context), model(model), graph(model.graph()) {}

  LogicalResult run() {
    return success(succeeded(checkVersions()) && succeeded(checkParts()) &&
                   succeeded(checkSources()) && succeeded(checkNodes()) &&
                   succeeded(checkOutputs()));
  }

private:
  InFlightDiagnostic error() { return emitError(model.location(context)); }
  LogicalResult checkVersions();
  LogicalResult checkParts();
  LogicalResult checkSources();
  LogicalResult checkNodes();
  LogicalResult checkOutputs();
  LogicalResult reportUndefined(Location loc, StringRef user, StringRef name);

  MLIRContext *context;
  Model &model;
  const ::onnx::GraphProto &graph;
  /// Values defined so far, and what defines them.
  llvm::StringMap<std::string> defined;
};

} // namespace

LogicalResult Validator::checkVersions() {
  const ::onnx::ModelProto &proto = model.proto;
  if (!proto.has_graph())
    return error() << "the model has no graph";
  if (!proto.has_ir_version())
    return error() << "the model has no ir_version";
  if (proto.ir_version() < 3)
    return error() << "ir_version " << proto.ir_version()
                   << " is not supported, expected 3 or newer";
  bool found = false;
  for (const ::onnx::OperatorSetIdProto &set : proto.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx")
      continue;
    if (found && set.version() != model.opset)
      return error()
             << "the model imports the opset of domain ai.onnx twice, as "
             << model.opset << " and " << set.version();
    found = true;
    model.opset = set.version();
  }
  if (!found)
    return error() << "the model imports no opset of domain ai.onnx";
  if (model.opset < kOldestOpset || model.opset > kNewestOpset)
    return error() << "opset " << model.opset << " is not supported, expected "
                   << kOldestOpset << " to " << kNewestOpset
                   << "; onnx.version_converter can convert the model";
  return success();
}

LogicalResult Validator::checkParts() {
  if (graph.sparse_initializer_size())
    return error() << "sparse initializers are not supported, got "
                   << graph.sparse_initializer_size();
  if (graph.output_size() == 0)
    return error() << "the graph has no output";
  return success();
}

LogicalResult Validator::checkSources() {
  llvm::StringSet<> inputs;
  for (const ::onnx::ValueInfoProto &input : graph.input()) {
    if (input.name().empty())
      return error() << "a graph input has no name";
    if (!inputs.insert(input.name()).second)
      return error() << "duplicate graph input '" << input.name() << "'";
    defined[input.name()] = "a graph input";
  }
  llvm::StringSet<> initializers;
  for (const ::onnx::TensorProto &initializer : graph.initializer()) {
    if (initializer.name().empty())
      return error() << "an initializer has no name";
    if (!initializers.insert(initializer.name()).second)
      return error() << "duplicate initializer '" << initializer.name() << "'";
    // An initializer of an input's name is that input's value.
    defined[initializer.name()] = "an initializer";
  }
  return success();
}

LogicalResult Validator::reportUndefined(Location loc, StringRef user,
                                         StringRef name) {
  for (auto [index, node] : llvm::enumerate(graph.node()))
    for (const std::string &output : node.output())
      if (output == name)
        return emitError(loc)
               << user << " uses '" << name << "', which the later node '"
               << nodeName(node, index)
               << "' produces; the nodes are not topologically sorted, or form "
                  "a "
                  "cycle";
  auto diagnostic = emitError(loc)
                    << user << " uses '" << name << "', which nothing produces";
  // A small distance only: anything is near to something.
  StringRef nearest;
  unsigned best = 3;
  for (const auto &entry : defined) {
    unsigned distance = name.edit_distance(entry.getKey(), true, best);
    if (distance < best ||
        (distance == best && !nearest.empty() && entry.getKey() < nearest)) {
      best = distance;
      nearest = entry.getKey();
    }
  }
  if (!nearest.empty())
    diagnostic << "; did you mean '" << nearest << "'?";
  return diagnostic;
}

LogicalResult Validator::checkNodes() {
  for (auto [index, node] : llvm::enumerate(graph.node())) {
    std::string name = nodeName(node, index);
    Location loc = model.location(context, name, index);
    std::string user = "node '" + name + "'";
    if (node.op_type().empty())
      return emitError(loc) << user << " has no op_type";
    for (const std::string &input : node.input())
      if (!input.empty() && !defined.contains(input))
        return reportUndefined(loc, user, input);
    for (const std::string &output : node.output()) {
      if (output.empty())
        continue;
      auto [entry, inserted] =
          defined.try_emplace(output, "an output of " + user);
      if (!inserted)
        return emitError(loc) << user << " produces '" << output
                              << "', which is already " << entry->second;
    }
  }
  return success();
}

LogicalResult Validator::checkOutputs() {
  llvm::StringSet<> outputs;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    if (output.name().empty())
      return error() << "a graph output has no name";
    if (!outputs.insert(output.name()).second)
      return error() << "duplicate graph output '" << output.name() << "'";
    if (!defined.contains(output.name()))
      return reportUndefined(model.location(context, output.name()),
                             "the graph", output.name());
  }
  return success();
}

LogicalResult oneflow::importer::validateModel(MLIRContext *context,
                                               Model &model) {
  return Validator(context, model).run();
}
