//===- HintNames.cpp - names that a model has and a module has not --------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A user reads names off the model. Not every node of it computes something
// when the model runs: those of constants and shapes are folded, others merged.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Pipelines/SpreadFlags.h"

#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"
#include "oneflow/Sbp/Hints.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace oneflow;

namespace {

/// The model's nodes, and which of them the module still has.
class Names {
public:
  explicit Names(ModuleOp module) {
    module.walk([&](Operation *op) {
      if (auto variable = dyn_cast<VariableOp>(op)) {
        tensors.insert(variable.getSymName());
        if (PartAttr part = variable.getPartAttr())
          tensors.insert(part.getWhole());
      } else if (auto input = dyn_cast<InputOp>(op)) {
        tensors.insert(input.getName());
      } else if (auto output = dyn_cast<OutputOp>(op)) {
        outputs.insert(output.getName());
      } else if (auto name = dyn_cast<NameLoc>(op->getLoc());
                 name && isa<SpreadOpInterface>(op) &&
                 !isa<ReadOp, UpdateOp, GradientOp, ConstantOp>(op)) {
        nodes.insert(name.getName());
      }
    });
  }

  void add(std::vector<SourceNode> list) {
    source = std::move(list);
    for (auto [index, node] : llvm::enumerate(source))
      for (const std::string &output : node.outputs)
        if (!output.empty())
          producers[output] = index;
  }

  bool hasMatch(const std::string &pattern) const {
    for (const llvm::StringSet<> *set : {&tensors, &outputs, &nodes})
      for (StringRef name : set->keys())
        if (sbp::matchesPattern(pattern, name.str()))
          return true;
    return false;
  }

  std::optional<std::string> explain(const std::string &pattern) const {
    for (const SourceNode &node : source)
      if (sbp::matchesPattern(pattern, node.name))
        return "the node '" + node.name + "' (" + node.kind +
               ") computes nothing of its own when the model runs: it was "
               "folded into others" +
               alternatives(node);
    for (const SourceNode &node : source)
      for (auto [index, output] : llvm::enumerate(node.outputs)) {
        if (output.empty() || !sbp::matchesPattern(pattern, output))
          continue;
        std::string text = "'" + output +
                           "' is a tensor, which goes by the "
                           "node that gives it, '" +
                           node.name + "'";
        if (nodes.contains(node.name))
          return text + (index ? ":out" + std::to_string(index) : "");
        return text + "; that was folded into others" + alternatives(node);
      }
    return std::nullopt;
  }

private:
  std::string alternatives(const SourceNode &node) const {
    std::string text;
    if (std::optional<std::string> before = nameBefore(node))
      text = "'" + *before + "', which gives it what it hands on";
    if (std::optional<std::string> behind = nameBehind(node))
      text += (text.empty() ? "" : ", or ") + ("'" + *behind) +
              "', which takes what it gives";
    return text.empty() ? text : "; name " + text;
  }

  /// The nearest node, variable or input that the node's value comes from.
  std::optional<std::string> nameBefore(const SourceNode &node) const {
    llvm::StringSet<> seen;
    SmallVector<const SourceNode *> queue = {&node};
    for (size_t at = 0; at < queue.size(); ++at)
      for (const std::string &input : queue[at]->inputs) {
        if (input.empty() || !seen.insert(input).second)
          continue;
        if (tensors.contains(input))
          return input;
        auto producer = producers.find(input);
        if (producer == producers.end())
          continue;
        const SourceNode &before = source[producer->second];
        if (nodes.contains(before.name))
          return before.name;
        queue.push_back(&before);
      }
    return std::nullopt;
  }

  /// The nearest node that takes the node's value.
  std::optional<std::string> nameBehind(const SourceNode &node) const {
    llvm::StringSet<> given;
    auto give = [&](const SourceNode &by) {
      for (const std::string &output : by.outputs)
        given.insert(output);
    };
    give(node);
    // In order: what takes a value is behind what gives it.
    for (const SourceNode &other : source)
      if (llvm::any_of(other.inputs, [&](const std::string &input) {
            return !input.empty() && given.contains(input);
          })) {
        if (nodes.contains(other.name))
          return other.name;
        give(other);
      }
    return std::nullopt;
  }

  llvm::StringSet<> tensors, outputs, nodes;
  std::vector<SourceNode> source;
  llvm::StringMap<size_t> producers;
};

} // namespace

std::optional<std::string>
oneflow::checkHintNames(ArrayRef<std::string> hints, ModuleOp module,
                        llvm::function_ref<std::vector<SourceNode>()> list) {
  if (hints.empty())
    return std::nullopt;
  Names names(module);
  bool isListed = false;
  for (const std::string &text : hints) {
    std::optional<sbp::Hint> hint = sbp::parseHint(text);
    if (!hint || names.hasMatch(hint->pattern))
      continue;
    if (!isListed)
      names.add(list());
    isListed = true;
    if (std::optional<std::string> reason = names.explain(hint->pattern))
      return hint->describe() + ": " + *reason;
  }
  return std::nullopt;
}
