//===- FoldLogic.cpp - comparisons and masks of known elements ------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What masks are made of: comparisons, logic, Where, Trilu and Expand.
//
//===----------------------------------------------------------------------===//

#include "BroadcastIndex.h"
#include "Operators.h"

#include <functional>

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

namespace {

FailureOr<bool> finish(NodeImporter &node, HostTensor result) {
  if (failed(node.setData(std::move(result))))
    return failure();
  return true;
}

/// Booleans from each pair of elements of two operands of one element type.
/// `compute` is given the operands and their indices.
template <typename Compute>
FailureOr<bool> foldPairs(NodeImporter &node, Compute compute) {
  FailureOr<HostTensorRef> lhs = node.knownInput(0), rhs = node.knownInput(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  if ((*lhs)->elementType() != (*rhs)->elementType())
    return node.error() << "its operands must have one element type, got "
                        << (*lhs)->type() << " and " << (*rhs)->type();
  auto shape = node.broadcastShapes((*lhs)->shape(), (*rhs)->shape());
  if (failed(shape))
    return failure();
  if (*countElements(*shape) > kFoldLimit)
    return false;
  HostTensor result = HostTensor::zeros(
      RankedTensorType::get(*shape, node.builder().getI1Type()));
  BroadcastIndex left((*lhs)->shape(), *shape), right((*rhs)->shape(), *shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.setInt(i, compute(**lhs, left(i), **rhs, right(i)));
  return finish(node, std::move(result));
}

/// `Compare` is a functor on two integers or two floats, false for NaN as it
/// is on IEEE numbers.
template <typename Compare> FailureOr<bool> foldCompare(NodeImporter &node) {
  return foldPairs(node, [](const HostTensor &lhs, int64_t l,
                            const HostTensor &rhs, int64_t r) {
    if (isa<FloatType>(lhs.elementType()))
      return Compare()(lhs.floatAt(l), rhs.floatAt(r));
    return Compare()(lhs.intAt(l), rhs.intAt(r));
  });
}

template <typename Combine> FailureOr<bool> foldLogic(NodeImporter &node) {
  for (unsigned i : {0u, 1u})
    if (failed(node.requireBoolean(i)))
      return failure();
  return foldPairs(node, [](const HostTensor &lhs, int64_t l,
                            const HostTensor &rhs, int64_t r) {
    return Combine()(lhs.intAt(l) != 0, rhs.intAt(r) != 0);
  });
}

} // namespace

FailureOr<bool> importer::foldEqual(NodeImporter &node) {
  return foldCompare<std::equal_to<>>(node);
}
FailureOr<bool> importer::foldLess(NodeImporter &node) {
  return foldCompare<std::less<>>(node);
}
FailureOr<bool> importer::foldLessOrEqual(NodeImporter &node) {
  return foldCompare<std::less_equal<>>(node);
}
FailureOr<bool> importer::foldGreater(NodeImporter &node) {
  return foldCompare<std::greater<>>(node);
}
FailureOr<bool> importer::foldGreaterOrEqual(NodeImporter &node) {
  return foldCompare<std::greater_equal<>>(node);
}
FailureOr<bool> importer::foldAnd(NodeImporter &node) {
  return foldLogic<std::logical_and<>>(node);
}
FailureOr<bool> importer::foldOr(NodeImporter &node) {
  return foldLogic<std::logical_or<>>(node);
}
FailureOr<bool> importer::foldXor(NodeImporter &node) {
  return foldLogic<std::not_equal_to<>>(node);
}

FailureOr<bool> importer::foldNot(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  if (failed(x) || failed(node.requireBoolean(0)))
    return failure();
  HostTensor result = HostTensor::zeros((*x)->type());
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.setInt(i, (*x)->intAt(i) == 0);
  return finish(node, std::move(result));
}

FailureOr<bool> importer::foldWhere(NodeImporter &node) {
  FailureOr<HostTensorRef> condition = node.knownInput(0);
  FailureOr<HostTensorRef> lhs = node.knownInput(1), rhs = node.knownInput(2);
  FailureOr<SmallVector<int64_t>> shape = readWhere(node);
  if (failed(condition) || failed(lhs) || failed(rhs) || failed(shape))
    return failure();
  if (*countElements(*shape) > kFoldLimit)
    return false;
  HostTensor result =
      HostTensor::zeros(RankedTensorType::get(*shape, (*lhs)->elementType()));
  BroadcastIndex test((*condition)->shape(), *shape);
  BroadcastIndex left((*lhs)->shape(), *shape), right((*rhs)->shape(), *shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.setRaw(i, (*condition)->intAt(test(i)) ? (*lhs)->rawAt(left(i))
                                                  : (*rhs)->rawAt(right(i)));
  return finish(node, std::move(result));
}

FailureOr<bool> importer::foldTrilu(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  FailureOr<Triangle> triangle = readTrilu(node);
  if (failed(x) || failed(triangle))
    return failure();
  HostTensor result = HostTensor::zeros((*x)->type());
  int64_t columns = (*x)->shape().back(), rows = (*x)->shape().end()[-2];
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    if (triangle->keeps(i / columns % rows, i % columns))
      result.setRaw(i, (*x)->rawAt(i));
  return finish(node, std::move(result));
}

FailureOr<bool> importer::foldExpand(NodeImporter &node) {
  FailureOr<HostTensorRef> x = node.knownInput(0);
  FailureOr<SmallVector<int64_t>> shape = readExpand(node);
  if (failed(x) || failed(shape))
    return failure();
  auto type = RankedTensorType::get(*shape, (*x)->elementType());
  if ((*x)->size() == 1 && type.getNumElements() > 0)
    return finish(node, HostTensor::splat(type, (*x)->rawAt(0)));
  if (type.getNumElements() > kFoldLimit)
    return false;
  HostTensor result = HostTensor::zeros(type);
  BroadcastIndex index((*x)->shape(), *shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.setRaw(i, (*x)->rawAt(index(i)));
  return finish(node, std::move(result));
}
