// Plans as C: a C compiler compiles each one, and its steps give the bits of the plan's steps.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/exec/session.h"
#include "emit_c/emit.h"
#include "emit_c/text.h"
#include "kernels/cpu.h"
#include "ops/emit_table.h"
#include "tests/operators/side_by_side.h"

namespace rill::test {
namespace {

namespace fs = std::filesystem;

using Floats = std::vector<float>;

/// The inputs and outputs of a step of a plan.
struct Step {
  int64_t end = -1;  ///< the end of the stream, if announced before this step
  std::vector<Floats> inputs;
  std::vector<Floats> outputs;
};
struct Model {
  std::string name;
  std::string about;
  emit_c::Source source;
  size_t inputs = 0, outputs = 0;
  bool has_end = false;
  std::vector<Step> steps;
  std::vector<bool> suits;  ///< by the length of a stream
};

emit_c::Arithmetic arithmetic_here() { return ops::arithmetic_of(kernels::running_tier()); }

/// Return numbers of all magnitudes, some of them NaN.
float number(uint64_t at, int step) {
  uint64_t bits =
      (at + 1) * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(step) * 0xD1B54A32D192ED03U;
  bits ^= bits >> 29U;
  bits *= 0xBF58476D1CE4E5B9U;
  bits ^= bits >> 32U;
  const float plain = static_cast<float>(static_cast<int64_t>(bits % 4001U) - 2000) * 1e-3F;
  if (step < 2) return plain;
  switch (bits >> 40U & 63U) {
    case 0:
      return plain * 1e-34F;  // the bits of a denormal are undefined after a min or max
    case 1:
      return plain * 1e-30F;
    case 2:
      return plain * 1e6F;
    case 3:
      return plain * 1e37F;
    case 4:
      return step > 3 ? INFINITY : 0.0F;
    case 5:
      return step > 3 ? std::nanf("") : -0.0F;
    default:
      return plain;
  }
}

Floats of_view(const View& view) {
  const auto* data = view.as<const float>();
  return {data, data + view.volume()};
}

/// Return, for the first lengths, whether a stream of that many frames suits the plan.
std::vector<bool> suiting_lengths(const Plan& plan) {
  std::vector<bool> out;
  if (plan.stream_symbol.empty()) return out;
  auto session = Session::make({std::shared_ptr<void>(), &plan});
  EXPECT_TRUE(session.ok());
  constexpr int64_t kMost = 40;
  for (int64_t frames = 0; frames < kMost; ++frames) {
    out.push_back((*session)->check_length(frames).ok());
  }
  return out;
}

/// Run a plan for a few steps. If `ends`, the stream ends before the last ones.
std::vector<Step> run_plan(const Plan& plan, bool ends) {
  auto session = Session::make({std::shared_ptr<void>(), &plan});
  EXPECT_TRUE(session.ok());
  std::vector<Step> out;
  constexpr int kSteps = 8;
  for (int i = 0; i < kSteps; ++i) {
    Step step;
    if (i + 2 == kSteps && plan.stream_pulse > 0 && ends) {
      const int64_t end = plan.stream_pulse * i + 1;
      if ((*session)->check_length(end).ok()) {
        step.end = end;
        (*session)->announce_end(end);
      }
    }
    for (size_t k = 0; k < plan.inputs.size(); ++k) {
      const View view = (*session)->input(k);
      for (int64_t e = 0; e < view.volume(); ++e) {
        view.as<float>()[e] = number(static_cast<uint64_t>(e) * 3 + k, i);
      }
      step.inputs.push_back(of_view(view));
    }
    (*session)->step();
    for (size_t k = 0; k < plan.outputs.size(); ++k) {
      step.outputs.push_back(of_view((*session)->output(k)));
    }
    out.push_back(std::move(step));
  }
  return out;
}

/// Return an adapter with one signature for every model.
std::string adapter(const Model& model) {
  const std::string& n = model.name;
  std::string call = n + "_step((" + n + "_state *)s";
  for (size_t i = 0; i < model.inputs; ++i) call += str_cat(", in[", i, "]");
  for (size_t i = 0; i < model.outputs; ++i) call += str_cat(", out[", i, "]");
  return "unsigned long " + n + "_bytes(void);\nunsigned long " + n +
         "_bytes(void) { return sizeof(" + n + "_state); }\nvoid " + n +
         "_call(void *s, const float **in, float **out);\nvoid " + n +
         "_call(void *s, const float **in, float **out) {\n  (void)in; (void)out;\n  " + call +
         ");\n}\n";
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

bool same(const Floats& a, const Floats& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return false;
  }
  return a.size() == b.size();
}

/// Stream through an emitted model, and compare with the results of its plan.
void compare(const Model& model, void* library) {
  const auto find = [&](const char* what) { return dlsym(library, (model.name + what).c_str()); };
  const auto bytes = reinterpret_cast<unsigned long (*)()>(find("_bytes"));
  const auto reset = reinterpret_cast<void (*)(void*)>(find("_reset"));
  const auto end = reinterpret_cast<int (*)(void*, int32_t)>(find("_end"));
  const auto suits = reinterpret_cast<int (*)(int32_t)>(find("_suits"));
  const auto call = reinterpret_cast<void (*)(void*, const float**, float**)>(find("_call"));
  ASSERT_TRUE(bytes != nullptr && reset != nullptr && call != nullptr) << model.about;
  ASSERT_EQ(suits != nullptr, !model.suits.empty()) << model.about;
  for (size_t frames = 0; frames < model.suits.size(); ++frames) {
    EXPECT_EQ(suits(static_cast<int32_t>(frames)) != 0, model.suits[frames])
        << model.about << ": a stream of " << frames << " frames";
  }
  std::vector<std::max_align_t> state(bytes() / sizeof(std::max_align_t) + 1);
  for (int again = 0; again < 2; ++again) {
    reset(state.data());
    for (size_t i = 0; i < model.steps.size(); ++i) {
      const Step& step = model.steps[i];
      if (step.end >= 0 && end != nullptr) {
        ASSERT_EQ(end(state.data(), static_cast<int32_t>(step.end)), 1) << model.about;
      }
      std::vector<const float*> in;
      std::vector<float*> out;
      std::vector<Floats> found;
      for (const Floats& each : step.inputs) in.push_back(each.data());
      for (const Floats& each : step.outputs) found.emplace_back(each.size(), 77.0F);
      for (Floats& each : found) out.push_back(each.data());
      call(state.data(), in.data(), out.data());
      for (size_t k = 0; k < found.size(); ++k) {
        ASSERT_TRUE(same(found[k], step.outputs[k]))
            << model.about << ": output " << k << " of step " << i << ", time " << again;
      }
    }
  }
}

/// Compiles models in batches, each time with other compiler flags, and compares them.
class Batches {
 public:
  Batches() : folder_(fs::temp_directory_path() / str_cat("rill_emit_", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~Batches() { fs::remove_all(folder_); }

  void add(Model model) {
    models_.push_back(std::move(model));
    if (models_.size() == 40) finish();
  }

  void finish() {
    if (models_.empty()) return;
    std::string text;
    for (const Model& model : models_) {
      write(folder_ / (model.name + ".h"), model.source.header);
      text += model.source.code + adapter(model);
    }
    const std::string stem = str_cat("batch", batch_);
    write(folder_ / (stem + ".c"), text);
    const fs::path library = folder_ / (stem + ".so");
    const char* const kFlags[] = {"-O1", "-O3 -march=native", "-O0", "-O2 -march=native"};
    const std::string command =
        str_cat(RILL_C_COMPILER, " -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC ",
                kFlags[batch_++ % 4], " -o '", library.string(), "' '",
                (folder_ / (stem + ".c")).string(), "' -lm");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(opened, nullptr) << dlerror();
    for (const Model& model : models_) compare(model, opened);
    dlclose(opened);
    models_.clear();
  }

 private:
  fs::path folder_;
  std::vector<Model> models_;
  int batch_ = 0;
};

/// Emits each plan, and counts refused plans by reason.
class Emitted {
 public:
  SeePlan see(const std::string& about) {
    return [this, about](const PreparedFrom&, const Plan& plan, int) { show(about, plan); };
  }
  int64_t count() const { return count_; }
  void finish() {
    batches_.finish();
    for (const auto& [reason, times] : refused_) {
      std::printf("refused %d times: %s\n", times, reason.c_str());
    }
  }

 private:
  void show(const std::string& about, const Plan& plan) {
    emit_c::EmitOptions options;
    options.name = str_cat("m", count_);
    options.header = options.name + ".h";
    options.target = "this";
    options.model = about;
    options.arithmetic = arithmetic_here();
    auto source = emit_c::emit(plan, ops::emit_table(), options);
    if (!source.ok()) {
      EXPECT_EQ(source.error().code, Code::kUnsupported) << source.error().to_string();
      EXPECT_FALSE(source.error().hint.empty()) << source.error().to_string();
      ++refused_[source.error().message];
      return;
    }
    Model model;
    model.name = options.name;
    model.about = about;
    model.inputs = plan.inputs.size();
    model.outputs = plan.outputs.size();
    model.has_end = source->header.find(options.name + "_end(") != std::string::npos;
    model.source = std::move(source).value();
    model.steps = run_plan(plan, model.has_end);
    model.suits = suiting_lengths(plan);
    batches_.add(std::move(model));
    ++count_;
  }

  Batches batches_;
  int64_t count_ = 0;
  std::map<std::string, int> refused_;
};

TEST(EmittedC, HasTheBitsOfThePlansOfAllOperators) {
  Emitted emitted;
  for (const Case& each : all_cases()) {
    for_each_plan(each, emitted.see(str_cat(each.file, ":", each.line, " ", each.name)));
    if (HasFatalFailure()) return;
  }
  emitted.finish();
  std::printf("%d plans as C\n", static_cast<int>(emitted.count()));
  EXPECT_GT(emitted.count(), 100);
}

/// The names in this plan come from a hostile file.
TEST(EmittedC, CompilesForAnyNames) {
  Emitted emitted;
  const auto see = [&](const PreparedFrom&, const Plan& plan, int) {
    Plan own = plan;
    own.inputs[0].name = Text("*/ #error \\\n\"x\" \?\?/");
    own.outputs[0].name = Text("\xe2\x80\xae*/int");
    for (PlanNode& node : own.nodes) node.name = Text("*/ } \\");
    emitted.see("*/ \\ \?\?/")({Graph(), {}}, own, 1);
    own.inputs[0].name = Text("state");
    own.outputs[0].name = Text("STATE");
    emitted.see("names")({Graph(), {}}, own, 1);
  };
  for_each_plan_of_text("  y = tanh(x) + 1.0;\n", see);
  emitted.finish();
  EXPECT_GT(emitted.count(), 1);
}

TEST(EmittedC, HasTheBitsOfThePlansOfModels) {
  Emitted emitted;
  for_each_plan_of_models([&](const PreparedFrom& from, const Plan& plan, int steps) {
    if (plan.stream_pulse > 0) emitted.see("a model")(from, plan, steps);
  });
  emitted.finish();
  std::printf("%d plans as C\n", static_cast<int>(emitted.count()));
  EXPECT_GT(emitted.count(), 5);
}

TEST(EmittedC, HasNamesThatAreIdentifiers) {
  EXPECT_EQ(emit_c::identifier("x", "in"), "x");
  EXPECT_EQ(emit_c::identifier("", "in"), "in");
  EXPECT_EQ(emit_c::identifier("3rd output", "in"), "n3rd_output");
  for (const char* word : {"NAN", "auto", "const_cast", "do", "int", "state", "unix", "xor_eq"}) {
    EXPECT_EQ(emit_c::identifier(word, "in"), std::string(word) + "_");
  }
  EXPECT_EQ(emit_c::identifier("__a//b__", "in"), "a_b");
  EXPECT_EQ(emit_c::identifier("\xc3\xa9", "in"), "in");
}

TEST(EmittedC, KeepsTextsOfFilesWithinComments) {
  for (const std::string text :
       {"*/ int x; /*", "a\nb", "a\\\nb", "\?\?/", "//", "\xe2\x80\xae", "a**//b",
        "\?\?\?/", "a@b.org"}) {
    const std::string comment = emit_c::with_prefix(emit_c::comment_text(text), "m");
    for (const char* end : {"*/", "/*", "//", "\n", "\\", "\?\?"}) {
      EXPECT_EQ(comment.find(end), std::string::npos) << comment;
    }
    for (const char c : comment) EXPECT_TRUE(c >= ' ' && c <= '~') << comment;
  }
  EXPECT_EQ(emit_c::with_prefix("@x " + emit_c::comment_text("a@b.org"), "m_"), "m_x a@b.org");
}

}  // namespace
}  // namespace rill::test
