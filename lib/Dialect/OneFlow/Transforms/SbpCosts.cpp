//===- SbpCosts.cpp - what SBP signatures cost ----------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Seconds of computation and of boxing along one mesh axis, on what the axes
// before it leave.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace oneflow;

static double elementCount(const sbp::Shape &shape) {
  double count = 1;
  for (int64_t extent : shape)
    count *= static_cast<double>(extent);
  return count;
}

/// The cost model of a node for the axis at hand; see regroupingShare.
sbp::CostModel SbpSelection::modelOf(const Node &node, size_t axis) const {
  sbp::CostModel model = node.model;
  if (!isDataAxis(node, axis))
    model.link.latencySeconds = 0;
  return model;
}

double SbpSelection::nodeSeconds(const Node &node, const sbp::Signature &option,
                                 size_t axis) const {
  Operation *op = node.op;
  if (node.kind == Node::Kind::Variable && axis < node.mesh.size() &&
      !isDataAxis(node, axis)) {
    // What ranks hold of it beyond a part each, as if it had to be sent there:
    // the axis is to spread the variables.
    Type element = cast<VariableOp>(op).getTensorType().getElementType();
    double bytes = elementCount(sbp::ceilingShape(node.chosen.results[0],
                                                  node.resultShapes[0],
                                                  prefixOf(node.mesh, axis))) *
                   std::max(1u, element.getIntOrFloatBitWidth() / 8);
    double excess = option.results[0].isSplit() ? 0 : 1 - 1.0 / node.mesh[axis];
    return excess * bytes / node.model.link.bytesPerSecond;
  }
  if (node.kind != Node::Kind::Op || axis >= node.mesh.size() ||
      isa<InputOp, OutputOp, ConstantOp, BoxingOp>(op))
    return 0;

  sbp::Mesh prefix = prefixOf(node.mesh, axis + 1);
  auto localShape = [&](const sbp::NdSbp &chosen, const sbp::Sbp &next,
                        const sbp::Shape &shape) {
    sbp::NdSbp state = chosen;
    state.push_back(next);
    return sbp::ceilingShape(state, shape, prefix);
  };
  double bytes = 0, flops = 0;
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    bytes += elementCount(localShape(node.chosen.operands[index],
                                     option.operands[index],
                                     node.operandShapes[index])) *
             elementBytesOf(value);
  for (auto [index, value] : llvm::enumerate(op->getResults()))
    bytes += elementCount(localShape(node.chosen.results[index],
                                     option.results[index],
                                     node.resultShapes[index])) *
             elementBytesOf(value);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    sbp::Shape lhs = localShape(node.chosen.operands[0], option.operands[0],
                                node.operandShapes[0]);
    int64_t contracted = lhs[lhs.size() - (matmul.getTransposeLhs() ? 2 : 1)];
    flops = 2 * static_cast<double>(contracted) *
            elementCount(localShape(node.chosen.results[0], option.results[0],
                                    node.resultShapes[0]));
  }
  bool isConvolution =
      isa<ConvolutionOp, ConvolutionGradInputOp, ConvolutionGradWeightOp>(op);
  if (isConvolution) {
    // Every element of the convolution's result, or of its gradient, meets what
    // one channel of it has in the weight.
    auto operand = [&](unsigned index) {
      return localShape(node.chosen.operands[index], option.operands[index],
                        node.operandShapes[index]);
    };
    sbp::Shape result = localShape(node.chosen.results[0], option.results[0],
                                   node.resultShapes[0]);
    bool makesWeight = isa<ConvolutionGradWeightOp>(op);
    sbp::Shape weight = makesWeight ? result : operand(1);
    sbp::Shape y = makesWeight                       ? operand(1)
                   : isa<ConvolutionGradInputOp>(op) ? operand(0)
                                                     : result;
    flops = 2 * elementCount(y) * elementCount(weight) /
            static_cast<double>(std::max<int64_t>(1, weight[0]));
  }
  bool isFused = !isa<MatmulOp>(op) && !isConvolution;
  double seconds = node.model.computeSeconds(
      flops, isFused ? node.model.fusedShare * bytes : bytes);

  if (option.decomposed) {
    // A maximum and a sum are reduced over the axis, and what is picked if
    // labels choose; each has one element per row.
    sbp::Shape rows =
        sbp::ceilingShape(node.chosen.operands[0], node.operandShapes[0],
                          prefixOf(node.mesh, axis));
    rows[option.operands[0].dim] = 1;
    int reductions = isa<CrossEntropyOp>(op) ? 3 : 2;
    seconds +=
        reductions *
        modelOf(node, axis)
            .boxingSeconds(sbp::Sbp::partial(), sbp::Sbp::broadcast(), rows,
                           elementBytesOf(op->getOperand(0)), node.mesh[axis]);
  }
  return seconds;
}

double SbpSelection::timesOf(const Edge &edge) const {
  const Node &producer = nodes[edge.producer];
  const Node &consumer = nodes[edge.consumer];
  if (!PlacementOp(producer.placement).hasTimeAxis() ||
      producer.chosen.results[edge.result].empty() ||
      consumer.chosen.operands[edge.operand].empty())
    return 1;
  const sbp::Sbp &made = producer.chosen.results[edge.result].front();
  bool repeats = !made.isBroadcast() &&
                 made == consumer.chosen.operands[edge.operand].front();
  return repeats ? static_cast<double>(producer.mesh.front()) : 1;
}

double SbpSelection::edgeSeconds(const Edge &edge, const sbp::Sbp &from,
                                 const sbp::Sbp &to, const sbp::Shape &local,
                                 size_t axis) const {
  const Node &producer = nodes[edge.producer];
  const Node &consumer = nodes[edge.consumer];
  int64_t bytes = edge.elementBytes;
  if (producer.placement != consumer.source)
    return producer.model.disjointSeconds(
        from, producer.mesh[axis], to,
        PlacementOp(consumer.source).getMesh()[axis],
        static_cast<int64_t>(elementCount(local)) * bytes);
  if (from == to)
    return 0;

  sbp::CostModel model = modelOf(producer, axis);
  double seconds =
      model.boxingSeconds(from, to, local, bytes, producer.mesh[axis]);
  bool sameLayout = seconds == 0 && from.isSplit() && to.isSplit();
  if (sameLayout)
    return 0;
  // What leaves the step, or is kept for the next, must take the form it has
  // there.
  bool leaves = consumer.kind == Node::Kind::Variable ||
                (consumer.kind == Node::Kind::Op && isa<OutputOp>(consumer.op));
  if (from.isSplit() && !leaves) {
    bool isData = isDataAxis(producer, axis);
    if (producer.dependsOnInput == isData)
      seconds += model.firmPenalty;
    else if (isData)
      seconds += model.softPenalty;
    else
      seconds *= 1 + model.regroupingShare;
  }
  // Every boxing at least copies, so that of two free ways the direct one wins.
  return seconds +
         model.computeSeconds(0, 2 * model.fusedShare * elementCount(local) *
                                     static_cast<double>(bytes));
}

void SbpSelection::weighEdge(Edge &edge, size_t axis) {
  const Node &producer = nodes[edge.producer];
  const Node &consumer = nodes[edge.consumer];
  edge.costs.assign(producer.options.size() * consumer.options.size(), 0);
  if (axis >= producer.mesh.size() ||
      axis >= PlacementOp(consumer.source).getMesh().size())
    return;
  if (edge.ties) {
    bool pinned = pinAt(consumer.pins.results, 0, axis);
    auto cost = edge.costs.begin();
    for (const sbp::Signature &a : producer.options)
      for (const sbp::Signature &b : consumer.options)
        *cost++ =
            pinned || a == b ? 0 : std::numeric_limits<double>::infinity();
    return;
  }
  sbp::Shape local = sbp::ceilingShape(producer.chosen.results[edge.result],
                                       producer.resultShapes[edge.result],
                                       prefixOf(producer.mesh, axis));
  double times = timesOf(edge);
  std::map<std::pair<sbp::Sbp, sbp::Sbp>, double> known;
  auto cost = edge.costs.begin();
  for (const sbp::Signature &a : producer.options)
    for (const sbp::Signature &b : consumer.options) {
      auto states =
          std::make_pair(a.results[edge.result], b.operands[edge.operand]);
      auto [entry, isNew] = known.try_emplace(states, 0.0);
      if (isNew)
        entry->second =
            times * edgeSeconds(edge, states.first, states.second, local, axis);
      *cost++ = entry->second;
    }
}
