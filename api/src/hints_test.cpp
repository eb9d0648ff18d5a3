// Hints of the library, as the C API gives them.

#include "api/src/hints.h"

#include <gtest/gtest.h>

namespace rill::api {
namespace {

TEST(Hints, NameCallsInPlaceOfOptions) {
  const std::pair<const char*, const char*> hints[] = {
      {"Set it, as in --set S=100", "Set it, as in rill_model_set_symbol(model, \"S\", \"100\")"},
      {"As in --set P=2*Q, or not.", "As in rill_model_set_symbol(model, \"P\", \"2*Q\"), or not."},
      {"Set its symbols, as in --set S=16000, or give the input's shape with -i",
       "Set its symbols, as in rill_model_set_symbol(model, \"S\", \"16000\"), or call "
       "rill_model_set_shapes"},
      {"Assert it, as in --assert 'S >= 4', or set the symbols",
       "Assert it, as in `extension tract_assert S >= 4;` in graph.nnef, or set the symbols"},
      {"As in --window S=40,8,16", "As in rill_model_window(model, \"S\", 40, 8, 16)"},
      {"--window S=LEFT,STEP,RIGHT computes whole windows",
       "rill_model_window(model, \"S\", left, step, right) computes whole windows"},
      {"Give its value: --constantize NAME=VALUE for the input",
       "Give its value: rill_load_opts.constants = \"NAME=VALUE\" for the input"},
      {"Use a cell; or accept that each pulse is its own future with --pulse-backward chunk",
       "Use a cell"},
  };
  for (const auto& [hint, expected] : hints) EXPECT_EQ(hint_in_calls(hint), expected);
}

TEST(Hints, KeepUnknownOptions) {
  for (const char* hint : {"", "--", "--set", "--set S", "--set S=", "--assert 'S", "--assert '",
                           "--window S", "--constantize", "Write it without --sparse"}) {
    EXPECT_EQ(hint_in_calls(hint), hint);
  }
}

}  // namespace
}  // namespace rill::api
