//===- PackVariables.cpp - weights in panels ------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PackVariablesPass in Passes.td.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Dialect/Actor/Transforms/Passes.h"
#include "oneflow/Dialect/Actor/Transforms/TokenGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

namespace oneflow::actor {
#define GEN_PASS_DEF_PACKVARIABLESPASS
#include "oneflow/Dialect/Actor/Transforms/Passes.h.inc"
} // namespace oneflow::actor

using namespace mlir;
using namespace oneflow::actor;

namespace {

/// A kernel's argument.
using Argument = std::pair<func::FuncOp, unsigned>;

/// One variable, in all graphs.
struct Candidate {
  SmallVector<VariableOp> uses;
  llvm::SmallSetVector<Argument, 2> arguments;
  bool packable = true;
};

class Packer {
public:
  Packer(ModuleOp module, unsigned vectorBytes)
      : module(module), symbols(module), vectorBytes(vectorBytes) {}
  void run();

private:
  void collect(VariableOp variable);
  /// The dimension along which the argument is cut into panels; nullopt when it
  /// is used otherwise than as the right operand of one product.
  static std::optional<unsigned> panelDim(Argument argument);
  void rejectSharedKernels();
  void pack(Candidate &candidate);

  ModuleOp module;
  SymbolTable symbols;
  unsigned vectorBytes;
  llvm::MapVector<Attribute, Candidate> candidates;
};

} // namespace

std::optional<unsigned> Packer::panelDim(Argument argument) {
  BlockArgument value = argument.first.getArgument(argument.second);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 2 || !type.hasStaticShape() ||
      !value.hasOneUse() ||
      !(type.getElementType().isF32() || type.getElementType().isF64()))
    return std::nullopt;
  auto product = dyn_cast<linalg::MatmulOp>(*value.user_begin());
  if (!product || product.getDpsInputOperand(1)->get() != value)
    return std::nullopt;
  // The panels lie along the columns of the result: its last dimension.
  AffineMap result =
      product.getMatchingIndexingMap(product.getDpsInitOperand(0));
  AffineMap right =
      product.getMatchingIndexingMap(product.getDpsInputOperand(1));
  AffineExpr columns = result.getResult(result.getNumResults() - 1);
  for (auto [dim, expr] : llvm::enumerate(right.getResults()))
    if (expr == columns)
      return dim;
  return std::nullopt;
}

void Packer::collect(VariableOp variable) {
  Candidate &candidate = candidates[variable.getVariableAttr()];
  candidate.uses.push_back(variable);
  for (OpOperand &use : variable.getResult().getUses()) {
    auto launch = dyn_cast<LaunchOp>(use.getOwner());
    unsigned index = use.getOperandNumber();
    auto kernel = launch ? symbols.lookup<func::FuncOp>(launch.getKernel())
                         : func::FuncOp();
    if (!kernel || index >= launch.getFirstResult() ||
        !panelDim({kernel, index})) {
      candidate.packable = false;
      return;
    }
    candidate.arguments.insert({kernel, index});
  }
}

/// A kernel that several launches share can take an argument in panels only
/// where all of them bring it in panels, along one dimension.
void Packer::rejectSharedKernels() {
  bool changed = true;
  while (changed) {
    changed = false;
    module.walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
      for (auto [index, buffer] : llvm::enumerate(launch.getBuffers())) {
        auto variable = buffer.getDefiningOp<VariableOp>();
        if (variable && candidates[variable.getVariableAttr()].packable)
          continue;
        for (auto &[symbol, candidate] : candidates) {
          Argument here(kernel, static_cast<unsigned>(index));
          if (candidate.packable && candidate.arguments.contains(here)) {
            candidate.packable = false;
            changed = true;
          }
        }
      }
    });
  }
}

void Packer::pack(Candidate &candidate) {
  if (!candidate.packable || candidate.arguments.empty())
    return;
  Argument first = *candidate.arguments.begin();
  std::optional<unsigned> dim = panelDim(first);
  auto type =
      cast<RankedTensorType>(first.first.getArgumentTypes()[first.second]);
  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  int64_t panel = 2 * vectorBytes / elementBytes;
  int64_t bytes = llvm::alignTo(type.getDimSize(*dim), panel) *
                  type.getDimSize(1 - *dim) * elementBytes;
  OpBuilder builder(module.getContext());
  IntegerAttr panelAttr = builder.getI64IntegerAttr(panel);
  IntegerAttr dimAttr = builder.getI64IntegerAttr(*dim);
  for (Argument argument : candidate.arguments) {
    func::FuncOp kernel = argument.first;
    kernel.setArgAttr(argument.second, "oneflow.panel", panelAttr);
    kernel.setArgAttr(argument.second, "oneflow.panel_dim", dimAttr);
  }
  for (VariableOp use : candidate.uses) {
    use.setPanelAttr(panelAttr);
    use.setPanelDimAttr(dimAttr);
    use.setBytes(bytes);
  }
}

void Packer::run() {
  module.walk([&](VariableOp variable) { collect(variable); });
  for (auto &[symbol, candidate] : candidates)
    for (Argument argument : candidate.arguments)
      if (panelDim(argument) != panelDim(candidate.arguments.front()))
        candidate.packable = false;
  rejectSharedKernels();
  for (auto &[symbol, candidate] : candidates)
    pack(candidate);
}

namespace {
struct PackVariablesPass
    : oneflow::actor::impl::PackVariablesPassBase<PackVariablesPass> {
  using PackVariablesPassBase::PackVariablesPassBase;
  void runOnOperation() override { Packer(getOperation(), vectorBytes).run(); }
};
} // namespace
