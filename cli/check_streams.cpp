#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/check.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/say_impl.h"
#include "cli/windows.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Return the symbol given with `--pulses`, else that of the command line, else S or the only one.
std::string symbol_of(const Args& args, const Graph& whole, const std::string& pulsed) {
  if (const size_t equals = args.proof.pulses.find('='); equals != std::string::npos) {
    return std::string(trimmed(std::string_view(args.proof.pulses).substr(0, equals)));
  }
  if (!pulsed.empty()) return pulsed;
  const std::vector<std::string> symbols = symbols_of(whole);
  const bool has_s =
      std::find(symbols.begin(), symbols.end(), kDefaultStreamSymbol) != symbols.end();
  return has_s || symbols.size() != 1 ? std::string(kDefaultStreamSymbol) : symbols[0];
}

Result<std::vector<int64_t>> pulses_of(const Args& args) {
  std::string_view text = args.proof.pulses;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    text = text.substr(equals + 1);
  }
  std::vector<int64_t> out;
  if (trimmed(text).empty()) return out;
  for (const std::string& part : split(text, ',')) {
    const auto number = parse_dim(part);
    const auto pulse = number.ok() ? number->to_int() : std::nullopt;
    if (!pulse || *pulse < 1) {
      return fail(Code::kArg, "--pulses ", args.proof.pulses, ": expected pulses, as in 1,8,16");
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
    say("{} modes, {} outputs compared, none differs\n", report.modes.size(),
        report.compared());
  }
}

void print_json(const audit::CheckReport& report, const std::string& model) {
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", model}};
  out["symbol"] = report.symbol;
  out["frames"] = report.frames;
  out["modes"] = Json::array();
  for (const audit::CheckedMode& mode : report.modes) {
    Json told{{"pulse", mode.pulse == 0 ? Json(nullptr) : Json(mode.pulse)},
              {"mode", mode.name},
              {"outputs", mode.outputs},
              {"frames", mode.frames},
              {"ok", mode.problem.empty() && mode.refused.empty()}};
    if (mode.outputs > 0) told["same_bits"] = mode.same_bits;
    if (!mode.problem.empty()) told["problem"] = mode.problem;
    if (!mode.refused.empty()) told["skipped"] = mode.refused;
    out["modes"].push_back(std::move(told));
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

}  // namespace

/// `check`: compare the whole run with the references, and streams in every mode with the whole
/// run.
Status check_command(const Args& args, const Log& log, const Model& model) {
  if (model.pulsed() && !model.whole && args.streaming.steps_are_runs()) {
    return fail(Code::kPulse, args.file,
                " has --feedback, --context or --frames: it is what its steps give, and there is "
                "no whole run to check them by")
        .hint("Compare a stream with another program's: stream --assert-output-bundle");
  }
  if (model.pulsed() && !model.whole) {
    return fail(Code::kPulse, args.file,
                " is pulsed already: check the model that it was made from, with --pulses");
  }
  if (pulse::window_of(model.graph)) return check_windows(args, log, model);
  const Graph& whole = model.whole ? *model.whole : model.graph;
  audit::CheckOptions options;
  options.symbol = symbol_of(args, whole, model.stream_symbol);
  RILL_ASSIGN(options.pulses, pulses_of(args));
  RILL_ASSIGN(options.tolerance, tolerance_of(args));
  options.for_all =
      options.tolerance.custom || (!args.checks.approx.empty() && args.checks.approx != "close");
  options.backward_chunks = args.streaming.pulse_backward == "chunk";
  options.threads = args.program.threads;
  options.seed = static_cast<uint64_t>(args.values.seed);
  RILL_ASSIGN(const InputSource source, InputSource::make(args, log));
  RILL_ASSIGN(const InputValues inputs, source.resolve(whole, 0));
  RILL_ASSIGN(const Bundle bundle, Bundle::read(args.values.input_bundles));
  for (const std::string& name : whole.output_names) {
    const Bundle::Item* item = bundle.find(name);
    options.references.push_back(item ? &item->turns[0] : nullptr);
  }
  RILL_ASSIGN(const audit::CheckReport report,
              audit::check(whole, inputs.values, inputs.bindings, options));
  if (args.view.json) {
    print_json(report, args.file);
  } else if (!args.view.quiet) {
    print_text(report);
  }
  return report.verdict();
}

}  // namespace rill::cli
