// ONNX files with little stack and memory: long chains and nested graphs load and run on 64 KiB of
// stack, also with each memory request refused in turn.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_loader/test_file.h"
#include "tests/support/heap_calls.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/small_stack.h"

namespace rill::test {
namespace {

using onnx::GraphParts;
using onnx::Message;

#if defined(RILL_SANITIZED)
constexpr size_t kStack = size_t{8} << 20;  // instrumented stack frames are several times as large
#else
constexpr size_t kStack = size_t{64} << 10;
#endif

/// Load a file and step it once.
rill_status run(const std::string& file) {
  rill_model* model = nullptr;
  rill_status status = rill_load_memory(file.data(), file.size(), nullptr, &model);
  const ModelPtr keep_model(model);
  rill_plan* plan = nullptr;
  if (status == RILL_OK) status = rill_prepare(model, nullptr, &plan);
  const PlanPtr keep_plan(plan);
  rill_session* session = nullptr;
  if (status == RILL_OK) status = rill_session_new(plan, &session);
  const SessionPtr keep_session(session);
  return status == RILL_OK ? rill_step(session) : status;
}

rill_status run_on_small_stack(const std::string& file, std::string* error) {
  rill_status status = RILL_E_INTERNAL;
  on_stack_of(kStack, [&] {
    status = run(file);
    if (status != RILL_OK) *error = rill_last_error();
  });
  return status;
}

std::string chain(size_t nodes) {
  GraphParts parts;
  parts.inputs = {onnx::value_info("w0", {2, 3})};
  for (size_t i = 0; i < nodes; ++i) {
    parts.nodes.push_back(onnx::node_of("Tanh", {"w" + std::to_string(i)},
                                        {"w" + std::to_string(i + 1)}));
  }
  parts.outputs = {onnx::value_info("w" + std::to_string(nodes), {2, 3})};
  return onnx::model_of(parts).bytes();
}

/// x through `levels` nested If nodes, whose conditions are constants or an input.
std::string branches(int levels, bool constant) {
  GraphParts inner;
  inner.nodes = {onnx::node_of("Tanh", {"x"}, {"c0"})};
  inner.outputs = {onnx::value_info("c0", {2, 3})};
  for (int level = 1; level <= levels; ++level) {
    const std::string name = "c" + std::to_string(level);
    GraphParts other;
    other.nodes = {onnx::node_of("Neg", {"x"}, {"n" + name})};
    other.outputs = {onnx::value_info("n" + name, {2, 3})};
    GraphParts around;
    around.nodes = {
        onnx::node_of("If", {"flag"}, {name},
                      {onnx::message_attribute("then_branch", onnx::graph_of(inner), 5),
                       onnx::message_attribute("else_branch", onnx::graph_of(other), 5)})};
    around.outputs = {onnx::value_info(name, {2, 3})};
    inner = around;
  }
  inner.inputs = {onnx::value_info("x", {2, 3})};
  Message flag;
  flag.integer(2, 9).text(8, "flag").integer(5, 1);
  constexpr int64_t kBool = 9;
  if (constant) {
    inner.initializers = {flag};
  } else {
    inner.inputs.push_back(onnx::value_info("flag", {}, {}, kBool));
  }
  return onnx::model_of(inner).bytes();
}

TEST(OnnxSmallMemory, AChainOfManyNodesRunsOnASmallStack) {
  std::string error;
  EXPECT_EQ(run_on_small_stack(chain(100000), &error), RILL_OK) << error;
}

TEST(OnnxSmallMemory, GraphsInGraphsRunOrAreRefusedOnASmallStack) {
  for (const bool constant : {true, false}) {
    for (const int levels : {1, 4, 11, 12}) {
      std::string error;
      EXPECT_EQ(run_on_small_stack(branches(levels, constant), &error), RILL_OK)
          << levels << ": " << error;
    }
    for (const int levels : {13, 50, 400}) {
      std::string error;
      EXPECT_NE(run_on_small_stack(branches(levels, constant), &error), RILL_OK) << levels;
      EXPECT_NE(error.find("nested"), std::string::npos) << error;
    }
  }
}

TEST(OnnxSmallMemory, EachRequestForMemoryMayBeRefused) {
  if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers replace the heap";
  for (const std::string& file : {chain(5), branches(2, true), branches(2, false)}) {
    ASSERT_EQ(run(file), RILL_OK) << rill_last_error();
    const int64_t blocks = heap_blocks();
    const int64_t before = heap_requests();
    ASSERT_EQ(run(file), RILL_OK) << rill_last_error();
    const int64_t requests = heap_requests() - before;
    int64_t refused = 0;
    for (const bool all : {false, true}) {
      for (int64_t n = 0; n < requests; n += 1 + n / 64) {
        fail_heap_after(n, all);
        const rill_status status = run(file);
        fail_heap_after(-1);
        ASSERT_EQ(heap_blocks(), blocks) << "request " << n;
        if (status == RILL_OK) continue;
        ASSERT_EQ(status, RILL_E_NOMEM) << "request " << n << ": " << rill_last_error();
        ++refused;
      }
    }
    EXPECT_GT(refused, 100);
    EXPECT_EQ(run(file), RILL_OK) << rill_last_error();
  }
}

}  // namespace
}  // namespace rill::test
