/* Refused calls of the C interface on models, with their messages. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "tests/api_misuse.h"

static void models_alone(const char* models) {
  rill_model* model = NULL;
  rill_model* copy = NULL;
  rill_io_info io = {.size = sizeof io};
  rill_property property = {.size = sizeof property};
  const char* name = "";
  size_t index = 7;
  int64_t extents[3] = {2, 9, 41};
  rill_view shaped = {.size = sizeof shaped, .rank = 2, .shape = extents};
  int other_kind[64] = {0};
  rill_model* wrong = (rill_model*)other_kind;
  FINE(rill_load(path_of(0, models, "kws_gru/model.nnef.tgz"), NULL, &model));

  REFUSED(ARG, "not a model", rill_model_clone(NULL, &copy));
  REFUSED(ARG, "not a model", rill_model_clone(wrong, &copy));
  REFUSED(ARG, "null pointer for", rill_model_clone(model, NULL));
  rill_model_free(wrong);

  TRUE(rill_model_count(NULL, RILL_INPUT) == 0);
  TRUE(rill_model_count(wrong, RILL_INPUT) == 0);
  TRUE(rill_model_count(model, (rill_dir)5) == 0);
  TRUE(rill_model_count(model, RILL_INPUT) == 1);
  REFUSED(ARG, "not a model", rill_model_io(NULL, RILL_INPUT, 0, &io));
  REFUSED(ARG, "no input 1: there are 1", rill_model_io(model, RILL_INPUT, 1, &io));
  REFUSED(ARG, "no output", rill_model_io(model, RILL_OUTPUT, SIZE_MAX, &io));
  REFUSED(ARG, "RILL_INPUT", rill_model_io(model, (rill_dir)-1, 0, &io));
  REFUSED(ARG, "null", rill_model_io(model, RILL_INPUT, 0, NULL));
  io.size = 8;
  REFUSED(ABI, "sizeof(rill_io_info)", rill_model_io(model, RILL_INPUT, 0, &io));
  io.size = sizeof io;
  FINE(rill_model_io(model, RILL_INPUT, 0, &io));
  TRUE(io.rank == 3 && io.shape == NULL && io.bytes == -1 && strcmp(io.dims[1], "S") == 0);
  TRUE(strcmp(io.text, "B,S,40,F32") == 0);

  REFUSED(ARG, "not a model", rill_model_find(NULL, RILL_INPUT, "mel", &index));
  REFUSED(ARG, "no input \"mal\": there are mel",
          rill_model_find(model, RILL_INPUT, "mal", &index));
  REFUSED(ARG, "no name", rill_model_find(model, RILL_INPUT, NULL, &index));
  REFUSED(ARG, "null pointer for", rill_model_find(model, RILL_INPUT, "mel", NULL));
  REFUSED(ARG, "RILL_INPUT", rill_model_find(model, (rill_dir)2, "mel", &index));
  TRUE(index == 7);
  FINE(rill_model_find(model, RILL_INPUT, "mel", &index));
  TRUE(index == 0);

  REFUSED(ARG, "not a model", rill_model_symbol(NULL, 0, &name));
  REFUSED(ARG, "null pointer for", rill_model_symbol(model, 0, NULL));
  FINE(rill_model_symbol(model, 99, &name));
  TRUE(name == NULL);
  REFUSED(ARG, "not a model", rill_model_set_symbol(NULL, "B", "1"));
  REFUSED(ARG, "no symbol", rill_model_set_symbol(model, NULL, "1"));
  REFUSED(ARG, "no symbol", rill_model_set_symbol(model, "", "1"));
  REFUSED(ARG, "no value", rill_model_set_symbol(model, "B", NULL));
  REFUSED(SYMBOL, "free symbols are B, S", rill_model_set_symbol(model, "X", "1"));
  REFUSED(SYMBOL, "no symbol foo", rill_model_set_symbol(model, "B", "foo"));
  REFUSED(SYMBOL, "itself", rill_model_set_symbol(model, "B", "B+1"));
  REFUSED(SYMBOL, "extent", rill_model_set_symbol(model, "B", "-3"));
  REFUSED(SYMBOL, "asserts", rill_model_set_symbol(model, "B", "0"));
  REFUSED(PARSE, "", rill_model_set_symbol(model, "B", "1+"));
  REFUSED(PARSE, "", rill_model_set_symbol(model, "B", ""));
  REFUSED(ARG, "not a model", rill_model_set_shapes(NULL, &shaped, 1));
  REFUSED(ARG, "2 views, expected 1", rill_model_set_shapes(model, &shaped, 2));
  REFUSED(ARG, "0 views, expected 1", rill_model_set_shapes(model, NULL, 1));
  shaped.size = 1;
  REFUSED(ABI, "sizeof(rill_view)", rill_model_set_shapes(model, &shaped, 1));
  shaped.size = sizeof shaped;
  REFUSED(SHAPE, "\"mel\" has 2 axes, expected 3", rill_model_set_shapes(model, &shaped, 1));
  shaped.rank = 3;
  REFUSED(SHAPE, "axis 2 is 41, expected 40", rill_model_set_shapes(model, &shaped, 1));
  extents[0] = -1;
  extents[2] = 40;
  REFUSED(SHAPE, "axis 0 is -1, expected B", rill_model_set_shapes(model, &shaped, 1));
  extents[0] = 0;
  REFUSED(SYMBOL, "asserts", rill_model_set_shapes(model, &shaped, 1));
  shaped.shape = NULL;
  FINE(rill_model_set_shapes(model, &shaped, 1));
  REFUSED(ARG, "not a model", rill_model_operator(NULL, 0, &name, NULL));
  REFUSED(ARG, "null pointer for", rill_model_operator(model, 0, NULL, NULL));
  FINE(rill_model_operator(model, 0, &name, NULL));
  TRUE(name != NULL);
  FINE(rill_model_operator(model, SIZE_MAX, &name, NULL));
  TRUE(name == NULL);
  REFUSED(ARG, "not a model", rill_model_feedback(NULL, "y", "x"));
  REFUSED(ARG, "no output", rill_model_feedback(model, NULL, "x"));
  REFUSED(ARG, "no input", rill_model_feedback(model, "y", NULL));
  REFUSED(ARG, "not a model", rill_model_context(NULL, "x", 8));
  REFUSED(ARG, "no input", rill_model_context(model, NULL, 8));
  REFUSED(ARG, "not a model", rill_model_frames(NULL, NULL, NULL, 0));
  REFUSED(ARG, "no name", rill_model_frames(model, NULL, NULL, 1));
  REFUSED(ARG, "not a model", rill_model_pulse(NULL, "S", "8"));
  REFUSED(ARG, "no pulse", rill_model_pulse(model, "S", NULL));
  REFUSED(SYMBOL, "no symbol X", rill_model_pulse(model, "X", "8"));
  REFUSED(PARSE, "", rill_model_pulse(model, "S", "8 8"));
  REFUSED(PULSE, "", rill_model_pulse(model, "S", "0"));
  REFUSED(PULSE, "", rill_model_pulse(model, "S", "-8"));
  REFUSED(PULSE, "", rill_model_pulse(model, "S", "3"));
  REFUSED(PULSE, "", rill_model_pulse(model, "S", "2*S"));
  REFUSED(ARG, "not a model", rill_model_window(NULL, "S", 8, 4, 8));
  REFUSED(SYMBOL, "no symbol X", rill_model_window(model, "X", 8, 4, 8));
  REFUSED(PULSE, "expected LEFT,STEP,RIGHT", rill_model_window(model, "S", 8, 0, 8));
  REFUSED(PULSE, "expected LEFT,STEP,RIGHT", rill_model_window(model, "S", -1, 4, 8));
  REFUSED(PULSE, "expected LEFT,STEP,RIGHT", rill_model_window(model, "S", 8, INT64_MAX, 8));

  TRUE(rill_model_properties(NULL) == 0);
  TRUE(rill_model_properties(model) > 0);
  REFUSED(ARG, "not a model", rill_model_property(NULL, 0, &property));
  REFUSED(ARG, "no property", rill_model_property(model, 12345, &property));
  REFUSED(ARG, "null", rill_model_property(model, 0, NULL));
  REFUSED(ARG, "not a model", rill_model_property_find(NULL, "x", &property));
  REFUSED(ARG, "no key", rill_model_property_find(model, NULL, &property));
  REFUSED(ARG, "no property \"x\"", rill_model_property_find(model, "x", &property));
  property.size = 0;
  REFUSED(ABI, "rill_property", rill_model_property(model, 0, &property));

  FINE(rill_model_io(model, RILL_INPUT, 0, &io));
  TRUE(strcmp(io.text, "B,S,40,F32") == 0);
  rill_model_free(model);
}
