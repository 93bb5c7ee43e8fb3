//===- Shapes.cpp - operators that move elements --------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What computes no element: reshapes of all kinds, transpose, expand, and the
// questions about a shape. On known elements the reshapes are folded.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <numeric>

using namespace mlir;
using namespace oneflow::importer;
using namespace oneflow;

namespace {

using Extents = SmallVector<int64_t>;
using ShapeRule = FailureOr<Extents> (*)(NodeImporter &);

LogicalResult buildReshape(NodeImporter &node, ShapeRule rule) {
  FailureOr<Extents> shape = rule(node);
  if (failed(shape))
    return failure();
  if (node.inputType(0).getShape() == ArrayRef<int64_t>(*shape))
    return node.forwardInput(0);
  Value x = node.input(0);
  return x ? node.setResult(node.reshape(x, *shape)) : failure();
}

FailureOr<bool> fold(NodeImporter &node, ShapeRule rule) {
  FailureOr<Extents> shape = rule(node);
  FailureOr<HostTensorRef> data = node.knownInput(0);
  if (failed(shape) || failed(data) ||
      failed(node.setData((*data)->reshaped(*shape))))
    return failure();
  return true;
}

FailureOr<Extents> reshapeRule(NodeImporter &node) {
  FailureOr<int64_t> allowZero =
      node.opset() >= 14 ? node.intAttribute("allowzero", 0) : int64_t(0);
  FailureOr<std::vector<int64_t>> asked = node.constantInts(1, "shape");
  if (failed(allowZero) || failed(asked))
    return failure();
  ArrayRef<int64_t> from = node.inputType(0).getShape();
  Extents shape(asked->begin(), asked->end());
  auto refuse = [&](const llvm::Twine &why) {
    return node.error() << "cannot reshape " << node.inputType(0) << " to ["
                        << ArrayRef<int64_t>(*asked) << "]: " << why;
  };
  int64_t inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !*allowZero) {
      if (i >= from.size())
        return refuse("extent " + llvm::Twine(i) +
                      " is to be copied, but the input has rank " +
                      llvm::Twine(from.size()));
      shape[i] = from[i];
    } else if (shape[i] == -1) {
      if (inferred >= 0)
        return refuse("only one extent can be -1");
      inferred = i;
    } else if (shape[i] < 0) {
      return refuse("negative extent " + llvm::Twine(shape[i]));
    }
  }
  int64_t count = *countElements(from);
  if (inferred >= 0) {
    shape[inferred] = 1;
    std::optional<int64_t> others = countElements(shape);
    if (!others || *others == 0 || count % *others)
      return refuse("no extent for -1 makes " + llvm::Twine(count) +
                    " elements");
    shape[inferred] = count / *others;
  }
  if (countElements(shape) != count)
    return refuse("the numbers of elements differ");
  return shape;
}

/// Axes as an attribute, or as an input since opset 13. Nothing where there are
/// none.
FailureOr<std::optional<std::vector<int64_t>>> readAxes(NodeImporter &node) {
  if (node.opset() < 13)
    return node.intsAttribute("axes");
  if (!node.hasInput(1))
    return std::optional<std::vector<int64_t>>();
  FailureOr<std::vector<int64_t>> axes = node.constantInts(1, "axes");
  if (failed(axes))
    return failure();
  return std::optional(*axes);
}

FailureOr<Extents> squeezeRule(NodeImporter &node) {
  auto given = readAxes(node);
  if (failed(given))
    return failure();
  ArrayRef<int64_t> from = node.inputType(0).getShape();
  std::vector<int64_t> axes;
  if (*given) {
    auto normalized = node.normalizeAxes(**given, from.size());
    if (failed(normalized))
      return failure();
    axes = *normalized;
    for (int64_t axis : axes)
      if (from[axis] != 1)
        return node.error() << "axis " << axis << " of " << node.inputType(0)
                            << " has extent " << from[axis] << ", expected 1";
  } else {
    for (size_t axis = 0; axis < from.size(); ++axis)
      if (from[axis] == 1)
        axes.push_back(axis);
  }
  Extents shape;
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      shape.push_back(from[axis]);
  return shape;
}

FailureOr<Extents> unsqueezeRule(NodeImporter &node) {
  auto given = readAxes(node);
  if (failed(given))
    return failure();
  if (!*given)
    return node.error() << "its axes are missing";
  ArrayRef<int64_t> from = node.inputType(0).getShape();
  size_t rank = from.size() + (*given)->size();
  if (rank > kMaxRank)
    return node.error() << "a tensor of rank " << rank
                        << " is not supported, expected " << kMaxRank
                        << " at most";
  auto axes = node.normalizeAxes(**given, rank);
  if (failed(axes))
    return failure();
  Extents shape(from);
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return shape;
}

FailureOr<Extents> flattenRule(NodeImporter &node) {
  FailureOr<int64_t> axis = node.intAttribute("axis", 1);
  if (failed(axis))
    return failure();
  ArrayRef<int64_t> from = node.inputType(0).getShape();
  axis = node.normalizeAxis(*axis, from.size(), /*end=*/true);
  if (failed(axis))
    return failure();
  return Extents{*countElements(from.take_front(*axis)),
                 *countElements(from.drop_front(*axis))};
}

} // namespace

LogicalResult importer::importReshape(NodeImporter &node) {
  return buildReshape(node, reshapeRule);
}
LogicalResult importer::importSqueeze(NodeImporter &node) {
  return buildReshape(node, squeezeRule);
}
LogicalResult importer::importUnsqueeze(NodeImporter &node) {
  return buildReshape(node, unsqueezeRule);
}
LogicalResult importer::importFlatten(NodeImporter &node) {
  return buildReshape(node, flattenRule);
}
FailureOr<bool> importer::foldReshape(NodeImporter &node) {
  return fold(node, reshapeRule);
}
FailureOr<bool> importer::foldSqueeze(NodeImporter &node) {
  return fold(node, squeezeRule);
}
FailureOr<bool> importer::foldUnsqueeze(NodeImporter &node) {
  return fold(node, unsqueezeRule);
}
FailureOr<bool> importer::foldFlatten(NodeImporter &node) {
  return fold(node, flattenRule);
}

LogicalResult importer::importIdentity(NodeImporter &node) {
  return node.forwardInput(0);
}

LogicalResult importer::importTranspose(NodeImporter &node) {
  auto given = node.intsAttribute("perm");
  if (failed(given))
    return failure();
  RankedTensorType type = node.inputType(0);
  std::vector<int64_t> permutation(type.getRank());
  std::iota(permutation.begin(), permutation.end(), 0);
  const std::vector<int64_t> identity = permutation;
  if (*given)
    permutation = **given;
  else
    std::reverse(permutation.begin(), permutation.end());
  std::vector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  if (sorted != identity)
    return node.error() << "perm [" << ArrayRef<int64_t>(permutation)
                        << "] is no permutation of the dimensions of " << type;
  if (permutation == identity)
    return node.forwardInput(0);
  Value x = node.input(0);
  if (!x)
    return failure();
  Extents shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return node.setResult(
      TransposeOp::create(node.builder(), node.loc(),
                          RankedTensorType::get(shape, type.getElementType()),
                          x, node.builder().getDenseI64ArrayAttr(permutation),
                          FlatSymbolRefAttr(), SignatureAttr()));
}

FailureOr<SmallVector<int64_t>> importer::readExpand(NodeImporter &node) {
  FailureOr<std::vector<int64_t>> asked = node.constantInts(1, "shape");
  if (failed(asked))
    return failure();
  for (int64_t extent : *asked)
    if (extent < 0)
      return node.error() << "negative extent " << extent << " in its shape";
  return node.broadcastShapes(node.inputType(0).getShape(), *asked);
}

LogicalResult importer::importExpand(NodeImporter &node) {
  auto shape = readExpand(node);
  if (failed(shape))
    return failure();
  if (node.inputType(0).getShape() == ArrayRef<int64_t>(*shape))
    return node.forwardInput(0);
  Value x = node.input(0);
  return x ? node.setResult(node.broadcast(x, *shape)) : failure();
}

LogicalResult importer::importShape(NodeImporter &node) {
  ArrayRef<int64_t> shape = node.inputType(0).getShape();
  int64_t rank = shape.size();
  FailureOr<int64_t> start =
      node.opset() >= 15 ? node.intAttribute("start", 0) : int64_t(0);
  FailureOr<int64_t> end =
      node.opset() >= 15 ? node.intAttribute("end", rank) : rank;
  if (failed(start) || failed(end))
    return failure();
  // Unlike other axes these are clamped.
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t first = clamp(*start), last = std::max(first, clamp(*end));
  return node.setData(HostTensor::vector(node.builder().getContext(),
                                         shape.slice(first, last - first)));
}

LogicalResult importer::importSize(NodeImporter &node) {
  int64_t count = node.inputType(0).getNumElements();
  return node.setData(
      HostTensor::vector(node.builder().getContext(), {count}).reshaped({}));
}
