// Properties of every operator, over the cases of tests/operators/cases.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>

#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "kernels/tiers.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "tests/operators/case.h"
#include "tests/operators/reference_run.h"
#include "tests/property/streaming.h"
#include "tests/support/heap_calls.h"

namespace rill::test {
namespace {

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

Bindings bind(int64_t length) { return {{"S", length}}; }

class Operators : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto graph = load_case(GetParam());
    ASSERT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << GetParam().text();
    graph_ = *std::move(graph);
    lengths_ = GetParam().lengths;
    if (lengths_.empty()) lengths_ = {1};
  }
  void TearDown() override { kernels::clear_tier_limit(); }

  Graph bound(int64_t length) const {
    // As models are loaded: rewrites that round differently need the open graph.
    auto out = declutter(graph_);
    if (out.ok()) out = out->with_symbol("S", Dim(length));
    EXPECT_TRUE(out.ok()) << out.error().to_string();
    return out.ok() ? *std::move(out) : Graph();
  }
  std::vector<Tensor> inputs(int64_t length, uint64_t seed = 7) const {
    auto out = case_inputs(GetParam(), graph_, bind(length), seed);
    EXPECT_TRUE(out.ok()) << out.error().to_string();
    return out.ok() ? *std::move(out) : std::vector<Tensor>();
  }
  std::vector<Tensor> run(const Graph& graph, int64_t length) const {
    auto whole = WholeRun::make(graph, length);
    EXPECT_TRUE(whole.ok()) << whole.error().to_string();
    return whole.ok() ? whole->run(inputs(length)) : std::vector<Tensor>();
  }
  void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                   const std::string& what) const {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (size_t i = 0; i < expected.size(); ++i) {
      const Allowance allowed = allowance(graph_, expected[i].dtype());
      EXPECT_EQ(difference_within(found[i], expected[i], allowed), "")
          << what << ", output " << i << "\n"
          << GetParam().text();
    }
  }

  Graph graph_;
  std::vector<int64_t> lengths_;
};

TEST_P(Operators, TheShapesOfARunAreThoseInferred) {
  if (GetParam().pulsed) return;
  for (const int64_t length : lengths_) {
    const std::vector<Tensor> found = run(graph_, length);
    for (size_t i = 0; i < found.size(); ++i) {
      std::vector<int64_t> expected;
      for (const Dim& dim : graph_.fact(graph_.outputs[i]).shape) {
        expected.push_back(dim.eval(bind(length)).value_or(-1));
      }
      EXPECT_EQ(found[i].shape(), expected) << "S = " << length;
    }
  }
}

TEST_P(Operators, BindingThenInferringIsInferringThenBinding) {
  for (const int64_t length : lengths_) {
    const Graph late = bound(length);
    ASSERT_EQ(late.outputs.size(), graph_.outputs.size());
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Fact early = substitute(graph_.fact(graph_.outputs[i]), "S", Dim(length));
      const Fact& found = late.fact(late.outputs[i]);
      EXPECT_EQ(str_cat(found.shape), str_cat(early.shape)) << "S = " << length;
      EXPECT_EQ(found.dtype, early.dtype);
    }
  }
}

TEST_P(Operators, WrittenModelsReadBack) {
  const std::string path = ::testing::TempDir() + "rill_operators_" + GetParam().name + ".tar";
  auto simple = declutter(graph_);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  for (const Graph& graph : {graph_, *simple}) {
    nnef::SaveOptions options;
    options.read_back = ops::op_table();  // compared node by node
    const Status saved = nnef::save(graph, path, nnef::Container::kTar, options);
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    auto again = nnef::load(path, ops::op_table());
    const std::string text = std::move(nnef::graph_text(graph)).value();
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << text;
    if (GetParam().pulsed) continue;
    for (const int64_t length : lengths_) {
      expect_same(run(*again, length), run(graph, length), str_cat("S = ", length, "\n", text));
    }
  }
  std::filesystem::remove(path);
}

TEST_P(Operators, RewritingKeepsTheOutputs) {
  if (GetParam().pulsed) return;
  for (const int64_t length : lengths_) {
    auto expected = reference_run(bound(length), inputs(length));
    ASSERT_TRUE(expected.ok()) << expected.error().to_string();
    expect_same(run(graph_, length), *expected, str_cat("S = ", length));
  }
}

TEST_P(Operators, AStreamGivesTheFramesOfTheWholeRun) {
  for (const int64_t pulse : GetParam().pulses) {
    auto streamed = StreamedRun::make(graph_, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << "\n" << GetParam().text();
    for (const int64_t length : lengths_) {
      auto frames = streamed->run(inputs(length), length);
      ASSERT_TRUE(frames.ok()) << frames.error().to_string();
      const std::vector<Tensor> expected = run(graph_, length);
      ASSERT_EQ(frames->size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(difference((*frames)[i], expected[i]), "")
            << "pulse " << pulse << ", S = " << length << ", output " << i << "\n"
            << GetParam().text();
      }
    }
  }
}

TEST_P(Operators, ARefusedStreamHasAReasonAndARemedy) {
  if (GetParam().refusal.empty()) return;
  auto streamed = StreamedRun::make(graph_, 4);
  ASSERT_FALSE(streamed.ok());
  EXPECT_EQ(streamed.error().code, Code::kPulse);
  EXPECT_NE(streamed.error().to_string().find(GetParam().refusal), std::string::npos)
      << streamed.error().to_string();
}

TEST_P(Operators, ACopiedSessionContinuesAsTheOriginal) {
  for (const int64_t pulse : GetParam().pulses) {
    auto first = StreamedRun::make(graph_, pulse);
    ASSERT_TRUE(first.ok());
    Session& original = first->session();
    auto copy = Session::make({std::shared_ptr<void>(), &original.plan()});
    ASSERT_TRUE(copy.ok());
    for (int tick = 0; tick < 6; ++tick) {
      if (tick == 3) (*copy)->copy_state(original);
      const std::vector<Tensor> in = inputs(pulse, static_cast<uint64_t>(tick));
      for (size_t i = 0; i < in.size(); ++i) {
        copy_view(in[i].view(), original.input(i));
        copy_view(in[i].view(), (*copy)->input(i));
      }
      original.step();
      (*copy)->step();
      if (tick < 3) continue;
      for (size_t i = 0; i < original.plan().outputs.size(); ++i) {
        const View a = original.output(i);
        const View b = (*copy)->output(i);
        const auto bytes = static_cast<size_t>(a.volume() * dtype_size(a.dtype));
        EXPECT_EQ(std::memcmp(a.data, b.data, bytes), 0) << "tick " << tick << ", output " << i;
      }
    }
  }
}

/// The bytes of a part of a session's memory.
std::span<std::byte> bytes_of(const Session& session, const SessionPart& part) {
  return {session.at(part), static_cast<size_t>(part.bytes)};
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST_P(Operators, AllThatASessionKeepsIsFoundInACopy) {
  for (const int64_t pulse : GetParam().pulses) {
    auto first = StreamedRun::make(graph_, pulse);
    ASSERT_TRUE(first.ok());
    Session& original = first->session();
    auto copy = Session::make({std::shared_ptr<void>(), &original.plan()});
    ASSERT_TRUE(copy.ok());
    int64_t value = 0;
    int64_t bytes = 0;
    for (const SessionPart& part : original.parts().all) {
      bytes += part.bytes;
      const std::span<std::byte> own = bytes_of(original, part);
      if (part.use == PartUse::kPlaces) {
        const std::span<int64_t> places(reinterpret_cast<int64_t*>(own.data()), own.size() / 8);
        for (int64_t& place : places) place = 1 + value++ % 3;  // a plausible count of frames
      } else if (is_kept(part.use)) {
        for (std::byte& byte : own) byte = static_cast<std::byte>(1 + value++ % 251);
      }
    }
    EXPECT_LE(bytes, original.parts().bytes);
    (*copy)->copy_state(original);
    for (const SessionPart& part : original.parts().all) {
      if (!is_kept(part.use)) continue;
      EXPECT_TRUE(same_bytes(bytes_of(original, part), bytes_of(**copy, part)))
          << "use " << static_cast<int>(part.use) << ", index " << part.index;
    }
  }
}

TEST_P(Operators, StepsReadNothingThatASessionDoesNotKeep) {
  for (const int64_t pulse : GetParam().pulses) {
    auto first = StreamedRun::make(graph_, pulse);
    ASSERT_TRUE(first.ok());
    Session& clean = first->session();
    auto soiled = Session::make({std::shared_ptr<void>(), &clean.plan()});
    ASSERT_TRUE(soiled.ok());
    for (int tick = 0; tick < 5; ++tick) {
      const std::vector<Tensor> in = inputs(pulse, static_cast<uint64_t>(tick));
      for (Session* session : {&clean, soiled->get()}) {
        for (size_t i = 0; i < in.size(); ++i) copy_view(in[i].view(), session->input(i));
      }
      for (const SessionPart& part : (*soiled)->parts().all) {
        if (part.use != PartUse::kArena) continue;
        const std::span<std::byte> bytes = bytes_of(**soiled, part);
        std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
      }
      clean.step();
      (*soiled)->step();
      for (size_t i = 0; i < clean.plan().outputs.size(); ++i) {
        const SessionPart& part = clean.parts().of(PartUse::kOutput, i);
        EXPECT_TRUE(same_bytes(bytes_of(clean, part), bytes_of(**soiled, part)))
            << "tick " << tick << ", output " << i;
      }
    }
  }
}

/// A whole graph keeps no state, so a run does not depend on earlier runs.
TEST_P(Operators, EveryRunOfAWholeGraphIsTheFirst) {
  if (GetParam().pulsed) return;
  for (const int64_t length : lengths_) {
    auto whole = WholeRun::make(graph_, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    EXPECT_EQ(whole->plan().state_bytes > 0, GetParam().kept) << GetParam().text();
    if (GetParam().kept) continue;
    for (const uint64_t seed : {8, 7, 9}) {
      auto fresh = WholeRun::make(graph_, length);
      ASSERT_TRUE(fresh.ok()) << fresh.error().to_string();
      const std::vector<Tensor> in = inputs(length, seed);
      const std::vector<Tensor> expected = fresh->run(in);
      const std::vector<Tensor> found = whole->run(in);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(difference(found[i], expected[i]), "")
            << "S = " << length << ", seed " << seed << ", output " << i << "\n"
            << GetParam().text();
      }
    }
  }
}

/// If no input streams, every step of a stream gives the same results, and the inputs of earlier
/// steps do not matter.
TEST_P(Operators, WithoutFramesEveryStepIsAWholeRun) {
  if (GetParam().pulsed) return;
  for (const int64_t length : lengths_) {
    Graph with_frames = bound(length);
    const OutletId frames =
        with_frames.add_source("frames", Fact::of(DType::kF32, {Dim::symbol("S")}));
    with_frames.add_output("frames", frames);
    auto streamed = StreamedRun::make(with_frames, 2);
    if (GetParam().kept) {
      ASSERT_FALSE(streamed.ok());
      EXPECT_EQ(streamed.error().code, Code::kPulse);
      continue;
    }
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << "\n" << GetParam().text();
    Session& session = streamed->session();
    EXPECT_EQ(session.plan().state_bytes, 0) << GetParam().text();
    for (const uint64_t seed : {7, 8, 8, 9}) {
      const std::vector<Tensor> in = inputs(length, seed);
      for (size_t i = 0; i < in.size(); ++i) copy_view(in[i].view(), session.input(i));
      session.step();
      auto whole = WholeRun::make(graph_, length);
      ASSERT_TRUE(whole.ok()) << whole.error().to_string();
      const std::vector<Tensor> expected = whole->run(in);
      for (size_t i = 0; i < expected.size(); ++i) {
        const View found = session.output(i);
        const auto bytes = static_cast<size_t>(expected[i].size_bytes());
        EXPECT_EQ(std::memcmp(found.data, expected[i].raw(), bytes), 0)
            << "S = " << length << ", seed " << seed << ", output " << i << "\n"
            << GetParam().text();
      }
    }
  }
}

TEST_P(Operators, StepsAskNothingOfTheHeap) {
  const int64_t length = lengths_.back();
  Graph graph = GetParam().pulsed ? graph_ : bound(length);
  auto simple = declutter(graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  auto plan = prepare(*simple);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  auto session = Session::make(*plan);
  ASSERT_TRUE(session.ok()) << session.error().to_string();
  const std::vector<Tensor> in = inputs(length);
  for (size_t i = 0; i < in.size(); ++i) copy_view(in[i].view(), (*session)->input(i));
  const int64_t before = heap_calls();
  (*session)->step();
  (*session)->step();
  EXPECT_EQ(heap_calls(), before) << GetParam().text();
}

/// Return the bytes that a plan shares between its sessions.
std::vector<std::byte> constants_of(const Plan& plan) {
  std::vector<std::byte> bytes;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.kind != BufferKind::kConst || !buffer.data) continue;
    const auto* data = static_cast<const std::byte*>(buffer.data.get());
    bytes.insert(bytes.end(), data, data + buffer.bytes);
  }
  return bytes;
}

TEST_P(Operators, StepsLeaveConstantsUnchanged) {
  if (GetParam().pulsed) return;
  const int64_t length = lengths_.back();
  auto whole = WholeRun::make(graph_, length);
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  const std::vector<std::byte> before = constants_of(whole->plan());
  whole->run(inputs(length));
  whole->run(inputs(length, 8));
  EXPECT_TRUE(constants_of(whole->plan()) == before) << GetParam().text();
}

TEST_P(Operators, EveryTierAgreesWithScalar) {
  if (!RILL_HAS_SCALAR) GTEST_SKIP() << "this build has no scalar kernels";
  if (GetParam().pulsed) return;
  for (const int64_t length : lengths_) {
    kernels::set_tier_limit(kernels::Tier::kScalar);
    const std::vector<Tensor> expected = run(graph_, length);
    for (const auto tier : {kernels::Tier::kSse42, kernels::Tier::kAvx2, kernels::Tier::kAvx512,
                            kernels::Tier::kNeon}) {
      if (!kernels::supports(kernels::detected_tier(), tier)) continue;
      kernels::set_tier_limit(tier);
      expect_same(run(graph_, length), expected, kernels::tier_name(tier));
    }
  }
}

/// Load, simplify, prepare and run. Every stage may return an error; none may crash.
void try_out(const Case& a_case, int64_t length) {
  auto graph = load_case(a_case);
  if (!graph.ok()) {
    EXPECT_FALSE(graph.error().message.empty());
    return;
  }
  auto streamed = StreamedRun::make(*graph, 4);
  if (!streamed.ok()) {
    EXPECT_FALSE(streamed.error().message.empty());
  }
  auto whole = WholeRun::make(*graph, length);
  if (!whole.ok()) {
    EXPECT_FALSE(whole.error().message.empty());
    return;
  }
  auto inputs = case_inputs(a_case, *graph, bind(length), 3);
  if (inputs.ok()) whole->run(*inputs);
}

TEST_P(Operators, WrongInputsAreErrorsAndNoCrash) {
  const int64_t length = lengths_.back();
  const auto with = [&](bool weight, size_t index, auto change) {
    Case wrong = GetParam();
    change(&(weight ? wrong.weights : wrong.inputs)[index]);
    try_out(wrong, length);
  };
  for (const bool weight : {false, true}) {
    const std::vector<Operand>& operands = weight ? GetParam().weights : GetParam().inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      for (const DType dtype : {DType::kBool, DType::kI64, DType::kU8, DType::kF16, DType::kF64}) {
        with(weight, i, [&](Operand* operand) { operand->dtype = dtype; });
      }
      with(weight, i, [](Operand* operand) { operand->shape.clear(); });
      with(weight, i, [](Operand* operand) { operand->shape.push_back("1"); });
      with(weight, i, [](Operand* operand) { operand->shape.push_back("3"); });
      with(weight, i, [](Operand* operand) {
        if (!operand->shape.empty()) operand->shape.pop_back();
      });
      for (size_t axis = 0; axis < operands[i].shape.size(); ++axis) {
        for (const char* extent : {"0", "1", "17"}) {
          with(weight, i, [&](Operand* operand) { operand->shape[axis] = extent; });
        }
        if (weight) continue;
        for (const char* extent : {"-1", "4611686018427387904", "S", "2*S+1"}) {
          with(weight, i, [&](Operand* operand) { operand->shape[axis] = extent; });
        }
      }
    }
  }
  if (GetParam().lengths.empty()) return;
  for (const int64_t other : {int64_t{0}, int64_t{2}, int64_t{-3}, int64_t{1} << 61}) {
    try_out(GetParam(), other);
  }
}

TEST_P(Operators, WrongAttributesAreErrorsAndNoCrash) {
  const std::string& statements = GetParam().statements;
  for (size_t at = 0; at < statements.size();) {
    const size_t end = std::min(statements.find_first_not_of("0123456789", at), statements.size());
    const bool in_word = at > 0 && (std::isalnum(statements[at - 1]) || statements[at - 1] == '_');
    if (end == at || in_word) {
      at = std::max(at + 1, end);
      continue;
    }
    for (const char* number : {"-1", "0", "5", "30011", "4611686018427387904"}) {
      Case wrong = GetParam();
      wrong.statements.replace(at, end - at, number);
      try_out(wrong, lengths_.back());
    }
    at = end;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Operators, ::testing::ValuesIn(all_cases()), CaseName());

TEST(OpTable, EveryOperatorHasACase) {
  std::string text;
  for (const Case& a_case : all_cases()) text += a_case.text();
  for (const OpModule* module : ops::op_table()) {
    for (const NnefOp& op : module->nnef) {
      const std::string declaration = op.declaration;
      const size_t begin = declaration.find(' ') + 1;
      const std::string name =
          declaration.substr(begin, declaration.find_first_of("<(", begin) - begin);
      const bool found = text.find(" " + name + "(") != std::string::npos ||
                         text.find("(" + name + "(") != std::string::npos ||
                         text.find(" " + name + "<") != std::string::npos;
      EXPECT_TRUE(found) << name << " has no case in tests/operators/cases";
    }
  }
}

}  // namespace
}  // namespace rill::test
