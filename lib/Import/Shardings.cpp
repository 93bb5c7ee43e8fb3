//===- Shardings.cpp - how a model says to spread itself ------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multi-device annotations of IR version 11: ModelProto.configuration and
// NodeProto.device_configurations. What they say of a tensor is put on the ops
// that have it as an operand or result; the mesh that it must fit is not known
// yet.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "oneflow/Dialect/OneFlow/IR/OneFlow.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace oneflow;
using namespace oneflow::importer;

LogicalResult GraphImporter::chooseConfiguration() {
  const std::string &wanted = options.deviceConfiguration;
  const auto &known = model.proto.configuration();
  auto error = [&] { return emitError(model.location(builder.getContext())); };
  auto names = [&] {
    std::vector<std::string> list;
    for (const ::onnx::DeviceConfigurationProto &one : known)
      list.push_back(one.name() + " (" + std::to_string(one.num_devices()) +
                     " devices)");
    return llvm::join(list, ", ");
  };
  if (wanted == "none")
    return success();
  if (wanted.empty() && known.empty())
    return success();
  llvm::StringSet<> seen;
  for (const ::onnx::DeviceConfigurationProto &one : known)
    if (!seen.insert(one.name()).second)
      return error() << "the model has two device configurations '"
                     << one.name() << "'; nodes cannot say which they mean";
  if (wanted.empty() && known.size() > 1)
    return error() << "the model has several device configurations: " << names()
                   << "; choose one with --device-configuration NAME, or none";
  for (const ::onnx::DeviceConfigurationProto &one : known)
    if (wanted.empty() || one.name() == wanted)
      configuration = &one;
  if (!configuration)
    return error() << "--device-configuration " << wanted << ": the model has "
                   << (known.empty() ? "none" : names());
  if (configuration->num_devices() < 1)
    return error() << "device configuration '" << configuration->name()
                   << "': expected at least 1 device, got "
                   << configuration->num_devices();
  if (configuration->device_size() > configuration->num_devices())
    return error() << "device configuration '" << configuration->name()
                   << "': expected a name for each of its "
                   << configuration->num_devices() << " devices at most, got "
                   << configuration->device_size();
  return success();
}

LogicalResult GraphImporter::checkConfigurations(const ::onnx::NodeProto &node,
                                                 int index) {
  if (options.deviceConfiguration == "none")
    return success();
  const auto &known = model.proto.configuration();
  for (const ::onnx::NodeDeviceConfigurationProto &own :
       node.device_configurations()) {
    const std::string &id = own.configuration_id();
    if (llvm::any_of(known, [&](const ::onnx::DeviceConfigurationProto &one) {
          return one.name() == id;
        }))
      continue;
    std::string name = nodeName(node, index);
    InFlightDiagnostic error =
        emitError(model.location(builder.getContext(), name, index))
        << "node '" << name << "': says how it lies in device configuration '"
        << id << "', the model has "
        << (known.empty() ? "no configuration" : "only: ");
    llvm::interleaveComma(known, error,
                          [&](const ::onnx::DeviceConfigurationProto &one) {
                            error << one.name();
                          });
    return error << "; --device-configuration none ignores all of them";
  }
  return success();
}

/// The dimension of a tensor that a ShardedDimProto cuts; the reason in `error`
/// where it cannot be expressed.
static std::optional<sbp::ShardedDim>
convertDim(const ::onnx::ShardedDimProto &dim, RankedTensorType type,
           std::string &error) {
  int64_t rank = type.getRank();
  sbp::ShardedDim result;
  result.dim = dim.axis() < 0 ? dim.axis() + rank : dim.axis();
  if (result.dim < 0 || result.dim >= rank) {
    error = "expected an axis of a tensor of rank " + std::to_string(rank) +
            ", got " + std::to_string(dim.axis());
    return std::nullopt;
  }
  // A dimension may be fused of several; only a cut of the outermost that has
  // more than one part leaves contiguous shards.
  int64_t extent = type.getDimSize(result.dim), product = 1;
  bool isCut = false, isSized = true;
  for (auto [at, part] : llvm::enumerate(dim.simple_sharding())) {
    int64_t size = part.has_dim_value() ? part.dim_value() : 0;
    if (dim.simple_sharding_size() == 1 && !part.has_dim_value())
      size = extent;
    isSized &= size > 0;
    size = std::max<int64_t>(size, 1);
    if (__builtin_mul_overflow(product, size, &product)) {
      error = "the dim_values of axis " + std::to_string(dim.axis()) +
              " have a product that is too large";
      return std::nullopt;
    }
    if (part.num_shards() < 1) {
      error = "expected at least 1 shard of axis " +
              std::to_string(dim.axis()) + ", got " +
              std::to_string(part.num_shards());
      return std::nullopt;
    }
    if (isCut)
      result.block *= size;
    if (part.num_shards() == 1)
      continue;
    if (isCut || (at > 0 && product != size)) {
      error = "only the outermost of the dimensions that make up axis " +
              std::to_string(dim.axis()) + " can be sharded";
      return std::nullopt;
    }
    isCut = true;
    result.shards = part.num_shards();
  }
  if (dim.simple_sharding_size() > 0 && (!isSized || product != extent)) {
    error = "expected dim_values whose product is the extent " +
            std::to_string(extent) + " of axis " + std::to_string(dim.axis()) +
            ", got " + (isSized ? std::to_string(product) : "symbolic ones");
    return std::nullopt;
  }
  return result;
}

/// The sharding of a tensor; the reason in `error` where it makes no sense.
static std::optional<sbp::Sharding>
convert(const ::onnx::ShardingSpecProto &spec, RankedTensorType type,
        int64_t devices, std::string &error) {
  sbp::Sharding sharding;
  for (int64_t device : spec.device()) {
    std::vector<int64_t> group = {device};
    for (const ::onnx::IntIntListEntryProto &entry :
         spec.index_to_device_group_map())
      if (entry.key() == device)
        group.assign(entry.value().begin(), entry.value().end());
    sharding.groups.push_back(std::move(group));
  }
  for (const ::onnx::ShardedDimProto &dim : spec.sharded_dim()) {
    std::optional<sbp::ShardedDim> converted = convertDim(dim, type, error);
    if (!converted)
      return std::nullopt;
    sharding.dims.push_back(*converted);
  }
  sbp::Shape shape(type.getShape().begin(), type.getShape().end());
  if (auto reason = sbp::checkSharding(sharding, shape, devices)) {
    error = *reason;
    return std::nullopt;
  }
  return sharding;
}

static void addSharding(Operation *op, bool isOperand, unsigned index,
                        const sbp::Sharding &sharding, int64_t devices) {
  SmallVector<Attribute> all;
  if (auto known = op->getAttrOfType<ArrayAttr>(kShardingAttrName))
    all.append(known.begin(), known.end());
  all.push_back(
      ShardingAttr::get(op->getContext(), isOperand, index, sharding, devices));
  op->setAttr(kShardingAttrName, ArrayAttr::get(op->getContext(), all));
}

LogicalResult GraphImporter::importShardings(const ::onnx::NodeProto &node,
                                             int index, Operation *before) {
  if (failed(checkConfigurations(node, index)))
    return failure();
  if (!configuration)
    return success();
  std::string name = nodeName(node, index);
  Location loc = model.location(builder.getContext(), name, index);
  auto isOwn = [&](Operation *op) {
    return !isa<ReadOp, InputOp, ConstantOp>(op);
  };
  SmallVector<Operation *> ops;
  for (Operation &op :
       llvm::make_range(before ? std::next(before->getIterator())
                               : builder.getInsertionBlock()->begin(),
                        builder.getInsertionBlock()->end()))
    if (isOwn(&op))
      ops.push_back(&op);

  for (const ::onnx::NodeDeviceConfigurationProto &own :
       node.device_configurations()) {
    if (own.configuration_id() != configuration->name())
      continue;
    for (const ::onnx::ShardingSpecProto &spec : own.sharding_spec()) {
      const std::string &tensor = spec.tensor_name();
      std::string what = "node '" + name + "': sharding of '" + tensor + "': ";
      bool isOperand =
          !tensor.empty() && llvm::is_contained(node.input(), tensor);
      bool isResult =
          !tensor.empty() && llvm::is_contained(node.output(), tensor);
      if (!isOperand && !isResult) {
        std::vector<std::string> names(node.input().begin(),
                                       node.input().end());
        names.insert(names.end(), node.output().begin(), node.output().end());
        return emitError(loc)
               << what << "the node has no such input or output, it has "
               << llvm::join(names, ", ");
      }
      GraphValue &value = find(tensor);
      std::string reason;
      std::optional<sbp::Sharding> sharding =
          convert(spec, value.type, configuration->num_devices(), reason);
      if (!sharding)
        return emitError(loc) << what << reason;

      bool isHeard = false;
      if (value.value && isOperand)
        for (Operation *op : ops)
          for (OpOperand &operand : op->getOpOperands())
            if (operand.get() == value.value) {
              addSharding(op, true, operand.getOperandNumber(), *sharding,
                          configuration->num_devices());
              isHeard = true;
            }
      auto result = dyn_cast_or_null<OpResult>(value.value);
      if (result && isResult && llvm::is_contained(ops, result.getOwner())) {
        addSharding(result.getOwner(), false, result.getResultNumber(),
                    *sharding, configuration->num_devices());
        isHeard = true;
      }
      if (!isHeard)
        emitWarning(loc) << what
                         << "has no effect, since nothing is computed with it "
                            "when the model runs";
    }
  }
  return success();
}
