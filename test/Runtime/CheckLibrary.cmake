# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -DLIBRARY=... -DNM=... -DREADELF=... -DSTRIP=... -P CheckLibrary.cmake
#
# What the shared library promises: it exports the C API only, needs the C and C++
# libraries only, and is under a megabyte when stripped.

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
  OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "nm failed")
endif()
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(count 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES " of_[a-z_]+$")
    message(FATAL_ERROR "exported, but not of the C API: ${line}")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
if(count LESS 30)
  message(FATAL_ERROR "expected the C API, got ${count} symbols")
endif()

execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic)
string(REGEX MATCHALL "NEEDED[^\n]*" needed "${dynamic}")
foreach(line IN LISTS needed)
  if(NOT line MATCHES "lib(c|stdc\\+\\+|gcc_s|pthread|dl|c\\+\\+|c\\+\\+abi)\\.so")
    message(FATAL_ERROR "unexpected dependency: ${line}")
  endif()
endforeach()

execute_process(COMMAND ${STRIP} -o ${LIBRARY}.stripped ${LIBRARY}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "strip failed")
endif()
file(SIZE ${LIBRARY}.stripped bytes)
file(REMOVE ${LIBRARY}.stripped)
if(bytes GREATER_EQUAL 1000000)
  message(FATAL_ERROR "expected less than a megabyte, got ${bytes} bytes")
endif()
message(STATUS "${count} symbols, ${bytes} bytes")
