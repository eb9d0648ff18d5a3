// The reports of rill_check and rill_inspect agree with other calls of the interface, and expose
// differences.

#include "rill/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "rill/verify.hpp"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr char kFolder[] = RILL_SOURCE_DIR "/tests/models/";

struct Modes {
  std::set<std::string> names;
  std::vector<std::string> problems;
  int64_t outputs = 0;
};

void add_mode(void* user, const rill_check_mode* mode) {
  auto* modes = static_cast<Modes*>(user);
  modes->names.insert(std::to_string(mode->pulse) + " " + mode->name);
  if (*mode->problem) modes->problems.emplace_back(mode->problem);
  if (mode->pulse > 0) modes->outputs += mode->outputs;
}

class Check : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = std::string(kFolder) + "kws_gru/";
    bundle_ = read_bundle(folder + "io.npz");
    rill_model* model = nullptr;
    ASSERT_EQ(rill_load((folder + "model.nnef.tgz").c_str(), nullptr, &model), RILL_OK);
    model_.reset(model);
    rill_io_info io = {};
    io.size = sizeof(io);
    ASSERT_EQ(rill_model_io(model, RILL_INPUT, 0, &io), RILL_OK);
    input_ = bundle_.at(io.name).view();
    ASSERT_EQ(rill_model_io(model, RILL_OUTPUT, 0, &io), RILL_OK);
    output_ = &bundle_.at(io.name);
    opts_.size = sizeof(opts_);
    opts_.pulses = "4,8";
    opts_.mode = add_mode;
    opts_.user = &modes_;
    report_.size = sizeof(report_);
  }

  Arrays bundle_;
  ModelPtr model_;
  rill_view input_ = {};
  Array* output_ = nullptr;
  Modes modes_;
  rill_check_opts opts_ = {};
  rill_check_report report_ = {};
};

TEST_F(Check, RunsEveryModeAtEveryPulse) {
  const rill_view expected = output_->view();
  opts_.expected = &expected;
  opts_.expected_count = 1;
  ASSERT_EQ(rill_check(model_.get(), &input_, 1, &opts_, &report_), RILL_OK) << rill_last_error();
  EXPECT_EQ(modes_.problems, std::vector<std::string>());
  EXPECT_EQ(report_.failed, 0);
  EXPECT_EQ(report_.modes, static_cast<int64_t>(modes_.names.size()));
  EXPECT_EQ(report_.outputs, modes_.outputs);
  for (const char* name :
       {"0 against the references", "4 step by step, NaN after the end", "8 pushed in pieces",
        "4 restarted in the middle", "8 saved and loaded in the middle", "4 moved to pulse 8",
        "8 moved to pulse 4"}) {
    EXPECT_EQ(modes_.names.count(name), 1U) << name;
  }
}

TEST_F(Check, ReportsDifferencesFromTheReference) {
  Array wrong = *output_;
  auto* values = reinterpret_cast<float*>(wrong.bytes.data());
  values[wrong.volume() - 1] += 0.5F;
  const rill_view expected = wrong.view();
  opts_.expected = &expected;
  opts_.expected_count = 1;
  EXPECT_EQ(rill_check(model_.get(), &input_, 1, &opts_, &report_), RILL_E_STATE);
  EXPECT_EQ(report_.failed, 1);
  ASSERT_EQ(modes_.problems.size(), 1U);
  EXPECT_NE(modes_.problems[0].find("First outlier"), std::string::npos) << modes_.problems[0];
  EXPECT_NE(std::string(rill_last_error()).find("against the references"), std::string::npos);
}

TEST_F(Check, AnUnsupportedPulseIsAFailedMode) {
  rill_model* model = nullptr;
  const std::string text =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "graph g(x)->(y){\nx=external(shape=[1,1,S]);\n"
      "y=avg_pool(x,size=[1,1,2],border='constant',padding=[(0,0),(0,0),(0,0)],stride=[1,1,2],"
      "dilation=[1,1,1]);\n}\n";
  ASSERT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &model), RILL_OK);
  const ModelPtr keep(model);
  const Array x = Array::noise({1, 1, 12}, 7);
  const rill_view view = x.view();
  opts_.pulses = "3";
  EXPECT_EQ(rill_check(model, &view, 1, &opts_, &report_), RILL_E_STATE);
  EXPECT_EQ(report_.failed, 1);
  ASSERT_EQ(modes_.problems.size(), 1U);
  opts_.pulses = nullptr;
  EXPECT_EQ(rill_check(model, &view, 1, &opts_, &report_), RILL_OK) << rill_last_error();
}

struct Inspected {
  struct Wire {
    double before = 0, after = 0;
    int64_t delay = 0, least = 0, state_bytes = 0;
    std::string node, causes;
  };
  std::vector<Wire> wires;
  struct Output {
    int64_t pulse = 0, delay = 0, least = 0;
    double latency = 0;
    std::vector<size_t> path;
  };
  std::vector<Output> outputs;
  std::vector<rill_pulse_choice> choices;
};

rill_inspect_opts into(Inspected* out) {
  rill_inspect_opts opts = {};
  opts.size = sizeof(opts);
  opts.user = out;
  opts.wire = [](void* user, const rill_wire_latency* wire) {
    auto* to = static_cast<Inspected*>(user);
    EXPECT_EQ(wire->index, to->wires.size());
    to->wires.push_back({wire->before, wire->after, wire->delay, wire->least_delay,
                         wire->state_bytes, wire->node, wire->causes});
  };
  opts.output = [](void* user, const rill_output_latency* output) {
    auto* to = static_cast<Inspected*>(user);
    EXPECT_EQ(output->index, to->outputs.size());
    to->outputs.push_back({output->pulse, output->delay, output->least_delay, output->latency,
                           {output->path, output->path + output->path_count}});
  };
  opts.choice = [](void* user, const rill_pulse_choice* choice) {
    static_cast<Inspected*>(user)->choices.push_back(*choice);
  };
  return opts;
}

class Inspect : public ::testing::TestWithParam<const char*> {};

/// A plan of the pulsed model reports the same delays. The sum over the wires of the
/// slowest path is the latency of the output.
TEST_P(Inspect, ReportsTheDelaysOfThePlan) {
  rill_model* model = nullptr;
  const std::string path = std::string(kFolder) + GetParam() + "/model.nnef.tgz";
  ASSERT_EQ(rill_load(path.c_str(), nullptr, &model), RILL_OK) << rill_last_error();
  const ModelPtr keep(model);
  const char* symbol = nullptr;
  for (size_t i = 0; rill_model_symbol(model, i, &symbol) == RILL_OK && symbol; ++i) {
    if (std::string(symbol) != "B") continue;
    ASSERT_EQ(rill_model_set_symbol(model, "B", "1"), RILL_OK);
    break;
  }
  Inspected found;
  const rill_inspect_opts opts = into(&found);
  rill_inspect_report report = {};
  report.size = sizeof(report);
  ASSERT_EQ(rill_inspect(model, "S", "auto", &opts, &report), RILL_OK) << rill_last_error();
  ASSERT_GT(found.wires.size(), 0U);
  ASSERT_GT(found.choices.size(), 1U);
  int chosen = 0;
  for (const rill_pulse_choice& choice : found.choices) {
    if (!choice.chosen) continue;
    ++chosen;
    EXPECT_EQ(choice.pulse, report.pulse);
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(report.pulse % report.multiple_of, 0);

  ASSERT_EQ(rill_model_pulse(model, "S", std::to_string(report.pulse).c_str()), RILL_OK);
  rill_plan* raw = nullptr;
  ASSERT_EQ(rill_prepare(model, nullptr, &raw), RILL_OK) << rill_last_error();
  const PlanPtr plan(raw);
  rill_memory_info memory = {};
  memory.size = sizeof(memory);
  ASSERT_EQ(rill_plan_memory(raw, &memory), RILL_OK);
  EXPECT_EQ(memory.state_bytes, report.state_bytes);
  ASSERT_EQ(found.outputs.size(), rill_plan_count(raw, RILL_OUTPUT));
  double most = 0;
  for (size_t i = 0; i < found.outputs.size(); ++i) {
    rill_stream_info stream = {};
    stream.size = sizeof(stream);
    ASSERT_EQ(rill_plan_stream(raw, i, &stream), RILL_OK);
    const Inspected::Output& output = found.outputs[i];
    if (stream.axis < 0) continue;
    EXPECT_EQ(output.delay, stream.delay);
    EXPECT_EQ(output.pulse, stream.pulse);
    EXPECT_EQ(std::ceil(output.latency), static_cast<double>(stream.delay_input_frames));
    if (output.least != RILL_UNKNOWN) {
      EXPECT_LE(output.least, output.delay);
    }
    double added = 0;
    for (const size_t at : output.path) added += found.wires[at].after - found.wires[at].before;
    if (!output.path.empty()) {
      EXPECT_NEAR(added, output.latency, 1e-9);
    }
    most = std::max(most, output.latency);
  }
  EXPECT_EQ(report.latency, most);
}

INSTANTIATE_TEST_SUITE_P(Models, Inspect,
                         ::testing::Values("tcn_dilated", "kws_gru", "unet_denoiser",
                                           "vad_marblenet_audio", "conv_tasnet"));

/// The C++ interface reports the same as the C interface.
TEST(Audit, AWindowThatNoStreamFillsHasAStatus) {
  // No audit makes streams of more than 2^21 frames, with any amount of time.
  constexpr char kText[] =
      "version 1.0;\n\nextension tract_registry tract_core;\nextension tract_symbol S;\n\n"
      "graph network(x) -> (y)\n{\n  x = external<scalar>(shape = [1, 1, S]);\n"
      "  p = pad(x, padding = [(0, 0), (0, 0), (3000000, 0)], border = 'constant', value = 0.0);\n"
      "  y = max_pool(p, size = [1, 1, 2], stride = [1, 1, 1], dilation = [1, 1, 3000000], "
      "padding = [(0, 0), (0, 0), (0, 0)], border = 'ignore');\n}\n";
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_load_memory(kText, sizeof(kText) - 1, nullptr, &raw), RILL_OK)
      << rill_last_error();
  const ModelPtr whole(raw);
  ASSERT_EQ(rill_model_clone(raw, &raw), RILL_OK);
  const ModelPtr pulsed(raw);
  ASSERT_EQ(rill_model_pulse(raw, "S", "1"), RILL_OK) << rill_last_error();
  rill_audit_opts opts = {};
  opts.size = sizeof(opts);
  opts.seconds = 3;
  rill_audit_report report = {};
  report.size = sizeof(report);
  EXPECT_EQ(rill_model_audit(whole.get(), pulsed.get(), &opts, &report), RILL_E_NOT_REACHED);
  const std::string text = rill_last_error();
  EXPECT_NE(text.find("cross the window of 3000000 frames"), std::string::npos) << text;
  EXPECT_GT(report.lengths, 0);
  EXPECT_EQ(std::string(rill_status_name(RILL_E_NOT_REACHED)), "not reached");
}

/// A model that reads the whole stream: x minus the maximum or minimum of all frames, and that one.
std::string extreme_text(const std::string& extreme) {
  return "version 1.0;\n\nextension tract_registry tract_core;\nextension tract_symbol S;\n\n"
         "graph network(x) -> (y, peak)\n{\n  x = external<scalar>(shape = [1, S]);\n  most = " +
         extreme +
         "_reduce(x, axes = [1]);\n  y = x - most;\n  peak = squeeze(most, axes = [1]);\n}\n";
}

ModelPtr model_of(const std::string& text) {
  rill_model* raw = nullptr;
  EXPECT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &raw), RILL_OK)
      << rill_last_error();
  return ModelPtr(raw);
}

TEST(Audit, WindowsAreComparedToOneRunPerWindow) {
  const ModelPtr whole = model_of(extreme_text("max"));
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_model_clone(whole.get(), &raw), RILL_OK);
  const ModelPtr windowed(raw);
  ASSERT_EQ(rill_model_window(raw, "S", 5, 2, 3), RILL_OK) << rill_last_error();
  rill_audit_opts opts = {};
  opts.size = sizeof(opts);
  opts.seconds = 0.3;
  rill_audit_report report = {};
  report.size = sizeof(report);
  EXPECT_EQ(rill_model_audit(whole.get(), windowed.get(), &opts, &report), RILL_OK)
      << rill_last_error();
  EXPECT_GT(report.lengths, 1);
  EXPECT_GT(report.frames, 0);

  const ModelPtr other = model_of(extreme_text("min"));
  EXPECT_EQ(rill_model_audit(other.get(), windowed.get(), &opts, nullptr), RILL_E_STATE);
  EXPECT_NE(std::string(rill_last_error()).find("differs"), std::string::npos)
      << rill_last_error();
}

TEST(VerifyInCpp, ChecksAndInspects) {
  const std::string folder = std::string(kFolder) + "kws_gru/";
  Result<Model> model = Model::load(folder + "model.nnef.tgz");
  ASSERT_TRUE(model.ok()) << model.error().text;
  Arrays bundle = read_bundle(folder + "io.npz");
  const rill_view input = bundle.at(model->inputs()[0].name).view();
  const Result<Checked> checked = check(*model, {input}, "4,8");
  ASSERT_TRUE(checked.ok()) << checked.error().text;
  EXPECT_TRUE(checked.value());
  EXPECT_GT(checked.value().outputs, 0);
  ASSERT_GT(checked.value().modes.size(), 4U);
  EXPECT_EQ(checked.value().modes.back().problem, "");

  const Result<rill::Inspected> in_cpp = inspect(*model, "8");
  ASSERT_TRUE(in_cpp.ok()) << in_cpp.error().text;
  test::Inspected found;
  const rill_inspect_opts opts = into(&found);
  rill_inspect_report report = {};
  report.size = sizeof(report);
  ASSERT_EQ(rill_inspect(model->get(), "S", "8", &opts, &report), RILL_OK);
  EXPECT_EQ(in_cpp.value().pulse, 8);
  EXPECT_EQ(in_cpp.value().latency, report.latency);
  EXPECT_EQ(in_cpp.value().state_bytes, report.state_bytes);
  ASSERT_EQ(in_cpp.value().wires.size(), found.wires.size());
  EXPECT_EQ(in_cpp.value().wires.back().node, found.wires.back().node);
  EXPECT_EQ(in_cpp.value().outputs.at(0).delay, found.outputs.at(0).delay);
  EXPECT_EQ(in_cpp.value().outputs.at(0).path, found.outputs.at(0).path);
}

TEST(VerifyInCpp, FailedAndImpossibleChecksDiffer) {
  Result<Model> model = Model::load(std::string(kFolder) + "kws_gru/model.nnef.tgz");
  ASSERT_TRUE(model.ok()) << model.error().text;
  const Result<Checked> none = check(*model, {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text, "");
  Arrays bundle = read_bundle(std::string(kFolder) + "kws_gru/io.npz");
  const rill_view input = bundle.at(model->inputs()[0].name).view();
  const Result<Checked> failed = check(*model, {input}, "1000003");
  ASSERT_TRUE(failed.ok()) << failed.error().text;
  EXPECT_FALSE(failed.value()) << "a pulse that is longer than the recording";
  EXPECT_NE(failed.value().error->text, "");
  const Result<rill::Inspected> refused = inspect(*model, "8", "T");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("T"), std::string::npos) << refused.error().text;
}

}  // namespace
}  // namespace rill::test
