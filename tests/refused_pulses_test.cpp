// Pulses that do not fit, with each request for memory refused in turn.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/heap_calls.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

/// A pulse that does not fit is tried at others, to name one that does, and described where it
/// fits.
TEST(Refusals, APulseThatDoesNotFitIsRefusedWithoutMemoryToo) {
  if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers have a heap of their own";
  const std::string text =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "graph g(x)->(y){\nx=external(shape=[1,1,S]);\n"
      "a=avg_pool(x,size=[1,1,2],border='constant',padding=[(0,0),(0,0),(0,0)],stride=[1,1,2],"
      "dilation=[1,1,1]);\n"
      "y=avg_pool(a,size=[1,1,3],border='constant',padding=[(0,0),(0,0),(0,0)],stride=[1,1,3],"
      "dilation=[1,1,1]);\n}\n";
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &raw), RILL_OK)
      << rill_last_error();
  const ModelPtr model(raw);
  for (const bool all : {false, true}) {
    for (int64_t n = 0;; ++n) {
      const int64_t blocks = heap_blocks();
      const int64_t requests = heap_requests();
      fail_heap_after(n, all);
      const rill_status status = rill_model_pulse(raw, "S", "1");
      fail_heap_after(-1);
      ASSERT_EQ(heap_blocks(), blocks) << n;
      if (heap_requests() - requests <= n) {
        EXPECT_EQ(status, RILL_E_PULSE) << rill_last_error();
        EXPECT_NE(std::string(rill_last_error()).find("multiple of 6"), std::string::npos)
            << rill_last_error();
        break;
      }
      ASSERT_TRUE(status == RILL_E_NOMEM || status == RILL_E_PULSE) << n << rill_last_error();
    }
  }
}

}  // namespace
}  // namespace rill::test
