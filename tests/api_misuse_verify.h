/* Refused calls of verify.h and compile.h, with their messages. */
#pragma once

#include <stdint.h>

#include "rill/compile.h"
#include "rill/progress.h"
#include "rill/verify.h"
#include "tests/api_misuse.h"

static int stop(void* user, rill_stage stage, double fraction) {
  ++*(int*)user;
  return stage != RILL_STAGE_LOAD || fraction < 0;
}

static void cancelled(const char* models) {
  int stops = 0;
  rill_model* model = NULL;
  const char* archive = path_of(0, models, "tcn_dilated/model.nnef.tgz");
  TRUE(strcmp(rill_stage_name(RILL_STAGE_AUDIT), "audit") == 0);
  TRUE(strcmp(rill_stage_name((rill_stage)99), "unknown") == 0);
  TRUE(strcmp(rill_stage_name((rill_stage)-1), "unknown") == 0);
  rill_set_progress(NULL, &stops);
  FINE(rill_load(archive, NULL, &model));
  rill_model_free(model);
  rill_set_progress(stop, &stops);
  REFUSED(CANCELLED, "rill_load: cancelled", rill_load(archive, NULL, &model));
  TRUE(model == NULL && stops == 1);
  REFUSED(IO, "", rill_load("/no/such/file", NULL, &model));
  rill_set_progress(NULL, NULL);
  FINE(rill_load(archive, NULL, &model));
  rill_model_free(model);
}

static void verified(const char* models, const char* scratch) {
  rill_model* model = NULL;
  rill_model* other = NULL;
  float x[16 * 40] = {0};
  int64_t extents[3] = {1, 16, 40};
  rill_view in = {.size = sizeof in, .dtype = RILL_F32, .rank = 3, .shape = extents, .data = x};
  rill_check_opts check = {.size = sizeof check, .pulses = "8"};
  rill_check_report checked = {.size = sizeof checked};
  rill_inspect_opts inspect = {.size = sizeof inspect, .seconds = -1};
  rill_inspect_report inspected = {.size = sizeof inspected};
  FINE(rill_load(path_of(0, models, "tcn_dilated/model.nnef.tgz"), NULL, &model));
  rill_io_info io = {.size = sizeof io};
  FINE(rill_model_io(model, RILL_INPUT, 0, &io));
  TRUE(io.rank == 3);

  REFUSED(ARG, "not a model", rill_check(NULL, &in, 1, &check, &checked));
  REFUSED(ARG, "0 views, expected 1", rill_check(model, NULL, 1, &check, &checked));
  REFUSED(ARG, "2 views, expected 1", rill_check(model, &in, 2, &check, &checked));
  in.size = 3;
  REFUSED(ABI, "rill_view", rill_check(model, &in, 1, &check, &checked));
  in.size = sizeof in;
  in.rank = 2;
  REFUSED(SHAPE, "2 axes, expected 3", rill_check(model, &in, 1, &check, &checked));
  in.rank = 3;
  in.shape = NULL;
  REFUSED(ARG, "without shape", rill_check(model, &in, 1, &check, &checked));
  in.shape = extents;
  in.dtype = RILL_F64;
  REFUSED(DTYPE, "is f32, found f64", rill_check(model, &in, 1, &check, &checked));
  in.dtype = RILL_F32;
  in.data = NULL;
  REFUSED(ARG, "without data", rill_check(model, &in, 1, &check, &checked));
  in.data = (char*)x + 1;
  REFUSED(ARG, "not aligned", rill_check(model, &in, 1, &check, &checked));
  in.data = x;
  extents[0] = INT64_MAX;
  REFUSED(SHAPE, "", rill_check(model, &in, 1, &check, &checked));
  extents[0] = 1;
  check.size = 8;
  REFUSED(ABI, "rill_check_opts", rill_check(model, &in, 1, &check, &checked));
  check.size = sizeof check;
  check.absolute = -1;
  REFUSED(ARG, "of 0 or more", rill_check(model, &in, 1, &check, &checked));
  check.absolute = 0;
  check.expected_count = 1;
  REFUSED(ARG, "expected outputs", rill_check(model, &in, 1, &check, &checked));
  check.expected_count = 0;
  check.pulses = "8,";
  REFUSED(ARG, "expected \"1,8,16\"", rill_check(model, &in, 1, &check, &checked));
  check.pulses = "0";
  REFUSED(ARG, "expected \"1,8,16\"", rill_check(model, &in, 1, &check, &checked));
  check.pulses = "8";
  check.symbol = "Q";
  REFUSED(SYMBOL, "Q", rill_check(model, &in, 1, &check, &checked));
  check.symbol = NULL;
  checked.size = 4;
  REFUSED(ABI, "rill_check_report", rill_check(model, &in, 1, &check, &checked));
  checked.size = sizeof checked;
  FINE(rill_check(model, &in, 1, &check, &checked));
  FINE(rill_check(model, &in, 1, &check, NULL));
  TRUE(checked.frames == 40 && checked.failed == 0 && checked.outputs >= 4);

  REFUSED(ARG, "not a model", rill_inspect(NULL, "S", "8", &inspect, &inspected));
  REFUSED(ARG, "no pulse", rill_inspect(model, "S", NULL, &inspect, &inspected));
  REFUSED(SYMBOL, "no symbol Q", rill_inspect(model, "Q", "8", &inspect, &inspected));
  REFUSED(PULSE, "", rill_inspect(model, "S", "auto:max_delay=-3", &inspect, &inspected));
  inspect.size = 8;
  REFUSED(ABI, "rill_inspect_opts", rill_inspect(model, "S", "8", &inspect, &inspected));
  inspect.size = sizeof inspect;
  inspected.size = 8;
  REFUSED(ABI, "rill_inspect_report", rill_inspect(model, "S", "8", &inspect, &inspected));
  inspected.size = sizeof inspected;
  FINE(rill_inspect(model, NULL, "8", &inspect, &inspected));
  FINE(rill_inspect(model, "S", "8", NULL, NULL));
  TRUE(inspected.pulse == 8 && inspected.wires > 0 && inspected.outputs == 1);

  FINE(rill_model_clone(model, &other));
  FINE(rill_model_pulse(other, "S", "8"));
  REFUSED(STATE, "is pulsed", rill_check(other, &in, 1, &check, &checked));
  REFUSED(STATE, "is pulsed", rill_inspect(other, "S", "8", &inspect, &inspected));

  FINE(rill_model_set_symbol(other, "B", "1"));
  const char* file = path_of(1, scratch, "misuse.rill");
  const char* keep[] = {"nobody"};
  rill_compile_opts compile = {.size = sizeof compile, .targets = "z80"};
  REFUSED(ARG, "not a model", rill_compile(NULL, &compile, file));
  REFUSED(ARG, "no path", rill_compile(other, &compile, NULL));
  REFUSED(ARG, "targets z80", rill_compile(other, &compile, file));
  compile.targets = NULL;
  compile.size = 8;
  REFUSED(ABI, "rill_compile_opts", rill_compile(other, &compile, file));
  compile.size = sizeof compile;
  compile.weights = "";
  REFUSED(ARG, "expected f32, f16, q8, q4 or int8", rill_compile(other, &compile, file));
  compile.weights = NULL;
  compile.keep_count = 1;
  REFUSED(ARG, "no names", rill_compile(other, &compile, file));
  compile.keep = keep;
  REFUSED(ARG, "no node of this name", rill_compile(other, &compile, file));
  REFUSED(SYMBOL, "S", rill_compile(model, NULL, file));
  FINE(rill_compile(other, NULL, file));
  remove(file);
  rill_model_free(other);
  rill_model_free(model);
}
