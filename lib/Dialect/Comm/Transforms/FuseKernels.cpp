//===- FuseKernels.cpp - merge kernels that one loop nest computes --------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries each kernel with the makers of its operands, in program order, until
// nothing changes. A merge is tried for real and taken back if the merged
// kernel is not of a class that one nest computes.
//
//===----------------------------------------------------------------------===//

#include "FoldReshapes.h"
#include "KernelClass.h"
#include "MergeKernels.h"

#include "oneflow/Dialect/Comm/Transforms/Passes.h"
#include "oneflow/Dialect/Comm/Transforms/Phases.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace oneflow::comm {
#define GEN_PASS_DEF_FUSEKERNELSPASS
#include "oneflow/Dialect/Comm/Transforms/Passes.h.inc"
} // namespace oneflow::comm

using namespace mlir;
using namespace oneflow;
using namespace oneflow::comm;

namespace {

class FunctionFuser {
public:
  FunctionFuser(func::FuncOp function, unsigned maxOps, unsigned maxOperands)
      : block(function.getBody().front()), maxOps(maxOps),
        maxOperands(maxOperands) {}

  void run();

private:
  void foldReshapesInside();
  void feedReductions();
  KernelOp mergeOnce(KernelOp consumer);
  KernelOp tryMerge(KernelOp producer, KernelOp consumer);
  bool allow(KernelOp producer, KernelOp consumer, bool free);
  const KernelClass &classOf(KernelOp kernel);

  Block &block;
  unsigned maxOps, maxOperands;
  /// The most communications on a path to the op; kept up to date.
  DenseMap<Operation *, unsigned> depths;
  /// Kept up to date, too.
  DenseMap<Operation *, unsigned> phaseOf;
  DenseMap<Operation *, KernelClass> classes;
  /// Readers that a kernel was tried with in vain, to spare the next rounds
  /// that.
  DenseMap<Operation *, llvm::SmallPtrSet<Operation *, 4>> refused;
};

} // namespace

const KernelClass &FunctionFuser::classOf(KernelOp kernel) {
  auto [place, isNew] = classes.try_emplace(kernel);
  if (isNew)
    place->second = classifyKernel(kernel);
  return place->second;
}

bool FunctionFuser::allow(KernelOp producer, KernelOp consumer, bool free) {
  if (producer.getPlacementAttr() != consumer.getPlacementAttr())
    return false;
  // A clone starts when its reader does; only a view brings operands along,
  // which were there for the producer already.
  if (free)
    return true;
  // Nor is anything done more often than it must be, or in another pass.
  if (depths.lookup(producer) != depths.lookup(consumer) ||
      phaseOf.lookup(producer) != phaseOf.lookup(consumer))
    return false;
  llvm::SmallPtrSet<Operation *, 8> between;
  for (Operation *op : getDependentsBetween(producer, consumer))
    between.insert(op);
  return llvm::none_of(consumer->getOperands(), [&](Value operand) {
    return between.contains(operand.getDefiningOp());
  });
}

/// False for classes that never make one nest.
static bool mayFit(KernelClass::Kind producer, KernelClass::Kind consumer) {
  using Kind = KernelClass::Kind;
  switch (producer) {
  case Kind::Constant:
  case Kind::View:
    return true;
  case Kind::Elementwise:
    return consumer != Kind::Other;
  case Kind::Rows:
    return consumer != Kind::Other && consumer != Kind::Product;
  case Kind::Product:
    // With its columns split in two by a view, a product runs in narrower
    // tiles; the view goes to its own readers instead.
    return consumer == Kind::Elementwise;
  case Kind::Other:
    return false;
  }
  llvm_unreachable("covered switch");
}

/// The merged kernel, or null.
KernelOp FunctionFuser::tryMerge(KernelOp producer, KernelOp consumer) {
  KernelClass from = classOf(producer), to = classOf(consumer);
  bool free = from.isFree();
  if (!mayFit(from.kind, to.kind) || refused[producer].contains(consumer))
    return nullptr;
  if (from.numOps + to.numOps > maxOps || !allow(producer, consumer, free))
    return nullptr;
  MergedKernel merged(producer, consumer, /*keepsProducer=*/free);
  KernelOp kernel = merged.getKernel();
  if (hasReshape(kernel))
    foldReshapes(kernel);
  KernelClass both = classifyKernel(kernel);
  bool fits = kernel.getInputs().size() + kernel.getNumResults() <= maxOperands;
  // A constant does no harm where there is no nest either.
  bool good = both.isOneNest() || both.isFree() ||
              (from.kind == KernelClass::Kind::Constant &&
               to.kind == KernelClass::Kind::Other);
  if (!fits || !good) {
    merged.discard();
    refused[producer].insert(consumer);
    return nullptr;
  }
  // The memory of erased ops is used again: what is known of `kernel` is
  // overwritten, what others know of it goes when its makers do.
  for (KernelOp old : {producer, consumer})
    for (Value input : old.getInputs())
      if (Operation *maker = input.getDefiningOp())
        refused[maker].erase(old);
  depths[kernel] = depths.lookup(consumer);
  phaseOf[kernel] = phaseOf.lookup(consumer);
  classes[kernel] = both;
  refused.erase(kernel);
  merged.commit();
  return kernel;
}

KernelOp FunctionFuser::mergeOnce(KernelOp consumer) {
  llvm::SmallSetVector<Operation *, 8> producers;
  for (Value input : consumer.getInputs())
    if (auto producer = input.getDefiningOp<KernelOp>())
      producers.insert(producer);
  for (Operation *producer : producers)
    if (KernelOp merged = tryMerge(cast<KernelOp>(producer), consumer))
      return merged;
  return nullptr;
}

/// Ops that flatten their operands compute in the unflattened space instead,
/// where that makes one nest of them.
void FunctionFuser::foldReshapesInside() {
  SmallVector<KernelOp> kernels;
  for (KernelOp kernel : block.getOps<KernelOp>())
    if (hasReshape(kernel) && !classOf(kernel).isFree())
      kernels.push_back(kernel);
  for (KernelOp kernel : kernels) {
    KernelOp folded = cast<KernelOp>(OpBuilder(kernel).clone(*kernel));
    foldReshapes(folded);
    KernelClass kind = classifyKernel(folded);
    if (!kind.isOneNest()) {
      folded.erase();
      continue;
    }
    kernel.replaceAllUsesWith(folded.getResults());
    classes.erase(kernel);
    kernel.erase();
    classes[folded] = kind;
  }
}

/// An elementwise kernel between a product that must be stored anyhow and a
/// reduction goes to the reduction: as an epilogue it would have to be stored
/// as well.
void FunctionFuser::feedReductions() {
  Operation *next;
  for (Operation *op = &block.front(); op; op = next) {
    next = op->getNextNode();
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel || classOf(kernel).kind != KernelClass::Kind::Elementwise ||
        kernel.use_empty() || !llvm::all_equal(kernel->getUsers()))
      continue;
    auto reader = dyn_cast<KernelOp>(*kernel->user_begin());
    if (!reader || classOf(reader).kind != KernelClass::Kind::Rows)
      continue;
    bool stored = true, hasProduct = false;
    for (Value input : kernel.getInputs()) {
      auto maker = input.getDefiningOp<KernelOp>();
      if (!maker || classOf(maker).kind != KernelClass::Kind::Product)
        continue;
      hasProduct = true;
      stored &= llvm::any_of(input.getUsers(),
                             [&](Operation *user) { return user != kernel; });
    }
    if (!hasProduct || !stored)
      continue;
    bool readerIsNext = next == reader;
    if (KernelOp merged = tryMerge(kernel, reader); merged && readerIsNext)
      next = merged;
  }
}

void FunctionFuser::run() {
  foldReshapesInside();
  Phases phases(cast<func::FuncOp>(block.getParentOp()));
  for (Operation &op : block) {
    phaseOf[&op] = phases.of(&op);
    unsigned depth = 0;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        depth = std::max(depth, depths.lookup(maker));
    depths[&op] = depth + (isCommunication(&op) ? 1 : 0);
  }
  feedReductions();
  bool changed = true;
  while (changed) {
    changed = false;
    // Merging erases ops at and before the consumer only, and moves others
    // behind.
    for (Operation *op = &block.front(); op;) {
      auto kernel = dyn_cast<KernelOp>(op);
      op = op->getNextNode();
      while (kernel && (kernel = mergeOnce(kernel))) {
        changed = true;
        op = kernel->getNextNode();
      }
    }
  }
}

namespace {
struct FuseKernelsPass : comm::impl::FuseKernelsPassBase<FuseKernelsPass> {
  using FuseKernelsPassBase::FuseKernelsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        FunctionFuser(function, maxOps, maxOperands).run();
  }
};
} // namespace
