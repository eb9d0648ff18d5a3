// The stack use of each stage stays within the figures of docs/reliability.md on threads of 64 KiB,
// for every model of tests/models, deep attention, and texts nested to the limit.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/grown.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"
#include "tests/support/sanitized.h"
#include "tests/support/small_stack.h"

namespace rill::test {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kSmall = 64 * kKiB;

/// The limits that docs/reliability.md states.
constexpr size_t kMostOfLoad = 46 * kKiB;
constexpr size_t kMostOfPulse = 52 * kKiB;
constexpr size_t kMostOfPrepare = 24 * kKiB;
constexpr size_t kMostOfSession = 26 * kKiB;
constexpr size_t kMostOfStep = 26 * kKiB;
constexpr size_t kMostOfStepsTogether = 38 * kKiB;

struct Stage {
  const char* name;
  size_t most;
  std::function<rill_status()> call;
};

/// Make the calls in order, each on a separate thread, until one fails.
void expect_within(const std::vector<Stage>& stages, size_t stack) {
  for (const Stage& stage : stages) {
    rill_status status = RILL_OK;
    std::string error;
    const StackTaken taken = on_stack_of(stack, [&] {
      status = stage.call();
      if (status != RILL_OK) error = rill_last_error();
    });
    EXPECT_LE(taken.of_the_call, stage.most) << stage.name << ": " << error;
    ::testing::Test::RecordProperty(stage.name, static_cast<int>(taken.of_the_call));
    if (status != RILL_OK) return;
  }
}

/// Check all stages from an archive to a step.
void expect_small(const std::vector<char>& archive, const std::string& symbol, int64_t pulse,
                  size_t stack) {
  rill_model* model = nullptr;
  rill_plan* plan = nullptr;
  rill_session* session = nullptr;
  rill_session* other = nullptr;
  const auto load = [&] {
    const rill_status status = rill_load_memory(archive.data(), archive.size(), nullptr, &model);
    const char* name = nullptr;
    for (size_t i = 0;
         status == RILL_OK && rill_model_symbol(model, i, &name) == RILL_OK && name;) {
      if (name == symbol || rill_model_set_symbol(model, name, "1") != RILL_OK) ++i;
    }
    return status;
  };
  std::vector<Stage> stages = {{"load", kMostOfLoad, load}};
  if (!symbol.empty()) {
    stages.push_back(
        {"pulse", kMostOfPulse,
         [&] { return rill_model_pulse(model, symbol.c_str(), std::to_string(pulse).c_str()); }});
  }
  stages.push_back(
      {"prepare", kMostOfPrepare, [&] { return rill_prepare(model, nullptr, &plan); }});
  stages.push_back({"session", kMostOfSession, [&] { return rill_session_new(plan, &session); }});
  stages.push_back({"step", kMostOfStep, [&] { return rill_step(session); }});
  stages.push_back(
      {"other session", kMostOfSession, [&] { return rill_session_new(plan, &other); }});
  stages.push_back({"steps together", kMostOfStepsTogether, [&] {
                      const rill_session_step steps[] = {
                          {sizeof(rill_session_step), RILL_STEP_FULL, session, 0},
                          {sizeof(rill_session_step), RILL_STEP_FULL, other, 0}};
                      return rill_step_together(steps, 2);
                    }});
  expect_within(stages, stack);
  rill_session_free(session);
  rill_session_free(other);
  rill_plan_release(plan);
  rill_model_free(model);
}

class Stacks : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(RILL_SANITIZED)
    GTEST_SKIP() << "frames of sanitizers are several times as large";
#endif
  }
};

std::string repeated(const std::string& piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

std::string graph_text(const std::string& body, const std::string& before = "") {
  return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
         "extension tract_symbol B;\n" +
         before + "graph g(x)->(y){\nx=external(shape=[1,4,S]);\n" + body + "}\n";
}

/// Texts nested to the limit and beyond; each is loaded or refused.
std::vector<std::string> nested_texts() {
  std::vector<std::string> out;
  for (const int levels : {8, 15, 19, 30, 38, 46, 60, 66, 100, 5000}) {
    const auto nest = [&](const char* open, const char* close) {
      out.push_back(
          graph_text("y=" + repeated(open, levels) + "x" + repeated(close, levels) + ";\n"));
    };
    nest("tanh(", ")");
    nest("(", ")");
    nest("(x+", ")");
    nest("-(", ")");
    nest("select(true,", ",x)");
    nest("x if true else (", ")");
    nest("concat([", "],axis=0)");
    nest("x + ", "");
    // Loading folds these constants in its deepest calls.
    for (const char* bottom : {"matmul([[1.0,2.0]],[[3.0],[4.0]])", "([[1.0,2.0]]*[[3.0],[4.0]])",
                               "softmax([[1.0,2.0]],axes=[1])"}) {
      out.push_back(graph_text("y=x+" + repeated("sum_reduce(", levels) + bottom +
                               repeated(",axes=[0])", levels) + ";\n"));
    }
    nest("[", "]");
    nest("x[", "]");
    const std::string calls = repeated("tanh(", 5) + "f#(tanh(a))" + repeated(")", 5);
    std::string fragments;
    for (int i = 0; i < levels && i < 80; ++i) {
      std::string call = calls;
      call.replace(call.find('#'), 1, std::to_string(i + 1));
      fragments += "fragment f" + std::to_string(i) +
                   "(a: tensor<scalar>)->(b: tensor<scalar>){ b = " + call + "; }\n";
    }
    fragments += "fragment f" + std::to_string(std::min(levels, 80)) +
                 "(a: tensor<scalar>)->(b: tensor<scalar>){ b = tanh(a); }\n";
    out.push_back(graph_text("y=f0(x);\n", fragments));
    out.push_back(graph_text("y=x+f0(matmul([[1.0,2.0]],[[3.0],[4.0]]));\n", fragments));
    std::string loops;
    const auto loop = [](int i, const char* over) {
      return "tract_core_scan(body='l" + std::to_string(i) + "',scan=[('a'," + over +
             ",2,1)],full=[],state=[('h',h,'n')],output=[('n','full',2,1)],skip=0,"
             "reset_every_turn=false)";
    };
    const int depth = std::min(levels, 19) - 6;  // 2 of these texts load
    for (int i = 0; i < depth; ++i) {
      loops += "fragment l" + std::to_string(i) +
               "(a: tensor<scalar>, h: tensor<scalar>)->(n: tensor<scalar>) { n = " +
               (i + 1 < depth ? loop(i + 1, "a") : "tanh(a + h)") + "; }\n";
    }
    const std::string state = "h=[[[0.0],[0.0],[0.0],[0.0]]];\n";
    out.push_back(graph_text(state + "y=" + loop(0, "x") + ";\n", loops));
    // Loops nested in fragments.
    std::string within = loops;
    for (int i = 0; i < std::min(levels, 9) - 3; ++i) {
      within += "fragment w" + std::to_string(i) +
                "(a: tensor<scalar>, h: tensor<scalar>)->(n: tensor<scalar>) { n = " +
                (i > 0 ? "tanh(tanh(w" + std::to_string(i - 1) + "(a, h)))" : loop(0, "a")) +
                "; }\n";
      out.push_back(graph_text(state + "y=w" + std::to_string(i) + "(x, h);\n", within));
    }
    const std::string sum = repeated("(", levels) + "S" + repeated(")", levels);
    const std::string least = repeated("min(2,", levels) + "S" + repeated(")", levels);
    for (const std::string& dim : {sum, least}) {
      out.push_back(graph_text("y=tanh(x);\n", "extension tract_assert " + dim + ">=1;\n"));
    }
    std::string body = "d0=slice(tract_core_shape_of(x),axes=[0],begin=[2],end=[3]);\n";
    for (int i = 0; i < levels && i < 500; ++i) {
      body += "d" + std::to_string(i + 1) + "=" + (i % 2 ? "min" : "max") + "(d" +
              std::to_string(i) + "," + (i % 2 ? "B" : "4*S") + "+" + std::to_string(i % 7) +
              ");\n";
    }
    body += "y=tract_core_broadcast(slice(x,axes=[2],begin=[0],end=[1]),shape=[1,4,d" +
            std::to_string(std::min(levels, 500)) + "]);\n";
    out.push_back(graph_text(body));
  }
  return out;
}

/// Attention with N operators in its mask of positions, and N between scores and softmax.
std::string attention_text(int in_mask, int in_scores) {
  std::string body =
      "r=tract_core_cast(tract_core_range(0,S,1),to='f32');\n"
      "d0=unsqueeze(r,axes=[0])-unsqueeze(r,axes=[1]);\n";
  for (int i = 0; i < in_mask; ++i) {
    body += "d" + std::to_string(i + 1) + "=abs(d" + std::to_string(i) + ");\n";
  }
  body += "m=select(abs(d" + std::to_string(in_mask) +
          ")<8.0,0.0,-1.0/0.0);\ns0=matmul(x,x,transposeA=true)+unsqueeze(m,axes=[0]);\n";
  for (int i = 0; i < in_scores; ++i) {
    body += "s" + std::to_string(i + 1) + "=s" + std::to_string(i) + "*1.5;\n";
  }
  return graph_text(body + "w=softmax(s" + std::to_string(in_scores) +
                    ",axes=[2]);\ny=matmul(x,w,transposeB=true);\n");
}

TEST_F(Stacks, OfDeepAttentionAreSmall) {
  for (const int deep : {4, 50, 70, 900, 5000}) {
    for (const std::string& text : {attention_text(deep, 4), attention_text(4, deep)}) {
      SCOPED_TRACE(deep);
      const std::string archive = archive_of(text);
      expect_small({archive.begin(), archive.end()}, "S", 4, kSmall);
    }
  }
}

TEST_F(Stacks, OfNestedTextsAreSmall) {
  for (const std::string& text : nested_texts()) {
    SCOPED_TRACE(text.substr(0, 400));
    const std::string archive = archive_of(text);
    expect_small({archive.begin(), archive.end()}, "S", 4, kSmall);
  }
}

class StacksOfModels : public Stacks, public ::testing::WithParamInterface<ModelFolder> {};

TEST_P(StacksOfModels, AreSmall) {
  std::ifstream in(GetParam().archive, std::ios::binary);
  expect_small({std::istreambuf_iterator<char>(in), {}}, GetParam().symbol, GetParam().pulse,
               kSmall);
}

INSTANTIATE_TEST_SUITE_P(Models, StacksOfModels, ::testing::ValuesIn(all_models()), ModelName());

TEST_F(Stacks, OfAThreadItselfAreReported) {
  const StackTaken taken = on_stack_of(kSmall, [] {});
  RecordProperty("thread", static_cast<int>(taken.of_the_thread));
  EXPECT_LE(taken.of_the_thread, 17 * kKiB);
}

}  // namespace
}  // namespace rill::test
