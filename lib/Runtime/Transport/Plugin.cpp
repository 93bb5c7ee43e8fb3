//===- Plugin.cpp - transports in shared libraries ------------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"

#include <dlfcn.h>
#include <unistd.h>

using namespace oneflow::runtime;

// The folder of the library or executable that contains this code, with a final
// slash; "" when unknown.
static std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&of_version), &info) || !info.dli_fname)
    return "";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

Status
oneflow::runtime::createPluginTransport(const char *name, const char *folder,
                                        int rankCount,
                                        std::unique_ptr<Transport> &result) {
  std::string file = concat("liboneflow_transport_", name, ".so");
  std::string path = folder ? concat(folder, "/", file) : ownFolder() + file;
  if (!folder && access(path.c_str(), F_OK) != 0)
    path = file;
  // Global, because MPI implementations load plug-ins of their own that refer
  // to the library's symbols.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return unsupported("cannot load the transport '", name, "': ", dlerror());
  auto create = reinterpret_cast<CreateTransportFn>(
      dlsym(library, "oneflow_transport_create"));
  if (!create)
    return unsupported("'", path, "' is no transport plug-in");
  const char *error = "unknown error";
  result.reset(create(kTransportVersion, rankCount, &error));
  if (!result)
    return unsupported("cannot start the transport '", name, "': ", error);
  return Status();
}
