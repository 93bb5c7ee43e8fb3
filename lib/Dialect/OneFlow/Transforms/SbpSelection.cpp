//===- SbpSelection.cpp - signatures of a module --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One selection problem per mesh axis, first to last: nodes are ops, options
// the signatures that their rules allow on what earlier axes leave, edges the
// boxing between them.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include "oneflow/Sbp/Selection.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace oneflow;

sbp::Mesh oneflow::prefixOf(const sbp::Mesh &mesh, size_t axes) {
  return sbp::Mesh(mesh.begin(), mesh.begin() + std::min(axes, mesh.size()));
}

const SbpPin *oneflow::pinAt(ArrayRef<StatePins> pins, size_t index,
                             size_t axis) {
  if (index >= pins.size() || axis >= pins[index].size() || !pins[index][axis])
    return nullptr;
  return &*pins[index][axis];
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Calls `visit` with each state of `option` and its pin along `axis`.
static void
forEachPin(const OpPins &pins, const sbp::Signature &option, size_t axis,
           llvm::function_ref<void(const sbp::Sbp &, const SbpPin &)> visit) {
  for (auto [states, known] : {std::make_pair(&option.operands, &pins.operands),
                               std::make_pair(&option.results, &pins.results)})
    for (size_t index = 0; index < states->size(); ++index)
      if (const SbpPin *pin = pinAt(*known, index, axis))
        visit((*states)[index], *pin);
}

/// True when the option is what is pinned along `axis`.
static bool obeys(const sbp::Signature &option, const OpPins &pins,
                  size_t axis) {
  bool holds = true;
  forEachPin(pins, option, axis, [&](const sbp::Sbp &state, const SbpPin &pin) {
    holds &= state == pin.sbp;
  });
  return holds;
}

bool SbpSelection::obeysPins(const Node &node, const sbp::Signature &option,
                             size_t axis) {
  return obeys(option, node.pins, axis);
}

/// True when `state`, and after it `next`, is legal, and what later axes pin
/// stays possible.
static bool isLegalState(const sbp::NdSbp &state, const sbp::Sbp &next,
                         const sbp::Shape &shape, const sbp::Mesh &mesh,
                         ArrayRef<StatePins> pins, size_t index) {
  sbp::NdSbp extended = state;
  extended.push_back(next);
  for (size_t later = extended.size(); later < mesh.size(); ++later) {
    // What cannot be had at all is an error for that axis.
    sbp::NdSbp alone(mesh.size());
    if (const SbpPin *pin = pinAt(pins, index, later))
      alone[later] = pin->sbp;
    bool possible = !sbp::checkLegal(alone, shape, mesh);
    extended.push_back(possible ? alone[later] : sbp::Sbp::broadcast());
  }
  return !sbp::checkLegal(extended, shape, mesh);
}

bool SbpSelection::isLegal(const Node &node, const sbp::Signature &option,
                           size_t axis) const {
  for (auto [index, state] : llvm::enumerate(node.chosen.operands))
    if (!isLegalState(state, option.operands[index], node.operandShapes[index],
                      node.mesh, node.pins.operands, index))
      return false;
  for (auto [index, state] : llvm::enumerate(node.chosen.results))
    if (!isLegalState(state, option.results[index], node.resultShapes[index],
                      node.mesh, node.pins.results, index))
      return false;
  return true;
}

LogicalResult SbpSelection::findOptions(Node &node, size_t axis) {
  node.options.clear();
  if (node.carried) {
    node.options.push_back(axisOf(*node.carried, axis));
  } else if (axis < node.mesh.size()) {
    for (const sbp::Signature &option : node.allowed)
      if (obeys(option, node.pins, axis) && isLegal(node, option, axis))
        node.options.push_back(option);
    addBlockedOptions(node, axis);
    if (node.options.empty())
      return reportNoOption(node, axis);
  } else {
    // Of a smaller mesh: nothing to decide.
    node.options.push_back({});
  }
  return success();
}

/// A value may be delivered as it is made, or as one of its consumers wants it.
void SbpSelection::findDeliveryOptions(unsigned number) {
  Node &node = nodes[number];
  node.options.clear();
  auto offer = [&](const sbp::Sbp &state) {
    sbp::Signature option{{state}, {state}};
    if (!llvm::is_contained(node.options, option))
      node.options.push_back(std::move(option));
  };
  for (bool made : {true, false})
    for (unsigned edge : incident[number]) {
      bool makes = edges[edge].consumer == number;
      if (makes != made)
        continue;
      const Node &other =
          nodes[makes ? edges[edge].producer : edges[edge].consumer];
      for (const sbp::Signature &option : other.options) {
        const std::vector<sbp::Sbp> &states =
            makes ? option.results : option.operands;
        size_t at = makes ? edges[edge].result : edges[edge].operand;
        if (at < states.size())
          offer(states[at]);
      }
    }
  if (node.options.empty())
    node.options.push_back({});
}

/// A reshape of an uneven split leaves one in blocks, and a hint may ask for
/// them; other ops can go along where blocks make a difference.
void SbpSelection::addBlockedOptions(Node &node, size_t axis) const {
  auto asksForBlocks = [&](ArrayRef<StatePins> states) {
    for (size_t index = 0; index < states.size(); ++index)
      if (const SbpPin *pin = pinAt(states, index, axis))
        if (pin->sbp.block > 1)
          return true;
    return false;
  };
  bool isAsked =
      asksForBlocks(node.pins.operands) || asksForBlocks(node.pins.results);
  sbp::Mesh mesh = prefixOf(node.mesh, axis + 1);
  auto differs = [&](const std::vector<sbp::NdSbp> &chosen,
                     const std::vector<sbp::Sbp> &plain,
                     const std::vector<sbp::Sbp> &blocked,
                     const std::vector<sbp::Shape> &shapes) {
    for (size_t index = 0; index < chosen.size(); ++index) {
      sbp::NdSbp a = chosen[index], b = chosen[index];
      a.push_back(plain[index]);
      b.push_back(blocked[index]);
      if (!sbp::sameLayout(a, b, shapes[index], mesh))
        return true;
    }
    return false;
  };
  for (int64_t block : blocks)
    for (const sbp::Signature &plain : node.allowed) {
      sbp::Signature option = sbp::withBlocks(plain, block);
      if (option == plain || llvm::is_contained(node.options, option) ||
          !obeys(option, node.pins, axis) || !isLegal(node, option, axis))
        continue;
      // The plain option itself may be illegal or unwanted: then there is
      // nothing to compare with.
      if (isAsked || !llvm::is_contained(node.options, plain) ||
          differs(node.chosen.operands, plain.operands, option.operands,
                  node.operandShapes) ||
          differs(node.chosen.results, plain.results, option.results,
                  node.resultShapes))
        node.options.push_back(std::move(option));
    }
}

/// How far a signature is from what is pinned.
static int distanceTo(const sbp::Signature &option, const OpPins &pins,
                      size_t axis) {
  auto distance = [](const sbp::Sbp &a, const sbp::Sbp &b) {
    if (a == b)
      return 0;
    if (a.kind != b.kind)
      return 3;
    return a.isSplit() && a.dim == b.dim ? 1 : 2;
  };
  int sum = 0;
  forEachPin(pins, option, axis, [&](const sbp::Sbp &state, const SbpPin &pin) {
    sum += distance(state, pin.sbp);
  });
  return sum;
}

/// One text for each thing that asks for something, with what it asks for.
static std::vector<std::string> demands(const OpPins &pins, size_t axis) {
  std::vector<std::string> texts;
  auto add = [&](ArrayRef<StatePins> states, StringRef what) {
    for (size_t index = 0; index < states.size(); ++index)
      if (const SbpPin *pin = pinAt(states, index, axis)) {
        std::string text = pin->reason + " asks for " + sbp::toString(pin->sbp);
        if (states.size() > 1 || what == "operand")
          text += " of " + what.str() + " " + std::to_string(index);
        texts.push_back(std::move(text));
      }
  };
  add(pins.operands, "operand");
  add(pins.results, "result");
  return texts;
}

LogicalResult SbpSelection::reportNoOption(Node &node, size_t axis) {
  InFlightDiagnostic error = node.op->emitOpError("along '")
                             << axisName(node.placement, axis) << "': ";
  std::vector<std::string> asked = demands(node.pins, axis);
  llvm::interleave(
      asked, error, [&](const std::string &text) { error << text; }, " and ");
  if (!asked.empty())
    error << "; ";
  std::vector<sbp::Signature> legal;
  for (const sbp::Signature &option : node.allowed)
    if (isLegal(node, option, axis))
      legal.push_back(option);
  if (legal.empty()) {
    error << "this op allows nothing for its shapes";
    return failure();
  }
  error << "this op allows for its shapes: ";
  llvm::interleaveComma(legal, error, [&](const sbp::Signature &option) {
    error << sbp::toString(option);
  });
  if (!asked.empty()) {
    auto nearest = llvm::min_element(legal, [&](const sbp::Signature &a,
                                                const sbp::Signature &b) {
      return distanceTo(a, node.pins, axis) < distanceTo(b, node.pins, axis);
    });
    error << "; nearest: " << sbp::toString(*nearest);
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// The nodes in the order of the computation: a variable before its first use,
/// a delivery behind what it delivers.
std::vector<unsigned> SbpSelection::inOrder() const {
  std::vector<double> position(nodes.size());
  for (size_t number = 0; number < nodes.size(); ++number)
    position[number] = static_cast<double>(number);
  for (const Edge &edge : edges)
    if (nodes[edge.consumer].kind == Node::Kind::Delivery)
      position[edge.consumer] = edge.producer + 0.25;
  for (const Edge &edge : llvm::reverse(edges))
    if (nodes[edge.producer].kind == Node::Kind::Variable &&
        nodes[edge.consumer].kind == Node::Kind::Op)
      position[edge.producer] = edge.consumer - 0.5;
  std::vector<unsigned> order(nodes.size());
  for (size_t number = 0; number < nodes.size(); ++number)
    order[number] = static_cast<unsigned>(number);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::make_pair(position[a], a) < std::make_pair(position[b], b);
  });
  return order;
}

FailureOr<std::vector<unsigned>>
SbpSelection::solve(size_t axis,
                    std::optional<std::pair<unsigned, unsigned>> forced) const {
  // Nodes without a choice become part of their neighbors' costs: what is left
  // is smaller, and more of it is solved without heuristics.
  std::vector<std::vector<double>> costs;
  for (const Node &node : nodes)
    costs.push_back(node.costs);
  if (forced)
    for (auto [option, seconds] : llvm::enumerate(costs[forced->first]))
      if (option != forced->second)
        seconds = std::numeric_limits<double>::infinity();
  for (const Edge &edge : edges) {
    size_t rows = costs[edge.producer].size(),
           columns = costs[edge.consumer].size();
    if (rows == 1)
      for (size_t b = 0; b < columns; ++b)
        costs[edge.consumer][b] += edge.costs[b];
    else if (columns == 1)
      for (size_t a = 0; a < rows; ++a)
        costs[edge.producer][a] += edge.costs[a];
  }

  sbp::SelectionProblem problem;
  std::vector<unsigned> problemNode(nodes.size(), 0);
  for (unsigned number : inOrder())
    if (costs[number].size() > 1)
      problemNode[number] = problem.addNode(std::move(costs[number]));
  for (const Edge &edge : edges)
    if (nodes[edge.producer].options.size() > 1 &&
        nodes[edge.consumer].options.size() > 1)
      problem.addEdge(problemNode[edge.producer], problemNode[edge.consumer],
                      edge.costs);
  sbp::SelectionProblem::Solution solution = problem.solve();

  std::vector<unsigned> options(nodes.size(), 0);
  for (auto [number, node] : llvm::enumerate(nodes))
    if (node.options.size() > 1)
      options[number] = solution.options[problemNode[number]];
  // Only what must lie alike can forbid a choice.
  for (const Edge &edge : edges) {
    size_t columns = nodes[edge.consumer].options.size();
    if (std::isinf(edge.costs[options[edge.producer] * columns +
                              options[edge.consumer]])) {
      if (forced)
        return failure();
      Operation *parent = nodes[edge.producer].op;
      return nodes[edge.consumer].op->emitOpError("along '")
             << axisName(nodes[edge.consumer].placement, axis)
             << "': cannot lie as @"
             << SymbolTable::getSymbolName(parent).getValue()
             << ", which it is like";
    }
  }
  return options;
}

LogicalResult SbpSelection::selectAxis(size_t axis, bool explains) {
  bool ok = true;
  for (Node &node : nodes)
    if (node.kind != Node::Kind::Delivery)
      ok &= succeeded(findOptions(node, axis));
  if (!ok || (axis == 0 && failed(chooseTime())))
    return failure();
  for (unsigned number = 0; number < nodes.size(); ++number)
    if (nodes[number].kind == Node::Kind::Delivery)
      findDeliveryOptions(number);
  for (Node &node : nodes) {
    node.costs.clear();
    for (const sbp::Signature &option : node.options)
      node.costs.push_back(nodeSeconds(node, option, axis));
  }
  for (Edge &edge : edges)
    weighEdge(edge, axis);
  FailureOr<std::vector<unsigned>> options = solve(axis);
  if (failed(options))
    return failure();
  if (explains)
    explainAxis(*options, axis);
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.carried) {
      auto take = [&](std::vector<sbp::NdSbp> &chosen,
                      const std::vector<sbp::NdSbp> &carried) {
        for (auto [state, whole] : llvm::zip(chosen, carried))
          if (axis < whole.size())
            state.push_back(whole[axis]);
      };
      take(node.chosen.operands, node.carried->operands);
      take(node.chosen.results, node.carried->results);
    } else if (axis < node.mesh.size()) {
      const sbp::Signature &option = node.options[(*options)[number]];
      for (auto [state, sbp] : llvm::zip(node.chosen.operands, option.operands))
        state.push_back(sbp);
      for (auto [state, sbp] : llvm::zip(node.chosen.results, option.results))
        state.push_back(sbp);
    }
  }
  return success();
}

LogicalResult SbpSelection::run(bool explains) {
  if (failed(collect()))
    return failure();
  size_t axes = 0;
  for (const Node &node : nodes)
    axes = std::max(
        {axes, node.mesh.size(), PlacementOp(node.source).getMesh().size()});
  for (size_t axis = 0; axis < axes; ++axis)
    if (failed(selectAxis(axis, explains)))
      return failure();
  return success();
}

void SbpSelection::write() {
  MLIRContext *context = module.getContext();
  for (Node &node : nodes) {
    if (node.kind == Node::Kind::Op) {
      cast<SpreadOpInterface>(node.op).setSignatureAttr(
          SignatureAttr::get(context, node.chosen));
    } else if (node.kind == Node::Kind::Variable) {
      const sbp::NdSbp &state = node.chosen.results[0];
      cast<VariableOp>(node.op).setStorageAttr(NdSbpAttr::get(context, state));
      for (SpreadOpInterface use : node.uses) {
        sbp::NdSignature signature;
        (isa<ReadOp>(use.getOperation()) ? signature.results
                                         : signature.operands) = {state};
        use.setSignatureAttr(SignatureAttr::get(context, signature));
      }
    }
  }
  insertRoutes();
  separateBackwardReads();
}
