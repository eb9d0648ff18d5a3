/* Streams 16-bit WAV files through rill.h, eight seconds at a time, and writes the frames of the
 * first output, for python/bench/corpus.py to compare rill.data with.
 *   corpus <model> <symbol> <pulse> <batch symbol or -> <out> <file> ...
 * Prints the CPU seconds that the files took. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rill/rill.h"

enum { kBlock = 128000, kHeader = 44 };

static void check(rill_status status) {
  if (status == RILL_OK) return;
  fprintf(stderr, "%s\n", rill_last_error());
  exit(1);
}

/* Write the frames that are ready. */
static void pull(rill_session* session, const rill_view* room, size_t frame_bytes, FILE* out) {
  int64_t given = 0;
  do {
    check(rill_pull(session, 0, room, &given));
    fwrite(module->data, frame_bytes, (size_t)given, out);
  } while (given > 0);
}

static void push(rill_session* session, const float* samples, int64_t count, const rill_view* room,
                 size_t frame_bytes, FILE* out) {
  while (count > 0) {
    int64_t taken = 0;
    const int64_t shape[2] = {1, count};
    rill_view frames = {sizeof frames, RILL_F32, 2, shape, NULL, (void*)samples};
    check(rill_push(session, 0, &frames, &taken));
    pull(session, room, frame_bytes, out);
    samples += taken;
    count -= taken;
  }
}

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  rill_model* model = NULL;
  rill_plan* plan = NULL;
  rill_session* session = NULL;
  check(rill_load(argv[1], NULL, &model));
  if (strcmp(argv[4], "-") != 0) check(rill_model_set_symbol(model, argv[4], "1"));
  check(rill_model_pulse(model, argv[2], argv[3]));
  check(rill_prepare(model, NULL, &plan));
  check(rill_session_new(plan, &session));
  rill_io_info io = {.size = sizeof io};
  check(rill_plan_io(plan, RILL_OUTPUT, 0, &io));
  rill_view room = {sizeof room, io.dtype, io.rank, io.shape, NULL, malloc((size_t)io.bytes)};
  const size_t frame_bytes = (size_t)(io.bytes / io.shape[io.stream_axis]);
  int16_t* read = malloc(kBlock * sizeof *read);
  float* samples = malloc(kBlock * sizeof *samples);
  FILE* out = fopen(argv[5], "wb");
  if (!room.data || !read || !samples || !out) return 1;
  const clock_t begin = clock();
  for (int i = 6; i < argc; ++i) {
    FILE* file = fopen(argv[i], "rb");
    if (!file || fseek(file, kHeader, SEEK_SET) != 0) return 1;
    size_t count;
    while ((count = fread(read, sizeof *read, kBlock, file)) > 0) {
      for (size_t at = 0; at < count; ++at) samples[at] = (float)read[at] / 32768.0f;
      push(session, samples, (int64_t)count, &room, frame_bytes, out);
    }
    fclose(file);
    check(rill_finish(session));
    pull(session, &room, frame_bytes, out);
    check(rill_session_reset(session));
  }
  fclose(out);
  printf("%.6f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
  return 0;
}
