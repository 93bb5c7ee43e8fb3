// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries the precompiled headers; see CMakeLists.txt in this folder.
