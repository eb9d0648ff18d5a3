/* Stream a compiled model, pushing noise a few frames at a time. It links librill_run, or librill.
 *   rill compile model.nnef.tgz --set B=1 --pulse S=8 -o model.rill
 *   stream_plan model.rill [frames] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rill/rill.h"

#define TRY(call) \
  if ((call) != RILL_OK) return fprintf(stderr, "%s\n", rill_last_error()), 1

enum { FEW = 5 };

/* Make a view of memory for a few frames of an input or output that streams in floats. */
static int make_view(const rill_plan* plan, rill_dir dir, size_t index, int64_t* shape,
                     rill_view* view) {
  rill_io_info info = {.size = sizeof info};
  int64_t floats = 1;
  TRY(rill_plan_io(plan, dir, index, &info));
  if (info.stream_axis < 0 || info.dtype != RILL_F32)
    return fprintf(stderr, "%s is no stream of floats\n", info.name), 1;
  for (uint32_t axis = 0; axis < info.rank; ++axis) {
    shape[axis] = (int)axis == info.stream_axis ? FEW : info.shape[axis];
    floats *= shape[axis];
  }
  *view = (rill_view){.size = sizeof *view, .dtype = info.dtype, .rank = info.rank, .shape = shape};
  view->data = calloc((size_t)floats, sizeof(float));
  return view->data ? 0 : 1;
}

/* The number of output frames, and a sum over their bits. */
static int64_t came = 0;
static uint64_t sum = 14695981039346656037u;

static int pull_all(rill_session* session, rill_view* view, int axis) {
  for (int64_t given = FEW; given == FEW;) {
    size_t frame = 4, outer = 1;
    TRY(rill_pull(session, 0, view, &given));
    for (int i = 0; i < (int)view->rank; ++i) {
      if (i < axis) outer *= (size_t)view->shape[i];
      if (i > axis) frame *= (size_t)view->shape[i];
    }
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < (size_t)given * frame; ++i)
        sum = (sum ^ ((unsigned char*)view->data)[o * FEW * frame + i]) * 1099511628211u;
    came += given;
  }
  return 0;
}

int main(int argc, char** argv) {
  rill_plan* plan;
  rill_session* session;
  rill_view in, out;
  int64_t in_shape[RILL_MAX_RANK], out_shape[RILL_MAX_RANK], frames = 100;
  rill_io_info info = {.size = sizeof info};
  uint32_t noise = 1;

  if (argc < 2) return fprintf(stderr, "usage: stream_plan model.rill [frames]\n"), 2;
  if (argc > 2) frames = atoi(argv[2]);
  TRY(rill_plan_open(argv[1], &plan));
  TRY(rill_session_new(plan, &session));
  if (make_view(plan, RILL_INPUT, 0, in_shape, &in)) return 1;
  if (make_view(plan, RILL_OUTPUT, 0, out_shape, &out)) return 1;
  TRY(rill_plan_io(plan, RILL_OUTPUT, 0, &info));
  for (; frames > 0; frames -= FEW) {
    int64_t floats = 1, taken;
    for (uint32_t axis = 0; axis < in.rank; ++axis) floats *= in_shape[axis];
    for (int64_t i = 0; i < floats; ++i) {
      noise = noise * 1664525u + 1013904223u;
      ((float*)in.data)[i] = (float)(noise >> 8) / 16777216.0f - 0.5f;
    }
    TRY(rill_push(session, 0, &in, &taken));
    if (taken < FEW) return fprintf(stderr, "only %d frames were taken\n", (int)taken), 1;
    if (pull_all(session, &out, info.stream_axis)) return 1;
  }
  TRY(rill_finish(session));
  if (pull_all(session, &out, info.stream_axis)) return 1;
  printf("%" PRId64 " frames of \"%s\", sum %016" PRIx64 "\n", came, info.name, sum);
  free(in.data);
  free(out.data);
  rill_session_free(session);
  rill_plan_release(plan);
  return 0;
}
