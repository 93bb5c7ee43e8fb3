//===- Stages.cpp - grouping nodes into loop nests ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy fusion. Every node starts as a stage of its own whose row variables
// are its parallel dims. A stage is merged with the one it reads when at least
// one row variable survives: one along which the reader's row r reads the
// writer's row r and no other. Pointwise stages over one domain are then merged
// too, so that an optimizer's results come from one loop.
//
//===----------------------------------------------------------------------===//

#include "KernelGraph.h"

using namespace mlir;

namespace oneflow::cpu {

/// True if `from` reads, directly or not, what `to` writes, through at least
/// one stage other than the two.
static bool reachesThroughOthers(
    const llvm::DenseMap<Stage *, llvm::DenseSet<Stage *>> &edges, Stage *from,
    Stage *to) {
  llvm::DenseSet<Stage *> seen;
  SmallVector<Stage *> work;
  for (Stage *next : edges.lookup(from))
    if (next != to)
      work.push_back(next);
  while (!work.empty()) {
    Stage *stage = work.pop_back_val();
    if (!seen.insert(stage).second)
      continue;
    if (stage == to)
      return true;
    for (Stage *next : edges.lookup(stage))
      work.push_back(next);
  }
  return false;
}

static llvm::DenseMap<Stage *, llvm::DenseSet<Stage *>>
readEdges(const KernelGraph &graph,
          const llvm::DenseMap<Node *, Stage *> &stageOfNode) {
  llvm::DenseMap<Stage *, llvm::DenseSet<Stage *>> edges;
  for (const auto &node : graph.nodes) {
    Stage *stage = stageOfNode.lookup(node.get());
    for (const Access &access : node->accesses)
      if (Node *writer = graph.keptBy.lookup(access.tensor)) {
        Stage *from = stageOfNode.lookup(writer);
        if (from != stage)
          edges[stage].insert(from);
      }
  }
  return edges;
}

/// Moves all of `from` into `into`; `map[v]` is the variable of `from` that
/// variable v of `into` corresponds to, or -1: that variable is given up.
static void merge(Stage &into, Stage &from, ArrayRef<int> map,
                  llvm::DenseMap<Node *, Stage *> &stageOfNode) {
  Extents rows;
  for (auto [v, other] : llvm::enumerate(map))
    if (other >= 0)
      rows.push_back(into.rows[v]);
  for (Node *node : into.nodes) {
    SmallVector<unsigned, 4> dims;
    for (auto [v, other] : llvm::enumerate(map))
      if (other >= 0)
        dims.push_back(node->rowDims[v]);
    node->rowDims = dims;
  }
  for (Node *node : from.nodes) {
    SmallVector<unsigned, 4> dims;
    for (int other : map)
      if (other >= 0)
        dims.push_back(node->rowDims[other]);
    node->rowDims = dims;
    into.nodes.push_back(node);
    stageOfNode[node] = &into;
  }
  into.rows = rows;
  llvm::sort(into.nodes, [](Node *a, Node *b) { return a->order < b->order; });
  from.nodes.clear();
}

static bool hasContraction(const Stage &stage) {
  return llvm::any_of(stage.nodes,
                      [](Node *node) { return node->contraction.has_value(); });
}

static bool hasScatter(const Stage &stage) {
  return llvm::any_of(stage.nodes,
                      [](Node *node) { return node->scatter.has_value(); });
}

static bool allPointwise(const Stage &stage) {
  return llvm::all_of(stage.nodes, [](Node *node) { return !node->reduction; });
}

/// Drops the variables of extent one: nothing runs along them.
static unsigned wideDims(const Node &node) {
  unsigned wide = 0;
  for (auto [extent, reduced] : llvm::zip(node.domain, node.reduced))
    wide += !reduced && !extent.isOne();
  return wide;
}

bool KernelGraph::tryMerge(Stage *producer, Stage *consumer) {
  // What a scatter writes is not done before its last index was seen.
  if (hasScatter(*producer) || hasScatter(*consumer))
    return false;
  // A contraction takes pointwise readers only, and reads from memory only.
  if (hasContraction(*consumer))
    return false;
  bool epilogue = hasContraction(*producer);
  if (epilogue && !allPointwise(*consumer))
    return false;
  SmallVector<int> map(producer->rows.size(), -1);
  bool first = true;
  for (Node *reader : consumer->nodes)
    for (Access &access : reader->accesses) {
      Node *writer = keptBy.lookup(access.tensor);
      if (!writer || stageOfNode[writer] != producer)
        continue;
      SmallVector<int> here(producer->rows.size(), -1);
      for (unsigned v = 0; v < here.size(); ++v) {
        for (auto [position, dim] : llvm::enumerate(writer->outDims)) {
          if (dim != static_cast<int>(writer->rowDims[v]))
            continue;
          auto index =
              dyn_cast_or_null<AffineDimExpr>(access.indices[position]);
          if (!index)
            continue;
          for (unsigned u = 0; u < consumer->rows.size(); ++u)
            if (reader->rowDims[u] == index.getPosition() &&
                consumer->rows[u] == producer->rows[v])
              here[v] = u;
        }
      }
      if (first)
        map = here;
      else
        for (auto [known, next] : llvm::zip(map, here))
          if (known != next)
            known = -1;
      first = false;
    }
  unsigned survive = llvm::count_if(map, [](int v) { return v >= 0; });
  if (survive == 0)
    return false;
  if (epilogue || (allPointwise(*producer) && allPointwise(*consumer))) {
    // Nothing but whole elements may be handed over inside such a nest.
    if (survive != producer->rows.size() || survive != consumer->rows.size())
      return false;
  }
  if (reachesThroughOthers(readEdges(*this, stageOfNode), consumer, producer))
    return false;
  merge(*producer, *consumer, map, stageOfNode);
  return true;
}

/// True if `expr` is `dim` plus something without it, as in a convolution.
static bool stepsByOne(AffineExpr expr, unsigned dim, unsigned dims) {
  AffineExpr self = getAffineDimExpr(dim, expr.getContext());
  return expr.isFunctionOfDim(dim) &&
         !simplifyAffineExpr(expr - self, dims, 0).isFunctionOfDim(dim);
}

void KernelGraph::chooseLanes(Stage &stage) {
  for (Node *node : stage.nodes) {
    if (!node->reduction)
      continue;
    // The operand with most dims decides: where it is contiguous.
    const Access *widest = nullptr;
    for (const Access &access : node->accesses)
      if (!widest || access.indices.size() > widest->indices.size())
        widest = &access;
    if (!widest || widest->indices.empty())
      continue;
    AffineExpr last = widest->indices.back();
    if (!last)
      continue;
    for (unsigned v = 0; v < stage.rows.size(); ++v)
      if (stepsByOne(last, node->rowDims[v], node->domain.size())) {
        stage.lanes = true;
        unsigned end = stage.rows.size() - 1;
        std::swap(stage.rows[v], stage.rows[end]);
        for (Node *other : stage.nodes)
          std::swap(other->rowDims[v], other->rowDims[end]);
      }
    return;
  }
}

void KernelGraph::formStages() {
  for (auto &node : nodes) {
    stages.push_back(std::make_unique<Stage>());
    Stage &stage = *stages.back();
    stage.nodes.push_back(node.get());
    stageOfNode[node.get()] = &stage;
    node->rowDims.clear();
    for (auto [dim, extent] : llvm::enumerate(node->domain))
      if (!node->reduced[dim] && !extent.isOne()) {
        stage.rows.push_back(extent);
        node->rowDims.push_back(dim);
      }
  }
  for (auto &node : nodes)
    for (Access &access : node->accesses)
      if (Node *writer = keptBy.lookup(access.tensor)) {
        Stage *producer = stageOfNode[writer],
              *consumer = stageOfNode[node.get()];
        if (producer != consumer)
          tryMerge(producer, consumer);
      }
  // Pointwise stages over one domain share their loop.
  for (auto &a : stages)
    for (auto &b : stages) {
      if (a.get() == b.get() || a->nodes.empty() || b->nodes.empty() ||
          !allPointwise(*a) || !allPointwise(*b) || a->rows != b->rows)
        continue;
      auto edges = readEdges(*this, stageOfNode);
      if (edges.lookup(a.get()).contains(b.get()) ||
          edges.lookup(b.get()).contains(a.get()) ||
          reachesThroughOthers(edges, a.get(), b.get()) ||
          reachesThroughOthers(edges, b.get(), a.get()))
        continue;
      SmallVector<int> same;
      for (unsigned v = 0; v < a->rows.size(); ++v)
        same.push_back(v);
      merge(*a, *b, same, stageOfNode);
    }
  llvm::erase_if(stages,
                 [](const auto &stage) { return stage->nodes.empty(); });

  auto edges = readEdges(*this, stageOfNode);
  for (auto &stage : stages) {
    stage->dependsOn = edges.lookup(stage.get());
    bool wholeElements = llvm::all_of(stage->nodes, [&](Node *node) {
      return wideDims(*node) == stage->rows.size();
    });
    if (hasContraction(*stage))
      stage->kind = Stage::Kind::Contraction;
    else if (hasScatter(*stage))
      stage->kind = Stage::Kind::Scatter;
    else if (allPointwise(*stage) && wholeElements)
      stage->kind = Stage::Kind::Pointwise;
    else {
      stage->kind = Stage::Kind::Rows;
      chooseLanes(*stage);
    }
  }
  // Writers before readers.
  SmallVector<std::unique_ptr<Stage>> ordered;
  llvm::DenseSet<Stage *> done;
  while (ordered.size() < stages.size())
    for (auto &stage : stages) {
      if (!stage || !llvm::all_of(stage->dependsOn, [&](Stage *other) {
            return done.contains(other);
          }))
        continue;
      done.insert(stage.get());
      ordered.push_back(std::move(stage));
    }
  stages = std::move(ordered);
}

} // namespace oneflow::cpu
