/* Run a keyword spotter eight frames at a time, with noise for an input.
 *   stream_c model.nnef.tgz [frames] */
#include <stdio.h>
#include <stdlib.h>

#include "rill/rill.h"

#define TRY(call) \
  if ((call) != RILL_OK) return fprintf(stderr, "%s\n", rill_last_error()), 1

static void show(rill_session* session, const rill_view* out) {
  int64_t first, count;
  if (rill_valid_frames(session, 0, &first, &count) != RILL_OK) return;
  for (int64_t t = first; t < first + count; ++t) {
    const float* scores = (const float*)out->data + t * out->strides[1];
    int64_t best = 0;
    for (int64_t k = 1; k < out->shape[2]; ++k)
      if (scores[k] > scores[best]) best = k;
    printf("keyword %d: %.3f\n", (int)best, scores[best]);
  }
}

int main(int argc, char** argv) {
  rill_model* model;
  rill_plan* plan;
  rill_session* session;
  rill_view in = {.size = sizeof in}, out = {.size = sizeof out};
  int64_t frames = argc > 2 ? atoi(argv[2]) : 45, left = 1;

  if (argc < 2) return fprintf(stderr, "usage: stream_c model.nnef.tgz [frames]\n"), 2;
  TRY(rill_load(argv[1], NULL, &model));
  TRY(rill_model_set_symbol(model, "B", "1"));
  TRY(rill_model_pulse(model, "S", "8"));
  TRY(rill_prepare(model, NULL, &plan));
  TRY(rill_session_new(plan, &session)); /* allocates all memory */
  TRY(rill_input_buffer(session, 0, &in));
  TRY(rill_output_buffer(session, 0, &out));
  for (; frames > 0; frames -= 8) {
    for (int64_t i = 0; i < in.shape[1] * in.shape[2]; ++i)
      ((float*)in.data)[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    TRY(frames > 8 ? rill_step(session) : rill_step_partial(session, frames));
    show(session, &out);
  }
  while (left > 0) { /* the tail that the delay holds back */
    TRY(rill_flush(session, &left));
    show(session, &out);
  }
  rill_session_free(session);
  rill_plan_release(plan);
  rill_model_free(model);
  return 0;
}
