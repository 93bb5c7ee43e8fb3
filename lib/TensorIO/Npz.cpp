//===- Npz.cpp - NumPy's .npz archives ------------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The zip container is libzip's work, in memory on both sides: reading never
// follows a path out of the archive, and writing goes through AtomicFile.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/Npz.h"
#include "oneflow/TensorIO/AtomicFile.h"
#include "oneflow/TensorIO/Npy.h"

#include <memory>
#include <zip.h>

using namespace oneflow::tensorio;

namespace {

struct Discard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
  void operator()(zip_file_t *file) const { zip_fclose(file); }
  void operator()(zip_source_t *source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Entry = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

/// Deflate cannot do better than 1032:1, so a larger claim is damage, and is
/// refused before memory is taken for it.
constexpr uint64_t kMaxDeflateRatio = 1032;

Expected<Bytes> extract(zip_t *archive, zip_uint64_t index,
                        size_t archiveBytes) {
  zip_stat_t stat;
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if (zip_stat_index(archive, index, 0, &stat) != 0 ||
      (stat.valid & needed) != needed)
    return Error{"its directory is damaged"};
  if (stat.comp_size > archiveBytes ||
      stat.size / kMaxDeflateRatio > stat.comp_size)
    return Error{"its directory claims impossible sizes"};
  Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry)
    return Error{zip_strerror(archive)};
  Bytes contents(stat.size);
  uint64_t done = 0;
  while (done < stat.size) {
    zip_int64_t got =
        zip_fread(entry.get(), contents.data() + done, stat.size - done);
    if (got <= 0)
      return Error{got < 0 ? zip_file_strerror(entry.get()) : "it ends early"};
    done += static_cast<uint64_t>(got);
  }
  // Reading on to the end makes libzip compare the checksum.
  uint8_t behind;
  if (zip_fread(entry.get(), &behind, 1) != 0)
    return Error{"its data does not match its checksum or size"};
  return contents;
}

Error zipError(const std::string &path, const char *verb, zip_error_t &error) {
  Error result{"cannot " + std::string(verb) + " '" + path +
               "': " + zip_error_strerror(&error)};
  zip_error_fini(&error);
  return result;
}

/// The archive's bytes, out of a buffer source after the archive was closed.
Expected<Bytes> drain(zip_source_t *source, const std::string &path) {
  Error failed{"cannot write '" + path +
               "': " + zip_error_strerror(zip_source_error(source))};
  zip_stat_t stat;
  if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0)
    return failed;
  Bytes contents(stat.size);
  zip_int64_t got = zip_source_read(source, contents.data(), contents.size());
  zip_source_close(source);
  if (got < 0 || static_cast<uint64_t>(got) != stat.size)
    return failed;
  return contents;
}

} // namespace

Expected<TensorMap> oneflow::tensorio::parseNpz(const Bytes &contents,
                                                const std::string &name) {
  // libzip takes an empty file for an archive that is yet to be filled.
  if (contents.empty())
    return Error{"cannot read '" + name + "': it is empty"};
  zip_error_t error;
  zip_error_init(&error);
  Source source(
      zip_source_buffer_create(contents.data(), contents.size(), 0, &error));
  if (!source)
    return zipError(name, "read", error);
  Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY, &error));
  if (!archive)
    return zipError(name, "read", error);
  source.release(); // Now the archive's.

  TensorMap tensors;
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *entryName =
        zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    std::string key = entryName ? entryName : "";
    std::string full = name + ":" + key;
    Expected<Bytes> member =
        extract(archive.get(), static_cast<zip_uint64_t>(i), contents.size());
    if (!member.ok())
      return Error{"cannot read '" + full + "': " + member.message()};
    Expected<Tensor> tensor = parseNpy(member->data(), member->size(), full);
    if (!tensor.ok())
      return tensor.error();
    if (key.size() >= 4 && key.compare(key.size() - 4, 4, ".npy") == 0)
      key.resize(key.size() - 4);
    if (!tensors.emplace(key, std::move(*tensor)).second)
      return Error{"'" + name + "' holds '" + key + "' twice"};
  }
  return tensors;
}

Expected<TensorMap> oneflow::tensorio::readNpz(const std::string &path) {
  Expected<Bytes> contents = readFile(path);
  if (!contents.ok())
    return contents.error();
  return parseNpz(*contents, path);
}

Status oneflow::tensorio::writeNpz(const std::string &path,
                                   const TensorMap &tensors,
                                   NpzCompression compression) {
  // libzip reads the members when the archive is closed: they must outlive it.
  std::vector<Bytes> members;
  members.reserve(tensors.size());
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!source)
    return zipError(path, "write", error);
  Archive archive(zip_open_from_source(source.get(), ZIP_TRUNCATE, &error));
  if (!archive)
    return zipError(path, "write", error);
  // The archive owns one reference, `source` another, to read the result from.
  zip_source_keep(source.get());

  auto failed = [&] {
    return Error{"cannot write '" + path + "': " + zip_strerror(archive.get())};
  };
  zip_int32_t method =
      compression == NpzCompression::Stored ? ZIP_CM_STORE : ZIP_CM_DEFLATE;
  for (const auto &[name, tensor] : tensors) {
    if (!isConsistent(tensor))
      return Error{"cannot write '" + path + "': the bytes of '" + name +
                   "' are not those of " +
                   describe(tensor.dtype, tensor.shape)};
    members.push_back(encodeNpy(tensor));
    zip_source_t *member = zip_source_buffer(
        archive.get(), members.back().data(), members.back().size(), 0);
    if (!member)
      return failed();
    zip_int64_t index = zip_file_add(archive.get(), (name + ".npy").c_str(),
                                     member, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(member);
      return failed();
    }
    zip_uint64_t entry = static_cast<zip_uint64_t>(index);
    // A fixed time, so that the same tensors give the same file.
    if (zip_set_file_compression(archive.get(), entry, method, 0) != 0 ||
        zip_file_set_dostime(archive.get(), entry, 0, 0x21, 0) != 0)
      return failed();
  }
  if (tensors.empty())
    return Error{"cannot write '" + path + "': there are no tensors"};
  if (zip_close(archive.get()) != 0)
    return failed();
  archive.release(); // Closed.
  Expected<Bytes> contents = drain(source.get(), path);
  if (!contents.ok())
    return contents.error();
  return writeFile(path, *contents);
}
