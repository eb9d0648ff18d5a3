/* Times a push and a pull of one pulse through rill.h, for python/bench/push.py to compare with.
 *   push <model> <symbol> <pulse> <batch symbol or -> <seconds> */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rill/rill.h"

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void check(rill_status status) {
  if (status == RILL_OK) return;
  fprintf(stderr, "%s\n", rill_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  rill_model* model = NULL;
  rill_plan* plan = NULL;
  rill_session* session = NULL;
  check(rill_load(argv[1], NULL, &model));
  if (strcmp(argv[4], "-") != 0) check(rill_model_set_symbol(model, argv[4], "1"));
  check(rill_model_pulse(model, argv[2], argv[3]));
  check(rill_prepare(model, NULL, &plan));
  check(rill_session_new(plan, &session));
  rill_io_info in = {.size = sizeof in}, out = {.size = sizeof out};
  check(rill_plan_io(plan, RILL_INPUT, 0, &in));
  check(rill_plan_io(plan, RILL_OUTPUT, 0, &out));
  rill_view frames = {sizeof frames, in.dtype, in.rank, in.shape, NULL, NULL};
  rill_view room = {sizeof room, out.dtype, out.rank, out.shape, NULL, NULL};
  frames.data = calloc(1, (size_t)in.bytes);
  room.data = calloc(1, (size_t)out.bytes);
  if (!frames.data || !room.data) return 1;
  /* The mean over the fastest tenth of a second, because other programs share the machine. */
  double best = 1e30;
  const double until = now_us() + 1e6 * atof(argv[5]);
  while (now_us() < until) {
    const double begin = now_us();
    int64_t pushes = 0, moved = 0;
    for (; now_us() - begin < 1e5; pushes += 100) {
      for (int i = 0; i < 100; ++i) {
        check(rill_push(session, 0, &frames, &moved));
        check(rill_pull(session, 0, &room, &moved));
      }
    }
    const double mean = (now_us() - begin) / (double)pushes;
    if (mean < best) best = mean;
  }
  printf("%.3f\n", best);
  rill_session_free(session);
  rill_plan_release(plan);
  rill_model_free(model);
  free(frames.data);
  free(room.data);
  return 0;
}
