/* Calls every function of rill.h and verify.h with null pointers, wrong handles, wrong indices,
 * wrong sizes and at wrong times. Each call must be refused with its code and a message, and
 * must change nothing.
 *   api_misuse_test <folder of models> <folder to write to> */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rill/rill.h"
#include "tests/api_misuse.h"
#include "tests/api_misuse_models.h"
#include "tests/api_misuse_verify.h"

static int logged = 0;
static void count_log(void* user, rill_log_level level, const char* message) {
  (void)user, (void)level, (void)message;
  ++logged;
}

static void library(void) {
  rill_error_info error = {.size = sizeof error};
  TRUE(rill_abi() == RILL_ABI);
  TRUE(strlen(rill_version()) >= 5);
  TRUE(strstr(rill_build_info(), rill_version()) != NULL);
  TRUE(strcmp(rill_last_error(), "") == 0);
  TRUE(strcmp(rill_status_name(RILL_E_PULSE), "pulse") == 0);
  TRUE(strcmp(rill_status_name((rill_status)77), "unknown") == 0);
  TRUE(strcmp(rill_status_name((rill_status)-1), "unknown") == 0);
  TRUE(rill_dtype_size(RILL_F32) == 4 && rill_dtype_size(RILL_I64) == 8);
  TRUE(rill_dtype_size((rill_dtype)99) == 0 && rill_dtype_size((rill_dtype)-1) == 0);
  TRUE(strcmp(rill_dtype_name(RILL_F32), "f32") == 0);
  TRUE(strcmp(rill_dtype_name((rill_dtype)99), "unknown") == 0);
  REFUSED(ARG, "no tier \"sse9\"", rill_set_cpu_limit("sse9"));
  FINE(rill_set_cpu_limit("scalar"));
  TRUE(strcmp(rill_cpu(), "scalar") == 0);
  FINE(rill_set_cpu_limit(NULL));
  TRUE(rill_last_error_info(NULL) == RILL_E_ARG);
  error.size = 4;
  TRUE(rill_last_error_info(&error) == RILL_E_ABI);
  error.size = sizeof error;
  TRUE(rill_last_error_info(&error) == RILL_OK && error.code == RILL_E_ARG);
  TRUE(strstr(error.message, "sse9") != NULL && error.line == 0 && error.node[0] == '\0');
  rill_set_log(count_log, NULL, RILL_LOG_INFO);
  rill_set_log(NULL, NULL, RILL_LOG_WARN);
  TRUE(logged == 0);
}

static void loading(const char* models, const char* scratch) {
  rill_model* model = (rill_model*)&model;
  rill_load_opts opts = {.size = 3};
  const char* good = path_of(0, models, "linear_regression/model.nnef.tgz");
  REFUSED(ARG, "null pointer for", rill_load(good, NULL, NULL));
  REFUSED(ARG, "no path", rill_load(NULL, NULL, &model));
  TRUE(model == NULL);
  REFUSED(ARG, "no path", rill_load("", NULL, &model));
  REFUSED(IO, "no_such_file", rill_load("no_such_file.tgz", NULL, &model));
  REFUSED(ABI, "rill_load_opts", rill_load(good, &opts, &model));
  opts.size = sizeof opts;
  opts.max_expanded_bytes = -1;
  REFUSED(ARG, "max_expanded_bytes", rill_load(good, &opts, &model));
  opts.max_expanded_bytes = 16;
  REFUSED(PARSE, "", rill_load(good, &opts, &model));
  REFUSED(PARSE, "", rill_load(path_of(1, models, "linear_regression/README.md"), NULL, &model));
  REFUSED(ARG, "null pointer for", rill_load_memory("abc", 3, NULL, NULL));
  REFUSED(ARG, "no bytes", rill_load_memory(NULL, 3, NULL, &model));
  REFUSED(PARSE, "", rill_load_memory("abc", 0, NULL, &model));
  REFUSED(PARSE, "", rill_load_memory("abc", 3, NULL, &model));
  TRUE(model == NULL);
  rill_model_free(NULL);

  FINE(rill_load(good, NULL, &model));
  REFUSED(ARG, "not a model", rill_save(NULL, path_of(1, scratch, "x.tgz")));
  REFUSED(ARG, "no path", rill_save(model, NULL));
  REFUSED(ARG, "no path", rill_save(model, ""));
  REFUSED(IO, "", rill_save(model, path_of(1, scratch, "no/such/folder/x.tgz")));
  rill_model_free(model);
}

static void plans(rill_model* model, rill_plan* plan) {
  rill_plan* other = (rill_plan*)&other;
  rill_plan_opts opts = {.size = 1};
  rill_io_info io = {.size = sizeof io};
  rill_stream_info stream = {.size = sizeof stream};
  rill_memory_info memory = {.size = sizeof memory};
  const char* name = NULL;
  const char* op = NULL;
  size_t index = 0;
  REFUSED(ARG, "null pointer for", rill_prepare(model, NULL, NULL));
  REFUSED(ARG, "not a model", rill_prepare(NULL, NULL, &other));
  TRUE(other == NULL);
  REFUSED(ARG, "not a model", rill_prepare((rill_model*)plan, NULL, &other));
  REFUSED(ABI, "rill_plan_opts", rill_prepare(model, &opts, &other));
  opts.size = sizeof opts;
  opts.max_session_bytes = 1;
  REFUSED(NOMEM, "the limit is 1", rill_prepare(model, &opts, &other));
  REFUSED(ARG, "null pointer for", rill_plan_open("x.rill", NULL));
  REFUSED(ARG, "no path", rill_plan_open(NULL, &other));
  REFUSED(IO, "no/such/file.rill", rill_plan_open("no/such/file.rill", &other));
  REFUSED(ARG, "null pointer for", rill_plan_map("abc", 3, NULL));
  REFUSED(ARG, "no bytes", rill_plan_map(NULL, 3, &other));
  REFUSED(PARSE, "not a plan file", rill_plan_map("abc", 3, &other));
  rill_open_opts limits = {0};
  REFUSED(ABI, "rill_open_opts", rill_plan_open_opts("x.rill", &limits, &other));
  limits.size = sizeof limits;
  limits.max_file_bytes = -1;
  REFUSED(ARG, "below 0", rill_plan_map_opts("abc", 3, &limits, &other));
  limits.max_file_bytes = 2;
  REFUSED(NOMEM, "the limit is 2", rill_plan_map_opts("abc", 3, &limits, &other));
  TRUE(other == NULL);
  TRUE(rill_plan_retain(NULL) == NULL);
  TRUE(rill_plan_retain((rill_plan*)model) == NULL);
  rill_plan_release(NULL);
  rill_plan_release((rill_plan*)model);
  TRUE(rill_plan_retain(plan) == plan);
  rill_plan_release(plan);

  TRUE(rill_plan_count(NULL, RILL_INPUT) == 0 && rill_plan_count(plan, (rill_dir)9) == 0);
  REFUSED(ARG, "not a plan", rill_plan_io(NULL, RILL_INPUT, 0, &io));
  REFUSED(ARG, "no input 4", rill_plan_io(plan, RILL_INPUT, 4, &io));
  REFUSED(ARG, "null", rill_plan_io(plan, RILL_INPUT, 0, NULL));
  FINE(rill_plan_io(plan, RILL_INPUT, 0, &io));
  TRUE(io.shape != NULL && io.bytes == 1 * 8 * 40 * 4);
  REFUSED(ARG, "not a plan", rill_plan_find(NULL, RILL_OUTPUT, "keywords", &index));
  REFUSED(ARG, "no output \"x\"", rill_plan_find(plan, RILL_OUTPUT, "x", &index));
  REFUSED(ARG, "no name", rill_plan_find(plan, RILL_OUTPUT, NULL, &index));
  REFUSED(ARG, "not a plan", rill_plan_stream(NULL, 0, &stream));
  REFUSED(ARG, "no output 1", rill_plan_stream(plan, 1, &stream));
  REFUSED(ARG, "null", rill_plan_stream(plan, 0, NULL));
  FINE(rill_plan_stream(plan, 0, &stream));
  TRUE(stream.axis == 1 && stream.pulse == 4 && stream.input_pulse == 8 && stream.rate_den == 2);
  TRUE(strcmp(stream.symbol, "S") == 0 && stream.flush_steps >= 0);
  REFUSED(ARG, "not a plan", rill_plan_node(NULL, 0, &name, &op));
  REFUSED(ARG, "null pointer for", rill_plan_node(plan, 0, NULL, &op));
  REFUSED(ARG, "null pointer for", rill_plan_node(plan, 0, &name, NULL));
  FINE(rill_plan_node(plan, 0, &name, &op));
  TRUE(name != NULL && op != NULL);
  FINE(rill_plan_node(plan, SIZE_MAX, &name, &op));
  TRUE(name == NULL && op == NULL);
  rill_property property = {.size = sizeof property};
  TRUE(rill_plan_properties(NULL) == 0 && rill_plan_properties(plan) > 0);
  REFUSED(ARG, "not a plan", rill_plan_property(NULL, 0, &property));
  REFUSED(ARG, "no property", rill_plan_property(plan, SIZE_MAX, &property));
  REFUSED(ARG, "null", rill_plan_property(plan, 0, NULL));
  REFUSED(ARG, "not a plan", rill_plan_property_find(NULL, "torch_version", &property));
  REFUSED(ARG, "no key", rill_plan_property_find(plan, NULL, &property));
  REFUSED(ARG, "no property", rill_plan_property_find(plan, "pulse.delay", &property));
  FINE(rill_plan_property_find(plan, "torch_version", &property));
  TRUE(property.count == 1 && property.strings && strcmp(property.text, "2.7.1") == 0);
  property.size = 12;
  REFUSED(ABI, "rill_property", rill_plan_property(plan, 0, &property));
  REFUSED(ARG, "not a plan", rill_plan_memory(NULL, &memory));
  REFUSED(ARG, "null", rill_plan_memory(plan, NULL));
  memory.size = 12;
  REFUSED(ABI, "rill_memory_info", rill_plan_memory(plan, &memory));
}

static void views(rill_session* session) {
  static float room[8 * 40 + 1];
  int64_t shape[3] = {1, 8, 40};
  int64_t strides[3] = {320, 40, 1};
  rill_view view = {
      .size = sizeof view, .dtype = RILL_F32, .rank = 3, .shape = shape, .data = room};
  rill_view got = {.size = sizeof got};
  REFUSED(ARG, "not a session", rill_bind_input(NULL, 0, &view));
  REFUSED(ARG, "no input 1: there are 1", rill_bind_input(session, 1, &view));
  REFUSED(ARG, "not a session", rill_bind_output(NULL, 0, &view));
  REFUSED(ARG, "no output 3", rill_bind_output(session, 3, &view));
  REFUSED(SHAPE, "\"keywords\"", rill_bind_output(session, 0, &view));
  FINE(rill_bind_input(session, 0, &view));
  FINE(rill_input_buffer(session, 0, &got));
  TRUE(got.data == room && got.rank == 3 && got.shape[2] == 40 && got.strides[1] == 40);
  view.size = 0;
  REFUSED(ABI, "rill_view", rill_bind_input(session, 0, &view));
  view.size = sizeof view;
  view.dtype = RILL_I64;
  REFUSED(DTYPE, "\"mel\" is f32, found i64", rill_bind_input(session, 0, &view));
  view.dtype = (rill_dtype)500;
  REFUSED(DTYPE, "found unknown", rill_bind_input(session, 0, &view));
  view.dtype = RILL_F32;
  view.rank = 2;
  REFUSED(SHAPE, "found rank 2", rill_bind_input(session, 0, &view));
  view.rank = 3;
  shape[1] = 9;
  REFUSED(SHAPE, "found 9 on axis 1", rill_bind_input(session, 0, &view));
  shape[1] = 8;
  view.shape = NULL;
  REFUSED(ARG, "without shape", rill_bind_input(session, 0, &view));
  view.shape = shape;
  view.data = NULL;
  REFUSED(ARG, "without data", rill_bind_input(session, 0, &view));
  view.data = (char*)room + 1;
  REFUSED(ARG, "not aligned", rill_bind_input(session, 0, &view));
  view.data = room;
  view.strides = strides;
  strides[1] = 41;
  REFUSED(ARG, "row-major", rill_bind_input(session, 0, &view));
  strides[1] = 40;
  strides[0] = -7; /* the stride of an axis of one element is ignored */
  FINE(rill_bind_input(session, 0, &view));
  FINE(rill_bind_input(session, 0, NULL));
  FINE(rill_input_buffer(session, 0, &got));
  TRUE(got.data != room && got.data != NULL);
  FINE(rill_bind_output(session, 0, NULL));
  REFUSED(ARG, "not a session", rill_input_buffer(NULL, 0, &got));
  REFUSED(ARG, "no input 2", rill_input_buffer(session, 2, &got));
  REFUSED(ARG, "null", rill_input_buffer(session, 0, NULL));
  REFUSED(ARG, "not a session", rill_output_buffer(NULL, 0, &got));
  REFUSED(ARG, "no output 2", rill_output_buffer(session, 2, &got));
  got.size = 1;
  REFUSED(ABI, "rill_view", rill_output_buffer(session, 0, &got));
}

static void placed(rill_plan* plan) {
  rill_session* session = (rill_session*)&session;
  rill_session_opts opts = {.size = sizeof opts, .max_push = -1};
  char wanted[32];
  size_t bytes = 0;
  REFUSED(ARG, "not a plan", rill_session_need(NULL, NULL, &bytes));
  REFUSED(ARG, "null pointer for", rill_session_need(plan, NULL, NULL));
  REFUSED(ARG, "max_push is -1", rill_session_need(plan, &opts, &bytes));
  TRUE(bytes == 0);
  FINE(rill_session_need(plan, NULL, &bytes));
  char* const block = (char*)malloc(bytes + 127);
  char* const memory = block + (64 - (uintptr_t)block % 64) % 64;
  REFUSED(ARG, "null pointer for", rill_session_place(plan, NULL, memory, bytes, NULL));
  REFUSED(ARG, "not a plan", rill_session_place(NULL, NULL, memory, bytes, &session));
  TRUE(session == NULL);
  snprintf(wanted, sizeof wanted, "takes %zu", bytes);
  REFUSED(NOMEM, wanted, rill_session_place(plan, NULL, memory, bytes - 1, &session));
  REFUSED(NOMEM, wanted, rill_session_place(plan, NULL, NULL, bytes, &session));
  REFUSED(ARG, "not aligned to 64", rill_session_place(plan, NULL, memory + 8, bytes, &session));
  TRUE(session == NULL);
  FINE(rill_session_place(plan, NULL, memory, bytes, &session));
  TRUE(rill_session_bytes(session) == (int64_t)bytes);
  FINE(rill_step(session));
  REFUSED(UNSUPPORTED, "caller's memory", rill_session_set_threads(session, NULL));
  rill_session_free(session);
  REFUSED(ARG, "not a session", rill_step(session));
  free(block);
}

static void streaming(rill_plan* plan) {
  rill_session* session = (rill_session*)&session;
  rill_session* copy = NULL;
  rill_session* wrong = (rill_session*)plan;
  rill_view view = {.size = sizeof view};
  int64_t first = -1, count = -1, left = -1, in = -1, out = -1;
  REFUSED(ARG, "null pointer for", rill_session_new(plan, NULL));
  REFUSED(ARG, "not a plan", rill_session_new(NULL, &session));
  TRUE(session == NULL);
  rill_session_free(NULL);
  rill_session_free(wrong);
  TRUE(rill_session_bytes(NULL) == 0 && rill_session_bytes(wrong) == 0);
  FINE(rill_session_new(plan, &session));
  TRUE(rill_session_bytes(session) > 0);
  placed(plan);
  REFUSED(ARG, "not a session", rill_session_clone(NULL, &copy));
  REFUSED(ARG, "null pointer for", rill_session_clone(session, NULL));
  views(session);

  REFUSED(ARG, "not a session", rill_step_timed(NULL, NULL, 0));
  REFUSED(ARG, "places for 0 nodes", rill_step_timed(session, NULL, 0));
  REFUSED(ARG, "not a session", rill_step(NULL));
  REFUSED(ARG, "not a session", rill_step(wrong));
  REFUSED(ARG, "not a session", rill_step_partial(NULL, 1));
  REFUSED(ARG, "not a session", rill_flush(wrong, &left));
  REFUSED(ARG, "not a session", rill_session_reset(NULL));
  REFUSED(STATE, "not announced", rill_flush(session, &left));
  REFUSED(ARG, "expected 0 to 8", rill_step_partial(session, 9));
  REFUSED(ARG, "expected 0 to 8", rill_step_partial(session, -1));
  REFUSED(ARG, "expected 0 to 8", rill_step_partial(session, INT64_MAX));
  REFUSED(STATE, "streams", rill_run(session, &view, 1, &view, 1));
  REFUSED(ARG, "not a session", rill_valid_frames(NULL, 0, &first, &count));
  REFUSED(ARG, "no output 1", rill_valid_frames(session, 1, &first, &count));
  REFUSED(ARG, "null pointer for", rill_valid_frames(session, 0, NULL, &count));
  REFUSED(ARG, "not a session", rill_position(NULL, 0, &in, &out));
  REFUSED(ARG, "no output 8", rill_position(session, 8, &in, &out));
  TRUE(left == -1 && first == -1 && in == -1);

  FINE(rill_valid_frames(session, 0, &first, &count));
  TRUE(count == 0);
  FINE(rill_position(session, 0, &in, &out));
  TRUE(in == 0 && out == 0);
  FINE(rill_step(session));
  FINE(rill_position(session, 0, &in, NULL));
  TRUE(in == 8);
  FINE(rill_session_clone(session, &copy));
  FINE(rill_step_partial(session, 3));
  FINE(rill_position(session, 0, &in, &out));
  TRUE(in == 11);
  REFUSED(STATE, "announced", rill_step(session));
  REFUSED(STATE, "announced already", rill_step_partial(session, 3));
  for (left = 1; left > 0;) FINE(rill_flush(session, &left));
  FINE(rill_position(session, 0, &in, &out));
  TRUE(in == 11 && out == (11 - 5) / 2 + 1); /* a window of 5 frames every 2 */
  FINE(rill_flush(session, NULL));
  FINE(rill_valid_frames(session, 0, &first, &count));
  TRUE(count == 0);
  REFUSED(STATE, "announced", rill_step(session));
  FINE(rill_session_reset(session));
  FINE(rill_step(session));

  FINE(rill_position(copy, 0, &in, NULL));
  TRUE(in == 8);
  FINE(rill_step_partial(copy, 0));
  FINE(rill_position(copy, 0, &in, NULL));
  TRUE(in == 8);
  rill_session_free(copy);
  FINE(rill_session_reset(session));
  FINE(rill_step_partial(session, 0)); /* a stream of no frames */
  FINE(rill_flush(session, &left));
  TRUE(left == 0);
  rill_plan_release(plan); /* the session still owns it */
  FINE(rill_session_reset(session));
  FINE(rill_step(session));
  rill_session_free(session);
}

static void pushes(rill_plan* plan) {
  rill_session_opts opts = {.size = 2};
  rill_session* session = (rill_session*)&session;
  rill_session* wrong = (rill_session*)plan;
  float x[20 * 40] = {0}, y[64 * 12];
  int64_t shape[3] = {1, 20, 40}, out_shape[3] = {1, 64, 12}, strides[3] = {800, 40, 1};
  int64_t taken = -1, given = -1, in = -1, out = -1, all = 0;
  rill_view frames = {.size = sizeof frames, .rank = 3, .shape = shape, .data = x};
  rill_view room = {.size = sizeof room, .rank = 3, .shape = out_shape, .data = y};
  rill_io_info io = {.size = sizeof io};
  frames.dtype = room.dtype = RILL_F32;
  REFUSED(ABI, "rill_session_opts", rill_session_open(plan, &opts, &session));
  TRUE(session == NULL);
  opts.size = sizeof opts;
  opts.max_push = -1;
  REFUSED(ARG, "max_push", rill_session_open(plan, &opts, &session));
  opts.max_push = INT64_MAX;
  REFUSED(NOMEM, "no memory", rill_session_open(plan, &opts, &session));
  opts.max_push = 20;
  REFUSED(ARG, "not a plan", rill_session_open(NULL, &opts, &session));
  REFUSED(ARG, "null pointer for", rill_session_open(plan, &opts, NULL));
  FINE(rill_session_open(plan, &opts, &session));
  FINE(rill_plan_io(plan, RILL_OUTPUT, 0, &io));
  TRUE(io.stream_axis == 1 && io.rank == 3);
  out_shape[2] = io.shape[2];

  REFUSED(ARG, "not a session", rill_push(NULL, 0, &frames, &taken));
  REFUSED(ARG, "not a session", rill_push(wrong, 0, &frames, &taken));
  REFUSED(ARG, "no input 1", rill_push(session, 1, &frames, &taken));
  REFUSED(ARG, "null pointer for", rill_push(session, 0, &frames, NULL));
  REFUSED(ARG, "null", rill_push(session, 0, NULL, &taken));
  frames.size = 4;
  REFUSED(ABI, "rill_view", rill_push(session, 0, &frames, &taken));
  frames.size = sizeof frames;
  frames.dtype = RILL_I32;
  REFUSED(DTYPE, "f32", rill_push(session, 0, &frames, &taken));
  frames.dtype = RILL_F32;
  frames.rank = 2;
  REFUSED(SHAPE, "rank 2", rill_push(session, 0, &frames, &taken));
  frames.rank = 3;
  shape[2] = 41;
  REFUSED(SHAPE, "41 on axis 2", rill_push(session, 0, &frames, &taken));
  shape[2] = 40;
  shape[1] = -1;
  REFUSED(SHAPE, "-1 on axis 1", rill_push(session, 0, &frames, &taken));
  shape[1] = INT64_MAX;
  REFUSED(SHAPE, "on axis 1", rill_push(session, 0, &frames, &taken));
  shape[1] = 20;
  frames.shape = NULL;
  REFUSED(ARG, "without shape", rill_push(session, 0, &frames, &taken));
  frames.shape = shape;
  frames.data = NULL;
  REFUSED(ARG, "without data", rill_push(session, 0, &frames, &taken));
  frames.data = (char*)x + 1;
  REFUSED(ARG, "not aligned", rill_push(session, 0, &frames, &taken));
  REFUSED(ARG, "not a session", rill_pull(wrong, 0, &room, &given));
  REFUSED(ARG, "no output 3", rill_pull(session, 3, &room, &given));
  REFUSED(ARG, "null pointer for", rill_pull(session, 0, &room, NULL));
  REFUSED(ARG, "null", rill_pull(session, 0, NULL, &given));
  REFUSED(ARG, "not a session", rill_finish(NULL));
  TRUE(taken == -1 && given == -1);

  FINE(rill_step(session));
  frames.data = x;
  REFUSED(STATE, "run by rill_step", rill_push(session, 0, &frames, &taken));
  REFUSED(STATE, "run by rill_step", rill_pull(session, 0, &room, &given));
  REFUSED(STATE, "run by rill_step", rill_finish(session));
  FINE(rill_session_reset(session));
  frames.data = NULL;
  shape[1] = 0;
  FINE(rill_push(session, 0, &frames, &taken)); /* no frames: no data */
  TRUE(taken == 0);
  shape[1] = 20;
  frames.data = x;
  frames.strides = strides;
  FINE(rill_push(session, 0, &frames, &taken));
  TRUE(taken == 20);
  REFUSED(STATE, "pushed", rill_step(session));
  REFUSED(STATE, "pushed", rill_step_partial(session, 1));
  FINE(rill_finish(session));
  REFUSED(STATE, "finished", rill_finish(session));
  REFUSED(STATE, "finished", rill_push(session, 0, &frames, &taken));
  REFUSED(STATE, "pushed", rill_flush(session, NULL));
  for (given = 1; given > 0; all += given) FINE(rill_pull(session, 0, &room, &given));
  TRUE(all == (20 - 5) / 2 + 1); /* a window of 5 frames every 2 */
  FINE(rill_position(session, 0, &in, &out));
  TRUE(in == 20 && out == all);
  rill_session_free(session);
}

static void states(rill_plan* plan) {
  static uint64_t bytes[1 << 16];
  unsigned char* raw = (unsigned char*)bytes;
  rill_session* session = NULL;
  size_t size = 0, used = 0, i;
  FINE(rill_session_new(plan, &session));
  FINE(rill_step(session));
  REFUSED(ARG, "not a session", rill_state_size(NULL, &size));
  REFUSED(ARG, "null pointer for", rill_state_size(session, NULL));
  FINE(rill_state_size(session, &size));
  TRUE(size > 88 && size <= sizeof bytes);
  REFUSED(ARG, "not a session", rill_state_save(NULL, bytes, size, &used));
  REFUSED(ARG, "null pointer for", rill_state_save(session, NULL, size, &used));
  REFUSED(ARG, "null pointer for", rill_state_save(session, bytes, size, NULL));
  REFUSED(ARG, "not aligned", rill_state_save(session, raw + 4, size, &used));
  REFUSED(ARG, "rill_state_size", rill_state_save(session, bytes, 8, &used));
  REFUSED(ARG, "rill_state_size", rill_state_save(session, bytes, 0, &used));
  TRUE(used == 0);
  FINE(rill_state_save(session, bytes, size, &used));
  TRUE(used > 88 && used <= size);

  REFUSED(ARG, "not a session", rill_state_load(NULL, bytes, used));
  REFUSED(ARG, "no bytes", rill_state_load(session, NULL, used));
  REFUSED(ARG, "not aligned", rill_state_load(session, raw + 4, used));
  for (i = 0; i < used; i += 8)
    REFUSED(PARSE, "not a saved state", rill_state_load(session, bytes, i));
  for (i = 0; i < used; ++i) {
    rill_status status;
    raw[i] ^= 0x40;
    status = rill_state_load(session, bytes, used);
    raw[i] ^= 0x40;
    TRUE(status == RILL_E_PARSE || (status == RILL_E_STATE && i >= 32 && i < 48));
  }
  raw[8] += 1;
  REFUSED(PARSE, "version 3", rill_state_load(session, bytes, used));
  raw[8] -= 1;
  FINE(rill_state_load(session, bytes, used));
  rill_session_free(session);
}

static void together(rill_plan* plan) {
  rill_session *a = NULL, *b = NULL;
  int64_t first, count, in;
  rill_session_step requests[2] = {{.size = sizeof requests[0]}, {.size = sizeof requests[0]}};
  FINE(rill_session_new(plan, &a));
  FINE(rill_session_new(plan, &b));
  FINE(rill_step_together(NULL, 0));
  REFUSED(ARG, "no steps", rill_step_together(NULL, 1));
  requests[0].session = a;
  REFUSED(ARG, "step 1: not a session", rill_step_together(requests, 2));
  requests[1].session = a;
  REFUSED(ARG, "step 1: its session already has a step", rill_step_together(requests, 2));
  requests[1].session = b;
  requests[1].kind = (rill_step_kind)7;
  REFUSED(ARG, "step 1: unknown kind of step", rill_step_together(requests, 2));
  requests[1].kind = RILL_STEP_FLUSH;
  REFUSED(STATE, "step 1", rill_step_together(requests, 2));
  requests[1].kind = RILL_STEP_PARTIAL;
  requests[1].valid_frames = 9;
  REFUSED(ARG, "expected 0 to 8", rill_step_together(requests, 2));
  FINE(rill_position(a, 0, &in, NULL));
  TRUE(in == 0);
  requests[1].valid_frames = 8;
  FINE(rill_step_together(requests, 2));
  REFUSED(STATE, "step 1", rill_step_together(requests, 2));
  FINE(rill_position(a, 0, &in, NULL));
  TRUE(in == 8);
  requests[1].kind = RILL_STEP_FLUSH;
  FINE(rill_step_together(requests, 2));
  FINE(rill_step_together(requests, 2));
  FINE(rill_valid_frames(a, 0, &first, &count));
  TRUE(count == 4);
  FINE(rill_valid_frames(b, 0, &first, &count));
  TRUE(count == 0);
  rill_session_free(a);
  rill_session_free(b);
}

static void pulsed(const char* models) {
  rill_model* model = NULL;
  rill_plan* plan = NULL;
  FINE(rill_load(path_of(0, models, "kws_gru/model.nnef.tgz"), NULL, &model));
  REFUSED(SYMBOL, "rill_model_set_symbol", rill_prepare(model, NULL, &plan));
  FINE(rill_model_set_symbol(model, "B", "1"));
  REFUSED(SYMBOL, "", rill_prepare(model, NULL, &plan));
  rill_model* whole = NULL;
  FINE(rill_model_clone(model, &whole));
  rill_audit_opts audit = {sizeof(audit), 0.2, 1};
  rill_audit_report compared = {.size = sizeof(compared)};
  REFUSED(ARG, "not a model", rill_model_audit(NULL, model, &audit, &compared));
  REFUSED(PULSE, "not pulsed", rill_model_audit(whole, model, &audit, &compared));
  FINE(rill_model_pulse(model, NULL, "8"));
  FINE(rill_model_audit(whole, model, &audit, &compared));
  TRUE(compared.outputs > 0 && compared.frames > 0 && compared.streams >= compared.lengths);
  audit.seconds = -1;
  REFUSED(ARG, "seconds", rill_model_audit(whole, model, &audit, NULL));
  audit.size = 4;
  REFUSED(ABI, "rill_audit_opts", rill_model_audit(whole, model, &audit, NULL));
  rill_model_free(whole);
  REFUSED(STATE, "pulsed already", rill_model_pulse(model, "S", "8"));
  REFUSED(STATE, "pulsed already", rill_model_window(model, "S", 8, 8, 8));
  REFUSED(STATE, "stream symbol", rill_model_set_symbol(model, "S", "8"));
  REFUSED(SYMBOL, "no free symbols", rill_model_set_symbol(model, "B", "1"));
  FINE(rill_prepare(model, NULL, &plan));
  plans(model, plan);
  rill_model_free(model);
  pushes(plan);
  states(plan);
  together(plan);
  streaming(plan);
}

static int pool_calls = 0;
static void run_here(void* context, rill_task task, void* argument, uint32_t parts) {
  TRUE(context == &pool_calls);
  ++pool_calls;
  while (parts-- > 0) task(argument, parts);
}

static void threads(rill_session* session) {
  int other_kind[64] = {0};
  rill_threads* own = (rill_threads*)other_kind;
  rill_threads* wrapped = (rill_threads*)other_kind;
  rill_pool pool = {.size = sizeof pool, .threads = 2, .context = &pool_calls, .run = run_here};
  REFUSED(ARG, "null pointer for", rill_threads_new(2, NULL));
  REFUSED(ARG, "0 threads: expected 1 to 256", rill_threads_new(0, &own));
  TRUE(own == NULL);
  REFUSED(ARG, "expected 1 to 256", rill_threads_new(257, &own));
  REFUSED(ARG, "null pointer for", rill_threads_wrap(&pool, NULL));
  REFUSED(ARG, "null", rill_threads_wrap(NULL, &wrapped));
  pool.size = 8;
  REFUSED(ABI, "rill_pool", rill_threads_wrap(&pool, &wrapped));
  pool.size = sizeof pool;
  pool.run = NULL;
  REFUSED(ARG, "no function", rill_threads_wrap(&pool, &wrapped));
  pool.run = run_here;
  pool.threads = 0;
  REFUSED(ARG, "expected 1 to 256", rill_threads_wrap(&pool, &wrapped));
  pool.threads = 2;

  FINE(rill_threads_new(3, &own));
  FINE(rill_threads_wrap(&pool, &wrapped));
  REFUSED(ARG, "not a session", rill_session_set_threads(NULL, own));
  REFUSED(ARG, "not a session", rill_session_set_threads((rill_session*)own, own));
  REFUSED(ARG, "not threads", rill_session_set_threads(session, (rill_threads*)other_kind));
  FINE(rill_session_set_threads(session, wrapped));
  FINE(rill_session_set_threads(session, own));
  FINE(rill_session_set_threads(session, NULL));
  FINE(rill_session_set_threads(session, own)); /* kept by the session */
  rill_threads_free(own);
  rill_threads_free(wrapped);
  rill_threads_free(NULL);
  rill_threads_free((rill_threads*)other_kind);
  FINE(rill_step(session));
  TRUE(pool_calls == 0); /* so small a model stays on one thread */
}

static void whole(const char* models) {
  rill_model* model = NULL;
  rill_plan* plan = NULL;
  rill_session* session = NULL;
  float x[2 * 10] = {0}, y[2] = {-1, -1};
  int64_t in_shape[2] = {2, 10}, out_shape[2] = {2, 1};
  int64_t first, count, left;
  size_t size;
  rill_view in = {.size = sizeof in, .dtype = RILL_F32, .rank = 2, .shape = in_shape, .data = x};
  rill_view out = {.size = sizeof out, .dtype = RILL_F32, .rank = 2, .shape = out_shape, .data = y};
  FINE(rill_load(path_of(0, models, "linear_regression/model.nnef"), NULL, &model));
  FINE(rill_model_set_symbol(model, "B", "2"));
  FINE(rill_prepare(model, NULL, &plan));
  FINE(rill_session_new(plan, &session));
  rill_model_free(model);
  rill_plan_release(plan);
  REFUSED(ARG, "not a session", rill_run(NULL, &in, 1, &out, 1));
  REFUSED(ARG, "expected 1 and 1", rill_run(session, &in, 2, &out, 1));
  REFUSED(ARG, "expected 1 and 1", rill_run(session, &in, 1, NULL, 0));
  REFUSED(ARG, "no views", rill_run(session, NULL, 1, &out, 1));
  REFUSED(ARG, "no views", rill_run(session, &in, 1, NULL, 1));
  in.dtype = RILL_F64;
  REFUSED(DTYPE, "\"x\"", rill_run(session, &in, 1, &out, 1));
  in.dtype = RILL_F32;
  out_shape[0] = 3;
  REFUSED(SHAPE, "\"y\"", rill_run(session, &in, 1, &out, 1));
  out_shape[0] = 2;
  TRUE(y[0] == -1);
  FINE(rill_run(session, &in, 1, &out, 1));
  TRUE(y[0] == y[1]);
  REFUSED(STATE, "does not stream", rill_step_partial(session, 1));
  REFUSED(STATE, "does not stream", rill_flush(session, &left));
  REFUSED(STATE, "does not stream", rill_valid_frames(session, 0, &first, &count));
  REFUSED(STATE, "does not stream", rill_position(session, 0, &first, &count));
  REFUSED(STATE, "does not stream", rill_push(session, 0, &in, &first));
  REFUSED(STATE, "does not stream", rill_pull(session, 0, &out, &first));
  REFUSED(STATE, "does not stream", rill_finish(session));
  REFUSED(STATE, "does not stream", rill_state_size(session, &size));
  REFUSED(STATE, "does not stream", rill_state_save(session, x, sizeof x, &size));
  REFUSED(STATE, "does not stream", rill_state_load(session, x, sizeof x));
  FINE(rill_step(session));
  FINE(rill_step(session));
  threads(session);
  rill_session_free(session);
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "usage: api_misuse_test MODELS SCRATCH\n"), 2;
  library();
  loading(argv[1], argv[2]);
  models_alone(argv[1]);
  pulsed(argv[1]);
  whole(argv[1]);
  cancelled(argv[1]);
  verified(argv[1], argv[2]);
  printf("%d checks, %d failures\n", checks, failures);
  return failures != 0;
}
