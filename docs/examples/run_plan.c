/* Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads a plan and runs its first entry from two threads at once, each with a
 * session of its own. Inputs are zeros.
 *
 *   cc run_plan.c $(pkg-config --cflags --libs oneflow-runtime) -lpthread
 *   ./a.out model.ofp
 */
#include <oneflow/Runtime/RuntimeC.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints and frees an error; returns whether there was one. */
static int failed(of_status_t *status) {
  if (!status)
    return 0;
  fprintf(stderr, "error: %s %s\n", of_status_get_message(status),
          of_status_get_location(status));
  of_status_free(status);
  return 1;
}

static of_tensor_t zeros(const of_tensor_info_t *info) {
  size_t bytes = of_dtype_size(info->dtype);
  for (int32_t d = 0; d < info->rank; ++d)
    bytes *= (size_t)info->shape[d];
  of_tensor_t tensor = {info->dtype, info->rank, info->shape,
                        calloc(bytes ? bytes : 1, 1)};
  return tensor;
}

static void *serve(void *argument) {
  const of_plan_t *plan = argument;
  of_session_t *session = NULL;
  of_tensor_info_t info;
  int32_t in = of_plan_get_input_count(plan, 0);
  int32_t out = of_plan_get_output_count(plan, 0);
  of_tensor_t *tensors = calloc((size_t)(in + out) + 1, sizeof *tensors);
  for (int32_t i = 0; i < in + out; ++i)
    if (!failed(i < in ? of_plan_get_input(plan, 0, i, &info)
                       : of_plan_get_output(plan, 0, i - in, &info)))
      tensors[i] = zeros(&info);
  int bad = failed(of_session_create(plan, NULL, &session));
  for (int step = 0; step < 100 && !bad; ++step)
    bad = failed(of_session_run(session, 0, tensors, in, tensors + in, out));
  of_session_free(session);
  for (int32_t i = 0; i < in + out; ++i)
    free(tensors[i].data);
  free(tensors);
  return bad ? argument : NULL;
}

int main(int argc, char **argv) {
  of_plan_t *plan = NULL;
  pthread_t threads[2];
  void *bad[2] = {NULL, NULL};
  if (argc != 2 || failed(of_plan_load(argv[1], NULL, &plan)))
    return 1;
  for (int i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, serve, plan) != 0)
      return 1;
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], &bad[i]);
  of_plan_free(plan);
  return bad[0] || bad[1];
}
