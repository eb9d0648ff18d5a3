// Graphs as large as the limits allow: they load, pulse and prepare on the smallest of stacks, in time
// that grows as the graph does, whatever operators they are made of and however these are wired.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/grown.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/small_stack.h"

namespace rill::test {
namespace {

#if defined(RILL_SANITIZED)
constexpr size_t kStack = size_t{8} << 20;  // frames are several times as large
#else
constexpr size_t kStack = size_t{64} << 10;
#endif

/// All that an app asks of the library until a model runs: empty, or the error.
std::string run(const std::string& archive, const char* pulse) {
  rill_model* model = nullptr;
  rill_status status = rill_load_memory(archive.data(), archive.size(), nullptr, &model);
  const ModelPtr keep_model(model);
  if (status == RILL_OK && pulse) status = rill_model_pulse(model, "S", pulse);
  rill_plan* plan = nullptr;
  if (status == RILL_OK) status = rill_prepare(model, nullptr, &plan);
  const PlanPtr keep_plan(plan);
  rill_session* session = nullptr;
  if (status == RILL_OK) status = rill_session_new(plan, &session);
  const SessionPtr keep_session(session);
  if (status == RILL_OK) status = rill_step(session);
  return status == RILL_OK ? "" : rill_last_error();
}

std::string run_on_small_stack(const std::string& archive, const char* pulse) {
  std::string error;
  on_stack_of(kStack, [&] { error = run(archive, pulse); });
  return error;
}

TEST(Growth, AChainOfElementwiseOperatorsIsPreparedOnASmallStack) {
  const Statement statement{"tanh(@)"};
  EXPECT_EQ(run_on_small_stack(grown_archive(Growth::kChain, statement, 60000), "4"), "");
}

}  // namespace
}  // namespace rill::test
