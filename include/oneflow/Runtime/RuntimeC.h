/*===-- oneflow/Runtime/RuntimeC.h - the C API of the runtime -----*- C -*-===*\
|*
|* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|* Loads plans and runs them. Stable: functions are added, not changed; structs
|* that may grow begin with their size.
|*
|* Errors: every function that can fail returns an of_status_t *: NULL for
|* success, else a status which the caller frees with of_status_free. No C++
|* exception leaves this API, and no function ends the process.
|*
|* Threads: a plan may be shared by any number of threads and sessions. A
session
|* runs one entry at a time; calls on one session from several threads are
|* serialised, but for of_session_cancel, which may come from any thread at any
|* time.
|*
|* Ownership: what a *_load or *_create function returns is the caller's, freed
by
|* the *_free function of the same name. Strings and pointers that a getter
|* returns live as long as the object they were asked of.
|*
\*===----------------------------------------------------------------------===*/

#ifndef ONEFLOW_RUNTIME_RUNTIMEC_H
#define ONEFLOW_RUNTIME_RUNTIMEC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define OF_API __attribute__((visibility("default")))
#else
#define OF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Status ------------------------------------------------------------------ */

typedef enum of_status_code {
  OF_STATUS_OK = 0,
  OF_STATUS_INVALID_ARGUMENT = 1,
  OF_STATUS_NOT_FOUND = 2,
  /** The plan file is damaged, truncated, or of another version. */
  OF_STATUS_INVALID_PLAN = 3,
  /** The plan needs a device, CPU feature, transport or rank count that is not
   *  there. */
  OF_STATUS_UNSUPPORTED = 4,
  OF_STATUS_OUT_OF_MEMORY = 5,
  OF_STATUS_CANCELLED = 6,
  /** A kernel refused its input (an index out of range, say). */
  OF_STATUS_KERNEL_FAILED = 7,
  OF_STATUS_COMMUNICATION_FAILED = 8,
  /** The session failed before; only freeing it is left. */
  OF_STATUS_UNUSABLE = 9,
  OF_STATUS_IO = 10
} of_status_code;

typedef struct of_status_t of_status_t;

/** OF_STATUS_OK for NULL. */
OF_API of_status_code of_status_get_code(const of_status_t *status);
/** One line without a final full stop; "" for NULL. */
OF_API const char *of_status_get_message(const of_status_t *status);
/** Where in the source model, "" when it does not come from there. */
OF_API const char *of_status_get_location(const of_status_t *status);
OF_API void of_status_free(of_status_t *status);

/* Tensors ------------------------------------------------------------------ */

/** Values match oneflow.plan.DType. */
typedef enum of_dtype {
  OF_DTYPE_BOOL = 0,
  OF_DTYPE_I8,
  OF_DTYPE_I16,
  OF_DTYPE_I32,
  OF_DTYPE_I64,
  OF_DTYPE_U8,
  OF_DTYPE_U16,
  OF_DTYPE_U32,
  OF_DTYPE_U64,
  OF_DTYPE_F16,
  OF_DTYPE_BF16,
  OF_DTYPE_F32,
  OF_DTYPE_F64
} of_dtype;

OF_API size_t of_dtype_size(of_dtype dtype);
/** "f32", "i64", ... */
OF_API const char *of_dtype_name(of_dtype dtype);

/** A dense row-major host tensor, borrowed. `data` needs no alignment. */
typedef struct of_tensor_t {
  of_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  void *data;
} of_tensor_t;

/** What a plan says of an input, output or variable. */
typedef struct of_tensor_info_t {
  const char *name;
  const char *location;
  of_dtype dtype;
  int32_t rank;
  /** Logical extents. */
  const int64_t *shape;
  /** Of a variable: whether an optimizer updates it as a parameter. */
  int32_t trainable;
} of_tensor_info_t;

/* Plans -------------------------------------------------------------------- */

typedef struct of_plan_t of_plan_t;

typedef struct of_plan_options_t {
  size_t struct_size;
  /** Not 0: also verify the checksums of the data sections. */
  int32_t verify_data;
} of_plan_options_t;

/** Maps and verifies a plan file. Opens nothing else. `options` may be NULL. */
OF_API of_status_t *of_plan_load(const char *path,
                                 const of_plan_options_t *options,
                                 of_plan_t **plan);
/** Sessions keep what they need of a plan; it may be freed before them. */
OF_API void of_plan_free(of_plan_t *plan);

/** Ranks that the plan's placements span together. */
OF_API int32_t of_plan_get_rank_count(const of_plan_t *plan);
OF_API int32_t of_plan_get_entry_count(const of_plan_t *plan);
OF_API const char *of_plan_get_entry_name(const of_plan_t *plan, int32_t entry);
/** -1 when there is none of that name. */
OF_API int32_t of_plan_find_entry(const of_plan_t *plan, const char *name);
OF_API int32_t of_plan_get_input_count(const of_plan_t *plan, int32_t entry);
OF_API int32_t of_plan_get_output_count(const of_plan_t *plan, int32_t entry);
OF_API of_status_t *of_plan_get_input(const of_plan_t *plan, int32_t entry,
                                      int32_t index, of_tensor_info_t *info);
OF_API of_status_t *of_plan_get_output(const of_plan_t *plan, int32_t entry,
                                       int32_t index, of_tensor_info_t *info);
/** Variables as the model has them: what the compiler cut into parts counts
 *  once, whole, here and wherever a variable is named by its index. */
OF_API int32_t of_plan_get_variable_count(const of_plan_t *plan);
OF_API of_status_t *of_plan_get_variable(const of_plan_t *plan, int32_t index,
                                         of_tensor_info_t *info);
OF_API int32_t of_plan_find_variable(const of_plan_t *plan, const char *name);
/** The value of a metadata key, NULL when the plan has none of that name. */
OF_API const char *of_plan_get_metadata(const of_plan_t *plan, const char *key);
/** The source model section; *bytes is 0 when the plan has none. */
OF_API const void *of_plan_get_source_model(const of_plan_t *plan,
                                            size_t *bytes);
/** Sizes for reports: of one rank's arena of the entry, and of one rank's
 *  variables, in bytes. */
OF_API uint64_t of_plan_get_arena_bytes(const of_plan_t *plan, int32_t entry);
OF_API uint64_t of_plan_get_variable_bytes(const of_plan_t *plan);
OF_API int32_t of_plan_get_task_count(const of_plan_t *plan, int32_t entry);
OF_API int32_t of_plan_get_kernel_count(const of_plan_t *plan);

/* Sessions ----------------------------------------------------------------- */

typedef struct of_session_t of_session_t;

typedef struct of_session_options_t {
  size_t struct_size;
  /** "local" (the default, also for NULL): all ranks are threads of this
   * process. "mpi": this process is one rank; the plug-in is loaded, and MPI
   * initialised if the caller has not. */
  const char *transport;
  /** Threads per rank that share a kernel's work items, the calling stream's
   *  included; 0: the processors at hand divided by the ranks of this process.
   */
  int32_t threads_per_rank;
  /** Folder of the transport plug-ins; NULL: beside the runtime library. */
  const char *plugin_path;
} of_session_options_t;

/** Allocates arenas and variables, evaluates the rank's scalars, starts the
 *  streams' threads and creates communicators. `options` may be NULL. */
OF_API of_status_t *of_session_create(const of_plan_t *plan,
                                      const of_session_options_t *options,
                                      of_session_t **session);
/** Waits for a running entry to end, then stops all threads. */
OF_API void of_session_free(of_session_t *session);

/** This process's rank: 0 for the transport "local". */
OF_API int32_t of_session_get_rank(const of_session_t *session);

/** Runs `entry` once. Inputs and outputs stand in the plan's order, with
 * logical shapes: each rank takes its part of an input, and every process gets
 * each output whole. Input data is only read; output data is written by the
 * time of return. Inputs whose dtype or shape differs from the plan's are
 * refused before anything runs. After OF_STATUS_KERNEL_FAILED,
 * _COMMUNICATION_FAILED or _CANCELLED the session is unusable. */
OF_API of_status_t *of_session_run(of_session_t *session, int32_t entry,
                                   const of_tensor_t *inputs,
                                   int32_t input_count,
                                   const of_tensor_t *outputs,
                                   int32_t output_count);

/** Asks a running entry to end at the next kernel; it then returns
 *  OF_STATUS_CANCELLED. Without effect when nothing runs. Any thread. */
OF_API void of_session_cancel(of_session_t *session);

/** Reads a variable whole, gathered from the ranks, into `value`, whose dtype
 * and shape must be the variable's logical ones. Collective under "mpi": every
 *  process calls it, for the same variables in the same order. */
OF_API of_status_t *of_session_get_variable(of_session_t *session,
                                            int32_t index,
                                            const of_tensor_t *value);
/** Replaces a variable; each rank takes its part. Under "mpi" every process
 * calls it with the same value. */
OF_API of_status_t *of_session_set_variable(of_session_t *session,
                                            int32_t index,
                                            const of_tensor_t *value);

/** Starts recording; events of at most `capacity` actions per stream are kept.
 */
OF_API of_status_t *of_session_start_trace(of_session_t *session,
                                           size_t capacity);
/** Ends recording and writes the events of this process's ranks in Chrome trace
 *  format (opens in Perfetto) beside `path`, then renames. The event of a
 *  communication has in its "args": "bytes" that the rank sent to others,
 *  "staging_bytes" that it held for messages beside its buffers, and
 *  "buffer_bytes" of its source and target. */
OF_API of_status_t *of_session_write_trace(of_session_t *session,
                                           const char *path);

/** Sums since the session began, over this process's ranks. */
typedef struct of_counters_t {
  size_t struct_size;
  uint64_t actions;
  uint64_t kernels;
  uint64_t messages;
  /** Sent to other ranks by collectives and exchanges: over all ranks, what
   *  oneflow-compile --explain says. */
  uint64_t bytes_moved;
  /** Time that streams were idle with some actor lacking an input, or lacking
   *  only a free output slot. */
  uint64_t wait_input_ns;
  uint64_t wait_credit_ns;
} of_counters_t;

OF_API void of_session_get_counters(const of_session_t *session,
                                    of_counters_t *counters);

/** "0.1.0". */
OF_API const char *of_version(void);

#ifdef __cplusplus
}
#endif

#endif /* ONEFLOW_RUNTIME_RUNTIMEC_H */
