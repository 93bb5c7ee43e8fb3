//===- SafeTensors.cpp - .safetensors files -------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header is JSON, parsed by nlohmann's library without exceptions; all that
// it claims is checked against the file before a byte of data is touched.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/SafeTensors.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace oneflow::tensorio;
using nlohmann::json;

namespace {

constexpr size_t kPrefixBytes = 8;
/// The reference implementation's bound on the header.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
/// Deeper JSON than a header can need is refused before it is parsed, since the
/// parser recurses when it destroys values.
constexpr int kMaxDepth = 8;
constexpr char kMetadataKey[] = "__metadata__";

// In the order of DType.
constexpr const char *kNames[kDTypeCount] = {"BOOL", "I8",  "I16", "I32", "I64",
                                             "U8",   "U16", "U32", "U64", "F16",
                                             "BF16", "F32", "F64"};

bool isTooDeep(const char *begin, const char *end) {
  int depth = 0;
  bool inString = false;
  for (const char *c = begin; c != end; ++c) {
    if (inString) {
      if (*c == '\\' && c + 1 != end)
        ++c;
      else if (*c == '"')
        inString = false;
      continue;
    }
    if (*c == '"')
      inString = true;
    else if (*c == '{' || *c == '[')
      ++depth;
    else if (*c == '}' || *c == ']')
      --depth;
    if (depth > kMaxDepth)
      return true;
  }
  return false;
}

/// Empty when `value` is an array of sizes, else what is wrong.
std::string readSizes(const json &value, Shape &sizes) {
  if (!value.is_array())
    return "is not an array";
  for (const json &item : value) {
    if (!item.is_number_unsigned() ||
        item.get<uint64_t>() > uint64_t(INT64_MAX))
      return "holds something other than sizes";
    sizes.push_back(static_cast<int64_t>(item.get<uint64_t>()));
  }
  return "";
}

struct Range {
  uint64_t begin;
  uint64_t end;
  std::string name;
};

/// One tensor of the header. Empty on success, else what is wrong.
std::string readEntry(const std::string &name, const json &entry,
                      uint64_t dataBytes, Tensor &tensor, Range &range) {
  if (!entry.is_object())
    return "tensor '" + name + "' is not described by an object";
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key))
      return "tensor '" + name + "' lacks '" + key + "'";
  if (!entry["dtype"].is_string())
    return "the dtype of '" + name + "' is not a string";
  const std::string dtype = entry["dtype"].get<std::string>();
  const auto *found = std::find(std::begin(kNames), std::end(kNames), dtype);
  if (found == std::end(kNames))
    return "the dtype '" + dtype + "' of '" + name + "' is not supported";
  tensor.dtype = static_cast<DType>(found - std::begin(kNames));
  if (std::string what = readSizes(entry["shape"], tensor.shape); !what.empty())
    return "the shape of '" + name + "' " + what;
  Shape offsets;
  if (std::string what = readSizes(entry["data_offsets"], offsets);
      !what.empty())
    return "the data_offsets of '" + name + "' " + what;
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return "the data_offsets of '" + name + "' are not a range";
  range = {uint64_t(offsets[0]), uint64_t(offsets[1]), name};
  if (range.end > dataBytes)
    return "tensor '" + name + "' ends at byte " + std::to_string(range.end) +
           " of " + std::to_string(dataBytes) + " bytes of data";
  std::optional<TensorSize> size = tensorSize(tensor.dtype, tensor.shape);
  if (!size || size->bytes != range.end - range.begin)
    return "tensor '" + name + "' of " + describe(tensor.dtype, tensor.shape) +
           " does not fit its " + std::to_string(range.end - range.begin) +
           " bytes";
  return "";
}

/// Empty when the ranges cover all bytes once, else what is wrong.
std::string checkCover(std::vector<Range> &ranges, uint64_t dataBytes) {
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Range &range : ranges) {
    if (range.begin < covered)
      return "tensor '" + range.name + "' overlaps the one before it";
    if (range.begin > covered)
      return "there is a hole in the data before tensor '" + range.name + "'";
    covered = range.end;
  }
  return covered == dataBytes ? ""
                              : std::to_string(dataBytes - covered) +
                                    " bytes at the end belong to no tensor";
}

} // namespace

Expected<SafeTensors>
oneflow::tensorio::parseSafeTensors(const uint8_t *data, size_t bytes,
                                    const std::string &name) {
  auto wrong = [&](const std::string &what) {
    return Error{"'" + name + "' is not a valid .safetensors file: " + what};
  };
  if (bytes < kPrefixBytes)
    return wrong("it is shorter than 8 bytes");
  uint64_t headerBytes = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i)
    headerBytes |= uint64_t(data[i]) << (8 * i);
  if (headerBytes > kMaxHeaderBytes || headerBytes > bytes - kPrefixBytes)
    return wrong("its header claims " + std::to_string(headerBytes) + " bytes");
  const char *text = reinterpret_cast<const char *>(data) + kPrefixBytes;
  if (headerBytes == 0 || text[0] != '{')
    return wrong("its header does not begin with '{'");
  if (isTooDeep(text, text + headerBytes))
    return wrong("its header is nested too deeply");
  // A repeated key would silently hide a tensor; the parser reports keys as it
  // meets them.
  std::vector<std::string> names;
  auto collect = [&](int depth, json::parse_event_t event, json &parsed) {
    if (depth == 1 && event == json::parse_event_t::key)
      names.push_back(parsed.get<std::string>());
    return true;
  };
  json header = json::parse(text, text + headerBytes, collect,
                            /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object())
    return wrong("its header is not a JSON object");
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    return wrong("its header names '" + *twice + "' twice");

  SafeTensors file;
  const uint8_t *content = data + kPrefixBytes + headerBytes;
  uint64_t dataBytes = bytes - kPrefixBytes - headerBytes;
  std::vector<Range> ranges;
  for (const auto &[key, entry] : header.items()) {
    if (key == kMetadataKey) {
      if (!entry.is_object())
        return wrong("its __metadata__ is not an object");
      for (const auto &[metaKey, value] : entry.items()) {
        if (!value.is_string())
          return wrong("its __metadata__ holds something other than strings");
        file.metadata[metaKey] = value.get<std::string>();
      }
      continue;
    }
    Tensor tensor;
    Range range;
    if (std::string what = readEntry(key, entry, dataBytes, tensor, range);
        !what.empty())
      return wrong(what);
    ranges.push_back(range);
    file.tensors.emplace(key, std::move(tensor));
  }
  if (std::string what = checkCover(ranges, dataBytes); !what.empty())
    return wrong(what);
  // Only now, when no two tensors share bytes, can the copies not grow beyond
  // the file.
  for (const Range &range : ranges)
    file.tensors[range.name].bytes.assign(content + range.begin,
                                          content + range.end);
  return file;
}

Expected<SafeTensors>
oneflow::tensorio::readSafeTensors(const std::string &path) {
  Expected<Bytes> contents = readFile(path);
  if (!contents.ok())
    return contents.error();
  return parseSafeTensors(contents->data(), contents->size(), path);
}

Status oneflow::tensorio::writeSafeTensors(const std::string &path,
                                           const SafeTensors &file) {
  auto failed = [&](const std::string &what) {
    return Error{"cannot write '" + path + "': " + what};
  };
  json header = json::object();
  if (!file.metadata.empty())
    header[kMetadataKey] = file.metadata;
  // Wide elements first keeps every tensor aligned to its element.
  std::vector<const TensorMap::value_type *> order;
  for (const auto &item : file.tensors)
    order.push_back(&item);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    size_t left = dtypeSize(a->second.dtype);
    size_t right = dtypeSize(b->second.dtype);
    return left != right ? left > right : a->first < b->first;
  });
  uint64_t offset = 0;
  for (const auto *item : order) {
    const auto &[name, tensor] = *item;
    if (name == kMetadataKey)
      return failed("'__metadata__' cannot name a tensor");
    if (!isConsistent(tensor))
      return failed("the bytes of '" + name + "' are not those of " +
                    describe(tensor.dtype, tensor.shape));
    uint64_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", kNames[static_cast<size_t>(tensor.dtype)]},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Names that are no UTF-8 are replaced rather than thrown over.
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    return failed("its header would take " + std::to_string(text.size()) +
                  " bytes");

  Expected<AtomicFile> out = AtomicFile::create(path);
  if (!out.ok())
    return out.error();
  uint8_t prefix[kPrefixBytes];
  for (size_t i = 0; i < kPrefixBytes; ++i)
    prefix[i] = (uint64_t(text.size()) >> (8 * i)) & 0xff;
  if (Status status = out->write(prefix, kPrefixBytes); !status.ok())
    return status;
  if (Status status = out->write(text.data(), text.size()); !status.ok())
    return status;
  for (const auto *item : order) {
    const Bytes &bytes = item->second.bytes;
    if (Status status = out->write(bytes.data(), bytes.size()); !status.ok())
      return status;
  }
  return out->commit();
}
