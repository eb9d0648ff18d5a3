// Graphs of the maximum size load, pulse and prepare on the smallest stack. The work grows linearly
// with the graph for any operators and wiring. The test counts heap allocations and their bytes,
// which are the same in every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/grown.h"
#include "tests/support/heap_calls.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/small_stack.h"

namespace rill::test {
namespace {

#if defined(RILL_SANITIZED)
constexpr size_t kStack = size_t{8} << 20;  // instrumented stack frames are several times as large
#else
constexpr size_t kStack = size_t{64} << 10;
#endif

/// Run every call of an app from the archive to the first step. Return the error, or "".
std::string run(const std::string& archive, bool streams) {
  rill_model* model = nullptr;
  rill_status status = rill_load_memory(archive.data(), archive.size(), nullptr, &model);
  const ModelPtr keep_model(model);
  if (status == RILL_OK && streams) status = rill_model_pulse(model, "S", "4");
  rill_plan* plan = nullptr;
  if (status == RILL_OK) status = rill_prepare(model, nullptr, &plan);
  const PlanPtr keep_plan(plan);
  rill_session* session = nullptr;
  if (status == RILL_OK) status = rill_session_new(plan, &session);
  const SessionPtr keep_session(session);
  if (status == RILL_OK) status = rill_step(session);
  return status == RILL_OK ? "" : rill_last_error();
}

struct Run {
  std::string error;
  double requests = 0;  ///< heap requests from loading to the first step
  double bytes = 0;     ///< the bytes of these requests, freed or not
};

Run run_on_small_stack(Growth growth, const Statement& statement, size_t count) {
  const std::string archive = grown_archive(growth, statement, count);
  const bool streams = statement.shape.find('S') != std::string::npos;
  Run out;
  on_stack_of(kStack, [&] {
    const int64_t requests = heap_calls();
    const int64_t bytes = heap_bytes_asked();
    out.error = run(archive, streams);
    out.requests = static_cast<double>(heap_calls() - requests);
    out.bytes = static_cast<double>(heap_bytes_asked() - bytes);
  });
  return out;
}

/// Expect linear growth of work. A graph of 4 times the size may take 9 times the work: 4 times, a
/// logarithmic factor, and walks back through up to 1024 nodes, which are shorter in the smaller
/// graph. Quadratic work would grow 16-fold.
void expect_linear(Growth growth, const Statement& statement, size_t count) {
  constexpr double kMost = 9;
  const Run one = run_on_small_stack(growth, statement, count);
  ASSERT_EQ(one.error, "") << count;
  const Run four = run_on_small_stack(growth, statement, 4 * count);
  ASSERT_EQ(four.error, "") << 4 * count;
  EXPECT_LE(four.requests, kMost * one.requests) << count << " statements: " << one.requests;
  EXPECT_LE(four.bytes, kMost * one.bytes) << count << " statements: " << one.bytes;
}

TEST(Growth, AChainOfElementwiseOperatorsIsPreparedOnASmallStack) {
  EXPECT_EQ(run_on_small_stack(Growth::kChain, {"tanh(@)"}, 60000).error, "");
}

struct Group {
  const char* name;
  Statement statement;
};

constexpr char kTaps[] =
    "w=[[[0.5,0.25,0.125]],[[0.1,0.2,0.3]],[[0.3,0.2,0.1]],[[0.2,0.4,0.2]]];\n";
constexpr char kMatrix[] =
    "w=[[[0.5,0.1,0.2,0.3],[0.1,0.5,0.2,0.3],[0.2,0.1,0.5,0.3],[0.3,0.1,0.2,0.5]]];\n";
constexpr char kLoop[] =
    "fragment step(a: tensor<scalar>, h: tensor<scalar>) -> (n: tensor<scalar>) "
    "{ n = tanh(a + h); }\n";

/// At least one operator of every group.
std::vector<Group> groups() {
  return {
      {"math", {"@*1.#"}},
      {"math_reduce", {"@-mean_reduce(@,axes=[1])"}},
      {"math_select", {"select(@<0.#,@,-@)"}},
      {"array_pad", {"slice(pad(@,padding=[(0,0),(1,0),(0,0)],border='constant',value=0.#),"
                     "axes=[1],begin=[1],end=[5])"}},
      {"array_transpose", {"transpose(exp(transpose(@,axes=[0,2,1])),axes=[0,2,1])"}},
      {"array_concat", {"concat([slice(@,axes=[1],begin=[2],end=[4]),"
                        "slice(@,axes=[1],begin=[0],end=[2])],axis=1)"}},
      {"array_reshape", {"reshape(exp(reshape(@,shape=[4,S])),shape=[1,4,S])"}},
      {"array_gather", {"tract_core_gather(@,[3,1,0,2],axis=1)"}},
      {"nn_conv", {"conv(@,w,0.#,padding=[(2,0)],groups=4)", kTaps}},
      {"nn_matmul", {"matmul(w,@)", kMatrix}},
      {"nn_softmax", {"softmax(@,axes=[1])"}},
      {"nn_box", {"box(@,size=[1,1,3],border='constant',padding=[(0,0),(0,0),(1,1)],"
                  "stride=[1,1,1],dilation=[1,1,1],normalize=true)"}},
      {"rnn_and_control", {"tract_core_scan(body='step',scan=[('a',@,2,1)],full=[],"
                           "state=[('h',h,'n')],output=[('n','full',2,1)],skip=0,"
                           "reset_every_turn=false)",
                           "h=[[[0.0],[0.0],[0.0],[0.0]]];\n", kLoop}},
      {"signal", {"tract_extra_exp_mean_norm(@,s,axis=2,alpha=0.9,scaling_factor=2.5)",
                  "s=[[0.0,0.0,0.0,0.0]];\n"}},
      {"quant", {"tract_core_cast(tract_core_cast(@,to='i8'),to='f32')"}},
      {"onnx", {"tract_onnx_lrn(@,alpha=0.5,beta=0.7,bias=1.5,size=3)"}},
      {"transformers", {"tract_transformers_rms_norm(@,axis=1)"}},
      {"vision", {"tract_core_grid_sample(@,g)",
                  "g=[[[[0.1,0.2],[0.3,0.4]],[[0.5,0.6],[0.7,0.8]]]];\n", "", "[1,1,2,2]", "1"}},
  };
}

class Groups : public ::testing::TestWithParam<std::tuple<Growth, Group>> {};

TEST_P(Groups, TakeWorkAsTheyGrow) {
  const auto& [growth, group] = GetParam();
  expect_linear(growth, group.statement, 200);
}

struct GroupName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return std::string(name_of(std::get<0>(info.param))) + "_" + std::get<1>(info.param).name;
  }
};

const auto kGrowths = ::testing::Values(Growth::kChain, Growth::kFan, Growth::kDiamond,
                                        Growth::kCross, Growth::kConcat, Growth::kOutputs);
INSTANTIATE_TEST_SUITE_P(Operators, Groups,
                         ::testing::Combine(kGrowths, ::testing::ValuesIn(groups())), GroupName());

/// Graphs of about 32 768 nodes, a quarter of the limit, and of a quarter of that size.
class Large : public ::testing::TestWithParam<Growth> {};

TEST_P(Large, GraphsTakeWorkAsTheyGrow) {
#if defined(RILL_SANITIZED)
  GTEST_SKIP() << "takes minutes";
#endif
  const bool three = GetParam() == Growth::kCross;
  const bool two = GetParam() == Growth::kFan || GetParam() == Growth::kDiamond;
  const bool merged = GetParam() != Growth::kChain && !two && !three;
  const Statement statement{merged ? "slice(@,axes=[1],begin=[0],end=[#+4])" : "tanh(@)"};
  expect_linear(GetParam(), statement, (three ? 10500 : two ? 16000 : 32000) / 4);
}

struct GrowthName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return name_of(info.param);
  }
};

INSTANTIATE_TEST_SUITE_P(Wired, Large, kGrowths, GrowthName());

}  // namespace
}  // namespace rill::test
