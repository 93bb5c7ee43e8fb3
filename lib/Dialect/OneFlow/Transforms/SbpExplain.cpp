//===- SbpExplain.cpp - why a signature was chosen ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Says for each choice what would have cost more, or what it goes along with:
// the node, perhaps some steps away, that would not have moved if this one had.
//
//===----------------------------------------------------------------------===//

#include "SbpSelection.h"
#include "oneflow/Interfaces/SourceName.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace oneflow;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static StringRef shortNameOf(Operation *op) {
  return op->getName().stripDialect();
}

/// "@w", "input 'x'", "/fc1/Gemm"; of an op that is no node's, "mul of loss"
/// or, where no name is known at all, "mul".
static std::string nameOf(Operation *op) {
  if (auto variable = dyn_cast<VariableOp>(op))
    return "@" + variable.getSymName().str();
  if (auto input = dyn_cast<InputOp>(op))
    return "input '" + input.getName().str() + "'";
  if (auto output = dyn_cast<OutputOp>(op))
    return "output '" + output.getName().str() + "'";
  if (StringRef node = nodeNameOf(op->getLoc()); !node.empty())
    return node.str();
  std::string source = sourceName(op->getLoc(), /*limit=*/2);
  return shortNameOf(op).str() + (source.empty() ? "" : " of " + source);
}

/// What a remark speaks of: "@w " or "train: matmul, out1 ", with the results
/// that hints name so where the node has several.
static std::string
subjectOf(Operation *op, const llvm::DenseMap<Operation *, std::string> &outs) {
  if (isa<VariableOp>(op))
    return nameOf(op) + " ";
  auto function = op->getParentOfType<func::FuncOp>();
  std::string text = function ? function.getName().str() + ": " : "";
  return text + shortNameOf(op).str() + outs.lookup(op) + " ";
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// What choosing `option` instead would have come to: `gain` seconds more.
static std::string priceText(const std::string &alternative, double gain,
                             double whole, double penalty) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto microseconds = [](double seconds) {
    return llvm::format("%.3g", std::abs(seconds) * 1e6);
  };
  if (std::isinf(gain) || std::isnan(gain)) {
    stream << "rather than " << alternative << ", which what is like it cannot";
    return text;
  }
  // Penalties are whole multiples and no time.
  double penalties = std::round(gain / penalty) * penalty;
  double seconds = gain - penalties;
  if (penalties > 0) {
    stream << "rather than " << alternative
           << ", which regroups what is to stay split ("
           << microseconds(seconds) << " us " << (seconds < 0 ? "less" : "more")
           << ")";
    return text;
  }
  // Less than a part in a hundred, or than a hundredth of a microsecond, is
  // below what the model of costs knows.
  if (std::abs(seconds) < std::max(1e-8, 0.01 * std::abs(whole)))
    stream << "about as cheap as " << alternative;
  else if (gain > 0)
    stream << "cheaper than " << alternative << " by " << microseconds(seconds)
           << " us";
  else
    stream << "best for all together, though here " << alternative
           << " would be cheaper by " << microseconds(seconds) << " us";
  return text;
}

static std::string toText(const sbp::Signature &option, bool isOp) {
  return isOp ? sbp::toString(option) : sbp::toString(option.results[0]);
}

//===----------------------------------------------------------------------===//
// What else would have moved
//===----------------------------------------------------------------------===//

/// Nodes that lie otherwise than chosen: what their costs come to, and whom
/// they would part from.
class SbpSelection::Change {
public:
  Change(const SbpSelection &selection, const std::vector<unsigned> &options)
      : selection(selection), options(options) {}

  void set(unsigned node, unsigned option) { changed[node] = option; }
  void drop(unsigned node) { changed.erase(node); }
  bool contains(unsigned node) const { return changed.count(node); }

  /// Seconds of the changed nodes themselves beyond what was chosen.
  double ownSeconds() const {
    double seconds = 0;
    for (auto [node, option] : changed)
      seconds += selection.nodes[node].costs[option] -
                 selection.nodes[node].costs[options[node]];
    return seconds;
  }

  /// Seconds of `nodes` and of all their edges, as changed or as chosen.
  double seconds(ArrayRef<unsigned> nodes, bool asChosen) const {
    double seconds = 0;
    llvm::SmallSetVector<unsigned, 16> edges, deliveries;
    for (unsigned node : nodes) {
      seconds += selection.nodes[node].costs[optionOf(node, asChosen)];
      forEachTie(node, edges, deliveries);
    }
    for (unsigned edge : edges)
      seconds += edgeSeconds(edge, asChosen);
    for (unsigned delivery : deliveries)
      seconds += deliverySeconds(delivery, asChosen);
    return seconds;
  }
  double seconds(bool asChosen) const {
    SmallVector<unsigned> nodes;
    for (auto [node, option] : changed)
      nodes.push_back(node);
    return seconds(nodes, asChosen);
  }

  /// A node outside that would have to be boxed for.
  struct Neighbor {
    double seconds = 0;
    unsigned node = 0;
    /// The changed node, and the edge at it.
    unsigned member = 0;
    const Edge *edge = nullptr;
  };

  /// The one for which it would take most; nothing where it takes none.
  std::optional<Neighbor> dearest() const {
    std::optional<Neighbor> best;
    auto offer = [&](const Neighbor &neighbor) {
      if (neighbor.seconds > (best ? best->seconds : 0))
        best = neighbor;
    };
    for (auto [member, option] : changed)
      for (unsigned number : selection.incident[member]) {
        const Edge &edge = selection.edges[number];
        unsigned other =
            edge.producer == member ? edge.consumer : edge.producer;
        if (selection.nodes[other].kind == Node::Kind::Delivery)
          offerDelivery(other, member, edge, offer);
        else if (!contains(other))
          offer({edgeSeconds(number, false) - edgeSeconds(number, true), other,
                 member, &edge});
      }
    return best;
  }

private:
  unsigned optionOf(unsigned node, bool asChosen) const {
    auto found = changed.find(node);
    return asChosen || found == changed.end() ? options[node] : found->second;
  }

  double at(const Edge &edge, unsigned producer, unsigned consumer) const {
    return edge.costs[producer * selection.nodes[edge.consumer].options.size() +
                      consumer];
  }

  double edgeSeconds(unsigned number, bool asChosen) const {
    const Edge &edge = selection.edges[number];
    return at(edge, optionOf(edge.producer, asChosen),
              optionOf(edge.consumer, asChosen));
  }

  /// With the value delivered in the form in which it then takes least: that
  /// is nothing that anyone chose.
  double deliverySeconds(unsigned delivery, bool asChosen) const {
    double least = std::numeric_limits<double>::infinity();
    for (unsigned form = 0; form < selection.nodes[delivery].options.size();
         ++form) {
      double seconds = 0;
      for (unsigned number : selection.incident[delivery]) {
        const Edge &edge = selection.edges[number];
        seconds += edge.producer == delivery
                       ? at(edge, form, optionOf(edge.consumer, asChosen))
                       : at(edge, optionOf(edge.producer, asChosen), form);
      }
      least = std::min(least, seconds);
    }
    return least;
  }

  void forEachTie(unsigned node, llvm::SmallSetVector<unsigned, 16> &edges,
                  llvm::SmallSetVector<unsigned, 16> &deliveries) const {
    for (unsigned number : selection.incident[node]) {
      const Edge &edge = selection.edges[number];
      unsigned other = edge.producer == node ? edge.consumer : edge.producer;
      if (selection.nodes[other].kind == Node::Kind::Delivery)
        deliveries.insert(other);
      else
        edges.insert(number);
    }
  }

  /// The neighbor on the other side of a delivery: who makes the value, or the
  /// consumer that gets most of what it does not want.
  template <typename Offer>
  void offerDelivery(unsigned delivery, unsigned member, const Edge &own,
                     Offer offer) const {
    double seconds =
        deliverySeconds(delivery, false) - deliverySeconds(delivery, true);
    if (seconds <= 0)
      return;
    const Edge *made = nullptr;
    for (unsigned number : selection.incident[delivery])
      if (selection.edges[number].consumer == delivery)
        made = &selection.edges[number];
    if (!contains(made->producer))
      return offer({seconds, made->producer, member, &own});
    const Node &node = selection.nodes[delivery];
    auto form = [&](bool asChosen) {
      const Node &producer = selection.nodes[made->producer];
      unsigned option = optionOf(made->producer, asChosen);
      const sbp::Sbp *state =
          made->result < producer.options[option].results.size()
              ? &producer.options[option].results[made->result]
              : nullptr;
      unsigned index = 0;
      for (auto [number, known] : llvm::enumerate(node.options))
        if (state && !known.results.empty() && known.results[0] == *state)
          index = number;
      return index;
    };
    unsigned before = form(true), after = form(false);
    const Edge *most = nullptr;
    double mostSeconds = 0;
    for (unsigned number : selection.incident[delivery]) {
      const Edge &edge = selection.edges[number];
      if (edge.producer != delivery || contains(edge.consumer))
        continue;
      double more = at(edge, after, options[edge.consumer]) -
                    at(edge, before, options[edge.consumer]);
      if (!most || more > mostSeconds) {
        most = &edge;
        mostSeconds = more;
      }
    }
    if (most)
      offer({seconds, most->consumer, member,
             made->producer == member ? most : &own});
  }

  const SbpSelection &selection;
  const std::vector<unsigned> &options;
  llvm::MapVector<unsigned, unsigned> changed;
};

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// The option that would take least if `number` could not lie as it does, with
/// all others as chosen; what is like it would go along.
unsigned SbpSelection::nextBest(unsigned number,
                                const std::vector<unsigned> &options) const {
  const Node &node = nodes[number];
  auto secondsOf = [&](unsigned option) {
    double seconds = node.costs[option];
    for (unsigned incidence : incident[number]) {
      const Edge &edge = edges[incidence];
      if (edge.ties)
        continue;
      unsigned a = edge.producer == number ? option : options[edge.producer];
      unsigned b = edge.consumer == number ? option : options[edge.consumer];
      seconds += edge.costs[a * nodes[edge.consumer].options.size() + b];
    }
    return seconds;
  };
  std::optional<unsigned> best;
  for (unsigned option = 0; option < node.options.size(); ++option)
    if (option != options[number] &&
        (!best || secondsOf(option) < secondsOf(*best)))
      best = option;
  return *best;
}

SbpSelection::Node::Reason SbpSelection::explainChoice(
    unsigned number, const std::vector<unsigned> &options, size_t axis) const {
  const Node &node = nodes[number];
  if (node.kind == Node::Kind::Delivery)
    return {};
  if (node.carried)
    return {"pinned by its signature", {}};
  for (const auto *states : {&node.pins.results, &node.pins.operands})
    for (size_t index = 0; index < states->size(); ++index)
      if (const SbpPin *pin = pinAt(*states, index, axis))
        return {"pinned by " + pin->reason, {}};
  for (unsigned edge : incident[number])
    if (edges[edge].ties && edges[edge].consumer == number)
      return {"lies as " + nameOf(nodes[edges[edge].producer].op) +
                  ", which it is like",
              edges[edge].producer};
  if (node.options.size() == 1)
    return {"nothing else is allowed", {}};

  // Whoever would go along with the change does; who does not is the reason.
  unsigned alternative = nextBest(number, options);
  Change change(*this, options);
  change.set(number, alternative);
  llvm::DenseMap<unsigned, Change::Neighbor> joinedBy;
  std::optional<Change::Neighbor> holds;
  for (unsigned steps = 0; steps < kStepsToReason; ++steps) {
    holds = change.dearest();
    if (!holds || change.ownSeconds() >= holds->seconds) {
      holds.reset();
      break;
    }
    unsigned other = holds->node;
    unsigned best = options[other];
    change.set(other, best);
    double least = change.seconds({other}, false);
    for (unsigned option = 0; option < nodes[other].options.size(); ++option) {
      change.set(other, option);
      double seconds = change.seconds({other}, false);
      if (seconds < least) {
        least = seconds;
        best = option;
      }
    }
    if (best == options[other]) {
      change.drop(other);
      break;
    }
    change.set(other, best);
    joinedBy[other] = *holds;
  }
  double whole = change.seconds(/*asChosen=*/true);
  double gain = change.seconds(/*asChosen=*/false) - whole;
  std::string price =
      priceText(toText(node.options[alternative], node.kind == Node::Kind::Op),
                gain, whole, node.model.softPenalty);
  // Of equals nobody asked for one.
  if (!holds || std::abs(gain) <= 1e-6 * std::abs(whole))
    return {price, {}};
  // The first step of the way there.
  Change::Neighbor first = *holds;
  while (first.member != number)
    first = joinedBy[first.member];
  std::string text = "fits its use by " + nameOf(nodes[first.node].op);
  if (first.edge->ties)
    text = "fits " + nameOf(nodes[first.node].op) + ", which is like it";
  else if (first.edge->consumer == number)
    text = node.kind == Node::Kind::Op
               ? "follows operand " + std::to_string(first.edge->operand)
               : "follows its updates";
  return {text + ", " + price, holds->node};
}

void SbpSelection::explainAxis(const std::vector<unsigned> &options,
                               size_t axis) {
  for (auto [number, node] : llvm::enumerate(nodes))
    if (axis < node.mesh.size())
      node.reasons.push_back(explainChoice(number, options, axis));
  // Nodes that hold each other have one reason, what the whole would take.
  std::vector<unsigned> visit(nodes.size(), 0);
  unsigned walk = 0, priced = 0;
  for (unsigned start = 0; start < nodes.size(); ++start) {
    ++walk;
    unsigned at = start;
    while (!visit[at] && axis < nodes[at].reasons.size() &&
           nodes[at].reasons[axis].follows) {
      visit[at] = walk;
      at = *nodes[at].reasons[axis].follows;
    }
    if (visit[at] != walk) {
      visit[at] = walk;
      continue;
    }
    // A variable is what users speak of.
    unsigned end = at;
    for (unsigned member = *nodes[at].reasons[axis].follows; member != at;
         member = *nodes[member].reasons[axis].follows)
      if (nodes[member].kind == Node::Kind::Variable)
        end = member;
    std::string text = "best for all together";
    if (nodes[end].options.size() > 1 && priced++ < kCyclesToPrice) {
      unsigned alternative = nextBest(end, options);
      FailureOr<std::vector<unsigned>> otherwise =
          solve(axis, std::make_pair(end, alternative));
      if (succeeded(otherwise)) {
        double ours = totalSeconds(options);
        text = "in all " + priceText(toText(nodes[end].options[alternative],
                                            nodes[end].kind == Node::Kind::Op),
                                     totalSeconds(*otherwise) - ours, 0,
                                     nodes[end].model.softPenalty);
      }
    }
    nodes[end].reasons[axis] = {text, {}};
  }
}

double SbpSelection::totalSeconds(const std::vector<unsigned> &options) const {
  double seconds = 0;
  for (auto [number, node] : llvm::enumerate(nodes))
    seconds += node.costs[options[number]];
  for (const Edge &edge : edges)
    seconds += edge.costs[options[edge.producer] *
                              nodes[edge.consumer].options.size() +
                          options[edge.consumer]];
  return seconds;
}

/// " (from @w: pinned by hint ...)": the end of the chain of what follows what.
std::string SbpSelection::originOf(unsigned number, size_t axis) const {
  unsigned at = number;
  // Chains end, but a node of another mesh may have no reason for this axis.
  while (axis < nodes[at].reasons.size() && nodes[at].reasons[axis].follows)
    at = *nodes[at].reasons[axis].follows;
  if (at == number || axis >= nodes[at].reasons.size())
    return "";
  return " (from " + nameOf(nodes[at].op) + ": " +
         nodes[at].reasons[axis].text + ")";
}

void SbpSelection::explain() {
  llvm::DenseMap<Operation *, std::string> outs;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto &[name, node] : nodesOf(function))
      if (node.results.size() > 1)
        for (auto [index, results] : llvm::enumerate(node.results))
          for (OpResult result : results)
            outs[result.getOwner()] += ", out" + std::to_string(index);
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.kind == Node::Kind::Delivery)
      continue;
    InFlightDiagnostic remark = node.op->emitRemark();
    remark << subjectOf(node.op, outs) << "sbp ";
    if (node.kind == Node::Kind::Op)
      remark << sbp::toString(node.chosen);
    else
      remark << sbp::toString(node.chosen.results[0]);
    for (auto [axis, reason] : llvm::enumerate(node.reasons))
      remark << "; " << axisName(node.placement, axis) << ": " << reason.text
             << originOf(number, axis);
  }
}
