//===- AtomicFile.cpp - whole files only ----------------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// POSIX: a temporary file of the same folder, so that the rename stays within
// one file system, and a synchronised folder, so that the rename survives a
// crash.
//
//===----------------------------------------------------------------------===//

#include "oneflow/TensorIO/AtomicFile.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace oneflow::tensorio;

namespace {

Error systemError(const char *what, const std::string &path) {
  int code = errno;
  return {"cannot " + std::string(what) + " '" + path +
          "': " + std::strerror(code)};
}

std::string parentFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

} // namespace

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  struct stat existing;
  bool exists = ::stat(path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    return Error{"cannot write '" + path + "': it is a folder"};
  // mkstemp would make a private file, where an ordinary one is wanted.
  static std::atomic<unsigned> counter{0};
  AtomicFile file;
  file.path = path;
  if (exists && !S_ISREG(existing.st_mode)) {
    // A rename would put a file in the place of the device or pipe.
    file.descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor < 0)
      return systemError("write", path);
    return file;
  }
  // A link stays one: what it points to is replaced.
  if (char *resolved = exists ? ::realpath(path.c_str(), nullptr) : nullptr) {
    file.path = resolved;
    std::free(resolved);
  }
  do {
    file.temporary = file.path + ".tmp." + std::to_string(::getpid()) + "." +
                     std::to_string(counter++);
    file.descriptor = ::open(file.temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file.descriptor < 0 && errno == EEXIST);
  if (file.descriptor < 0)
    return systemError("write", path);
  return file;
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  if (this != &other) {
    discard();
    path = std::move(other.path);
    temporary = std::move(other.temporary);
    descriptor = std::exchange(other.descriptor, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  descriptor = -1;
}

Status AtomicFile::write(const void *data, size_t bytes) {
  const char *cursor = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor, cursor, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError("write", path);
    cursor += written;
    bytes -= static_cast<size_t>(written);
  }
  return {};
}

Status AtomicFile::commit() {
  if (temporary.empty()) {
    if (::close(std::exchange(descriptor, -1)) != 0)
      return systemError("write", path);
    return {};
  }
  if (::fsync(descriptor) != 0)
    return systemError("synchronise", path);
  int closing = std::exchange(descriptor, -1);
  bool failed =
      ::close(closing) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0;
  if (failed) {
    Error error = systemError("replace", path);
    ::unlink(temporary.c_str());
    return error;
  }
  std::string folder = parentFolder(path);
  Descriptor parent{::open(folder.c_str(), O_RDONLY | O_DIRECTORY)};
  // Some file systems cannot synchronise folders; the file itself is whole.
  if (parent.value >= 0)
    ::fsync(parent.value);
  return {};
}

Status oneflow::tensorio::writeFile(const std::string &path,
                                    const Bytes &bytes) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.error();
  if (Status status = file->write(bytes.data(), bytes.size()); !status.ok())
    return status;
  return file->commit();
}

Expected<Bytes> oneflow::tensorio::readFile(const std::string &path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    return systemError("open", path);
  struct stat info;
  if (::fstat(file.value, &info) != 0)
    return systemError("read", path);
  if (!S_ISREG(info.st_mode))
    return Error{"cannot read '" + path + "': not a regular file"};
  Bytes contents;
  try {
    contents.resize(static_cast<size_t>(info.st_size));
  } catch (const std::bad_alloc &) {
    return Error{"cannot read '" + path + "': its " +
                 std::to_string(info.st_size) + " bytes do not fit in memory"};
  }
  size_t done = 0;
  while (done < contents.size()) {
    ssize_t got =
        ::read(file.value, contents.data() + done, contents.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("read", path);
    if (got == 0)
      return Error{"cannot read '" + path + "': it shrank while being read"};
    done += static_cast<size_t>(got);
  }
  return contents;
}
