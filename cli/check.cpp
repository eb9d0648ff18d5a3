#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/check.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "cli/windows.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Return the symbol given with `--pulses`, else that of the command line, else S or the only one.
std::string symbol_of(const std::string& pulses, const Graph& whole, const std::string& pulsed) {
  if (const size_t equals = pulses.find('='); equals != std::string::npos) {
    return std::string(trimmed(std::string_view(pulses).substr(0, equals)));
  }
  if (!pulsed.empty()) return pulsed;
  const std::vector<std::string> symbols = symbols_of(whole);
  const bool has_s =
      std::find(symbols.begin(), symbols.end(), kDefaultStreamSymbol) != symbols.end();
  return has_s || symbols.size() != 1 ? std::string(kDefaultStreamSymbol) : symbols[0];
}

Result<std::vector<int64_t>> pulses_of(const std::string& pulses) {
  std::string_view text = pulses;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    text = text.substr(equals + 1);
  }
  std::vector<int64_t> out;
  if (trimmed(text).empty()) return out;
  for (const std::string& part : split(text, ',')) {
    const auto number = parse_dim(part);
    const auto pulse = number.ok() ? number->to_int() : std::nullopt;
    if (!pulse || *pulse < 1) {
      return fail(Code::kArg, "--pulses ", pulses, ": expected pulses, as in 1,8,16");
    }
    out.push_back(*pulse);
  }
  return out;
}

std::string verdict_text(const audit::CheckedMode& mode) {
  if (!mode.problem.empty()) return "FAILED: " + mode.problem;
  if (!mode.refused.empty()) return "skipped: " + mode.refused;
  return mode.same_bits ? "same bits" : "close";
}

void print_text(const audit::CheckReport& report) {
  for (const audit::CheckedMode& mode : report.modes) {
    const std::string pulse =
        mode.pulse == 0 ? "whole" : escaped_format("{}={}", report.symbol, mode.pulse);
    say("{:<8} {:<34} {} output{}: {}\n", pulse, mode.name, mode.outputs,
        mode.outputs == 1 ? "" : "s", verdict_text(mode));
  }
  if (report.first_node) {
    say("first node that differs: {}\n", report.first_node->to_string());
  }
  if (report.verdict().ok()) {
    say("{} modes, {} outputs compared, none differs\n", report.modes.size(), report.compared());
  }
}

void print_json(const audit::CheckReport& report, const std::string& model) {
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", model}};
  out["symbol"] = report.symbol;
  out["frames"] = report.frames;
  out["modes"] = Json::array();
  for (const audit::CheckedMode& mode : report.modes) {
    Json entry{{"pulse", mode.pulse == 0 ? Json(nullptr) : Json(mode.pulse)},
               {"mode", mode.name},
               {"outputs", mode.outputs},
               {"frames", mode.frames},
               {"ok", mode.problem.empty() && mode.refused.empty()}};
    if (mode.outputs > 0) entry["same_bits"] = mode.same_bits;
    if (!mode.problem.empty()) entry["problem"] = mode.problem;
    if (!mode.refused.empty()) entry["skipped"] = mode.refused;
    out["modes"].push_back(std::move(entry));
  }
  out["unproven"] = report.unproven;
  out["first_node"] = nullptr;
  if (report.first_node) {
    out["first_node"] = {{"name", report.first_node->name},
                         {"op", report.first_node->op},
                         {"line", report.first_node->line},
                         {"what", report.first_node->what}};
  }
  say("{}\n", Escaped{safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace))});
}

/// Compares the whole run with the references, and streams in every mode with the whole run.
class CheckCommand final : public ModelCommand {
 public:
  CheckCommand()
      : ModelCommand({"check", kOnCheck, "check streams of all kinds against the whole run",
                      "rill model.nnef.tgz check --io io.npz --pulses 1,8,16", false}) {}

  void add_options(std::vector<Option>* out) override {
    add(&checks_, out);
    add(&report_, out);
    append_options(out, "Proof",
                   {{"--pulses", kOnCheck, &pulses_, "pulses to check, as in 1,8,16"}});
  }
  std::optional<std::string> wrong_value(const CommonOptions& common) const override {
    if (!common.streaming.window.empty() && !pulses_.empty()) {
      return "--window does not combine with --pulse: each defines how the model streams";
    }
    return cli::wrong_value(checks_);
  }

 protected:
  Demands demands(const CommonOptions&) const override {
    Demands out;
    out.values_decide = true;
    return out;
  }
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    if (model.pulsed() && !model.whole && common.streaming.steps_are_runs()) {
      return fail(Code::kPulse, common.file,
                  " has --feedback, --context or --frames: its steps define it, so there is "
                  "no whole run to compare with")
          .hint("Compare a stream with another program's: stream --assert-output-bundle");
    }
    if (model.pulsed() && !model.whole) {
      return fail(Code::kPulse, common.file,
                  " is pulsed already: check the model that it was made from, with --pulses");
    }
    if (pulse::window_of(model.graph)) return check_windows(common, checks_, report_, log, model);
    const Graph& whole = model.whole ? *model.whole : model.graph;
    audit::CheckOptions options;
    options.symbol = symbol_of(pulses_, whole, model.stream_symbol);
    RILL_ASSIGN(options.pulses, pulses_of(pulses_));
    RILL_ASSIGN(options.tolerance, tolerance_of(checks_));
    options.for_all =
        options.tolerance.custom || (!checks_.approx.empty() && checks_.approx != "close");
    options.backward_chunks = common.streaming.pulse_backward == "chunk";
    options.threads = common.program.threads;
    options.seed = static_cast<uint64_t>(common.values.seed);
    RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
    RILL_ASSIGN(const InputValues inputs, source.resolve(whole, 0));
    RILL_ASSIGN(const Bundle bundle, Bundle::read(common.values.input_bundles));
    for (const std::string& name : whole.output_names) {
      const Bundle::Item* item = bundle.find(name);
      options.references.push_back(item ? &item->turns[0] : nullptr);
    }
    RILL_ASSIGN(const audit::CheckReport report,
                audit::check(whole, inputs.values, inputs.bindings, options));
    if (report_.json) {
      print_json(report, common.file);
    } else if (!report_.quiet) {
      print_text(report);
    }
    return report.verdict();
  }

 private:
  CheckOptions checks_;
  ReportOptions report_;
  std::string pulses_;
};

}  // namespace

std::unique_ptr<Command> check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace rill::cli
