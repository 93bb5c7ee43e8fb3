//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: the magic "\x93NUMPY", a version, the size of a header, the
// header (a Python dict literal, padded) and the data.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Npy.h"
#include "oneflow/TensorIO/AtomicFile.h"

#include <cstring>

using namespace oneflow::tensorio;

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
/// NumPy itself has at most 64 dimensions.
constexpr size_t kMaxRank = 64;

struct DescrRow {
  const char *descr;
  DType dtype;
};

// NumPy's names without the byte order; the first of a dtype is written.
constexpr DescrRow kDescrs[] = {
    {"|b1", DType::Bool}, {"|i1", DType::I8},   {"<i2", DType::I16},
    {"<i4", DType::I32},  {"<i8", DType::I64},  {"|u1", DType::U8},
    {"<u2", DType::U16},  {"<u4", DType::U32},  {"<u8", DType::U64},
    {"<f2", DType::F16},  {"<V2", DType::BF16}, {"<f4", DType::F32},
    {"<f8", DType::F64}};

struct Header {
  std::string descr;
  bool fortranOrder = false;
  Shape shape;
};

/// A parser of the one kind of Python literal that headers are made of.
class HeaderParser {
public:
  HeaderParser(const char *begin, const char *end) : cursor(begin), end(end) {}

  /// Empty on success, else what is wrong.
  std::string parse(Header &header) {
    if (!take('{'))
      return "its header is not a Python dict";
    bool seen[3] = {false, false, false};
    while (!take('}')) {
      std::string key;
      if (!takeString(key) || !take(':'))
        return "its header is not a Python dict with string keys";
      int index = key == "descr"           ? 0
                  : key == "fortran_order" ? 1
                  : key == "shape"         ? 2
                                           : -1;
      if (index < 0 || seen[index])
        return "its header has an unknown or repeated key '" + key + "'";
      seen[index] = true;
      if (std::string wrong = parseValue(index, header); !wrong.empty())
        return wrong;
      if (!take(',')) {
        if (!take('}'))
          return "its header ends early";
        break;
      }
    }
    if (!seen[0] || !seen[1] || !seen[2])
      return "its header lacks 'descr', 'fortran_order' or 'shape'";
    skipSpace();
    return cursor == end ? "" : "its header has text behind the dict";
  }

private:
  std::string parseValue(int index, Header &header) {
    if (index == 0) {
      skipSpace();
      if (cursor != end && (*cursor == '[' || *cursor == '('))
        return "structured dtypes are not supported";
      return takeString(header.descr) ? "" : "its 'descr' is not a string";
    }
    if (index == 1) {
      header.fortranOrder = takeWord("True");
      return header.fortranOrder || takeWord("False")
                 ? ""
                 : "its 'fortran_order' is neither True nor False";
    }
    return takeShape(header.shape) ? "" : "its 'shape' is not a tuple of sizes";
  }

  void skipSpace() {
    while (cursor != end && (*cursor == ' ' || *cursor == '\n' ||
                             *cursor == '\t' || *cursor == '\r'))
      ++cursor;
  }

  bool take(char expected) {
    skipSpace();
    if (cursor == end || *cursor != expected)
      return false;
    ++cursor;
    return true;
  }

  bool takeWord(const char *word) {
    skipSpace();
    size_t size = std::strlen(word);
    if (static_cast<size_t>(end - cursor) < size ||
        std::memcmp(cursor, word, size) != 0)
      return false;
    cursor += size;
    return true;
  }

  bool takeString(std::string &text) {
    skipSpace();
    if (cursor == end || (*cursor != '\'' && *cursor != '"'))
      return false;
    const char *close = static_cast<const char *>(
        std::memchr(cursor + 1, *cursor, end - cursor - 1));
    if (!close)
      return false;
    text.assign(cursor + 1, close);
    cursor = close + 1;
    return true;
  }

  bool takeShape(Shape &shape) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t extent;
      if (shape.size() == kMaxRank || !takeInteger(extent))
        return false;
      shape.push_back(extent);
      if (!take(','))
        return take(')');
    }
    return true;
  }

  bool takeInteger(int64_t &value) {
    skipSpace();
    const char *begin = cursor;
    value = 0;
    for (; cursor != end && *cursor >= '0' && *cursor <= '9'; ++cursor) {
      if (cursor - begin >= 18)
        return false;
      value = value * 10 + (*cursor - '0');
    }
    // Python 2 wrote long integers with an L.
    bool any = cursor != begin;
    if (any && cursor != end && *cursor == 'L')
      ++cursor;
    return any;
  }

  const char *cursor;
  const char *end;
};

/// Empty on success, else what is wrong.
std::string dtypeOf(const std::string &descr, DType &dtype) {
  if (descr.size() < 2)
    return "unknown dtype '" + descr + "'";
  std::string rest = descr.substr(1);
  for (const DescrRow &row : kDescrs) {
    if (rest != row.descr + 1)
      continue;
    // '=' is the writer's own order, which a file should not hold.
    if (descr[0] != '<' && descr[0] != '|' && dtypeSize(row.dtype) > 1)
      return "dtype '" + descr + "' is not little-endian";
    dtype = row.dtype;
    return "";
  }
  return "dtype '" + descr + "' is not supported";
}

/// Row-major bytes from column-major ones.
Bytes toRowMajor(const uint8_t *source, size_t elementBytes, const Shape &shape,
                 size_t bytes) {
  Bytes target(bytes);
  if (bytes == 0)
    return target;
  std::vector<size_t> strides(shape.size());
  size_t stride = elementBytes;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= static_cast<size_t>(shape[i]);
  }
  Shape index(shape.size(), 0);
  size_t offset = 0;
  for (size_t position = 0; position < bytes; position += elementBytes) {
    std::memcpy(target.data() + position, source + offset, elementBytes);
    for (size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i])
        break;
      offset -= strides[i] * static_cast<size_t>(shape[i]);
      index[i] = 0;
    }
  }
  return target;
}

} // namespace

Expected<Tensor> oneflow::tensorio::parseNpy(const uint8_t *data, size_t bytes,
                                             const std::string &name) {
  auto wrong = [&](const std::string &what) {
    return Error{"'" + name + "' is not a readable .npy file: " + what};
  };
  if (bytes < kMagicBytes + 4 || std::memcmp(data, kMagic, kMagicBytes) != 0)
    return wrong("it does not begin with NumPy's magic and version");
  int major = data[6];
  if (major < 1 || major > 3 || data[7] != 0)
    return wrong("expected version 1.0, 2.0 or 3.0, got: " +
                 std::to_string(major) + "." + std::to_string(data[7]));
  size_t sizeBytes = major == 1 ? 2 : 4;
  size_t begin = kMagicBytes + 2 + sizeBytes;
  if (bytes < begin)
    return wrong("it ends within the header");
  size_t headerBytes = 0;
  for (size_t i = 0; i < sizeBytes; ++i)
    headerBytes |= size_t(data[kMagicBytes + 2 + i]) << (8 * i);
  if (headerBytes > bytes - begin)
    return wrong("it ends within the header");

  Header header;
  const char *text = reinterpret_cast<const char *>(data) + begin;
  if (std::string what = HeaderParser(text, text + headerBytes).parse(header);
      !what.empty())
    return wrong(what);
  DType dtype;
  if (std::string what = dtypeOf(header.descr, dtype); !what.empty())
    return wrong(what);
  std::optional<TensorSize> size = tensorSize(dtype, header.shape);
  size_t dataBytes = bytes - begin - headerBytes;
  if (!size || size->bytes != dataBytes)
    return wrong("expected the data of " + describe(dtype, header.shape) +
                 (size ? ", " + std::to_string(size->bytes) + " bytes" : "") +
                 ", got: " + std::to_string(dataBytes) + " bytes");

  const uint8_t *begins = data + begin + headerBytes;
  if (header.fortranOrder && header.shape.size() > 1)
    return Tensor{
        dtype, header.shape,
        toRowMajor(begins, dtypeSize(dtype), header.shape, dataBytes)};
  return Tensor{dtype, header.shape, Bytes(begins, begins + dataBytes)};
}

Expected<Tensor> oneflow::tensorio::readNpy(const std::string &path) {
  Expected<Bytes> contents = readFile(path);
  if (!contents.ok())
    return contents.error();
  return parseNpy(contents->data(), contents->size(), path);
}

Bytes oneflow::tensorio::encodeNpy(const Tensor &tensor) {
  const char *descr = "";
  for (const DescrRow &row : kDescrs)
    if (row.dtype == tensor.dtype)
      descr = row.descr;
  std::string header = std::string("{'descr': '") + descr +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape)
    header += std::to_string(extent) + ", ";
  // (3, 4) and (3,), as Python writes tuples.
  if (tensor.shape.size() == 1)
    header.pop_back();
  else if (tensor.shape.size() > 1)
    header.resize(header.size() - 2);
  header += "), }";
  // The data begins on a multiple of 64 bytes; a newline ends the header.
  size_t before = kMagicBytes + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';

  Bytes contents(kMagic, kMagic + kMagicBytes);
  contents.reserve(before + header.size() + tensor.bytes.size());
  contents.push_back(1);
  contents.push_back(0);
  contents.push_back(header.size() & 0xff);
  contents.push_back((header.size() >> 8) & 0xff);
  contents.insert(contents.end(), header.begin(), header.end());
  contents.insert(contents.end(), tensor.bytes.begin(), tensor.bytes.end());
  return contents;
}

Status oneflow::tensorio::writeNpy(const std::string &path,
                                   const Tensor &tensor) {
  if (!isConsistent(tensor))
    return Error{"cannot write '" + path +
                 "': the tensor's bytes are not those "
                 "of " +
                 describe(tensor.dtype, tensor.shape)};
  return writeFile(path, encodeNpy(tensor));
}
