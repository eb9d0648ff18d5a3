#include "cli/audit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "audit/windows.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/say_impl.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCommandSeconds = 20;
constexpr double kWritingSeconds = 1;
/// The time to suggest if the default was too short.
constexpr double kMoreSeconds = 20;
/// The text of the audit in a written model.
constexpr const char* kAuditKey = "rill.audit";

bool is_random(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->tolerance() == rill::Tolerance::kRandom ||
           (node.op->nested() != nullptr && is_random(*node.op->nested()));
  });
}

/// Return the reason why a stream of this model may differ from the whole run; empty if it must
/// not.
std::string why_not(const CommonOptions& common, const Model& model) {
  if (!model.whole && common.streaming.steps_are_runs()) {
    return "a model with --feedback, --context or --frames is defined by its steps: there is no "
           "whole run";
  }
  if (!model.whole) return "the model is pulsed already: give the whole model, with --pulse";
  if (!model.report.approximations.empty()) {
    return str_cat("the streamed model is not the whole one: ",
                   join(model.report.approximations, "; "));
  }
  if (is_random(*model.whole)) return "the model draws random numbers";
  return {};
}

Result<Bindings> settings_of(const CommonOptions& common, const Log& log) {
  RILL_ASSIGN(const InputSource source, InputSource::make(common, log));
  Bindings out = source.settings();
  for (const std::string& text : common.model.set) {
    RILL_ASSIGN(const auto setting, parse_setting(text));
    if (const auto value = setting.second.eval(out)) out.emplace_back(setting.first, *value);
  }
  return out;
}

double seconds_of(const ProofOptions& proof, double otherwise) {
  return proof.seconds > 0 ? proof.seconds : otherwise;
}

Result<audit::Report> audit_model(const CommonOptions& common, const Log& log, const Model& model,
                                  double seconds) {
  audit::Options options;
  options.seconds = seconds;
  options.seed = static_cast<uint64_t>(common.values.seed) + 1;
  options.windows = audit::run_windows;
  RILL_ASSIGN(options.others, settings_of(common, log));
  // Other transforms only change the pulsed model.
  const Graph& pulsed = common.model.transforms.empty() ? model.graph : *model.streamed;
  return audit::audit(*model.whole, pulsed, options);
}

const char* outcome_name(audit::Outcome outcome) {
  switch (outcome) {
    case audit::Outcome::kSame:
      return "same";
    case audit::Outcome::kDiffers:
      return "differs";
    case audit::Outcome::kUnproven:
      return "unproven";
    case audit::Outcome::kNotReached:
      return "not reached";
  }
  return "";
}

void print_json(const std::string& file, const audit::Report& report) {
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", file}};
  out["symbol"] = report.symbol;
  out["pulse"] = report.pulse;
  out["lengths"] = report.lengths;
  out["undefined_lengths"] = report.undefined;
  out["refused_lengths"] = report.refused;
  out["edges"] = report.edges;
  out["edges_compared"] = report.edges_compared;
  out["period"] = report.period;
  out["remainders_compared"] = report.remainders;
  out["outputs"] = report.outputs;
  out["frames"] = report.frames;
  out["modes"] = report.modes;
  out["states_not_moved"] = report.not_moved;
  out["streams_given_up"] = report.given_up;
  out["unproven"] = report.unproven();
  out["outcome"] = outcome_name(report.outcome());
  out["windows_crossed_at"] = report.windows.empty() ? 0 : report.windows[0].crossed;
  out["windows_not_crossed"] = Json::array();
  for (const audit::Window& each : report.uncrossed()) {
    out["windows_not_crossed"].push_back(
        {{"wire", each.wire}, {"frames", each.frames}, {"crossed_at", each.crossed}});
  }
  out["finding"] = nullptr;
  if (const auto& finding = report.finding) {
    out["finding"] = {{"length", finding->length},
                      {"mode", finding->mode},
                      {"output", finding->output},
                      {"what", finding->what}};
  }
  say("{}\n", Escaped{safe_json(out.dump(2, ' ', false, Json::error_handler_t::replace))});
}

class AuditCommand final : public ModelCommand {
 public:
  AuditCommand()
      : ModelCommand({"audit", kOnAudit,
                      "compare streams of many lengths with the whole run, on noise",
                      "rill model.nnef.tgz --pulse S=8 audit --seconds 2", false}) {}

  void add_options(std::vector<Option>* out) override {
    add(&report_, out);
    add(&proof_, out);
  }
  std::optional<std::string> wrong_value(const CommonOptions&) const override {
    return cli::wrong_value(proof_);
  }

 protected:
  Status run_model(const CommonOptions& common, const Log& log, const Model& model) const override {
    if (!model.pulsed()) {
      return fail(Code::kPulse, common.file, " is not pulsed")
          .hint(
              "Add --pulse S=8, with the symbol of the axis that streams and the frames per step");
    }
    if (const std::string why = why_not(common, model); !why.empty())
      return fail(Code::kPulse, why);
    RILL_ASSIGN(const audit::Report report,
                audit_model(common, log, model, seconds_of(proof_, kCommandSeconds)));
    if (report_.json) {
      print_json(common.file, report);
    } else if (!report.finding && !report_.quiet) {
      say("{}\n", report.to_string());
      if (report.outcome() == audit::Outcome::kSame) say("none differs\n");
      if (report.outcome() == audit::Outcome::kNotReached) say("none of these differs\n");
    }
    return report.verdict();
  }

 private:
  ReportOptions report_;
  ProofOptions proof_;
};

}  // namespace

std::unique_ptr<Command> audit_command() { return std::make_unique<AuditCommand>(); }

namespace {

/// Return the remedy for an audit that the time for writing did not allow.
std::string how_to_complete(double seconds) {
  return escaped_format(
      "; to complete it, run the options before this subcommand with `audit --seconds {:g}`",
      kMoreSeconds * seconds);
}

}  // namespace

Status audit_before_writing(const CommonOptions& common, const ProofOptions& proof,
                            bool deterministic, const Log& log, const Model& model, Graph* graph) {
  if (proof.no_audit || common.flavor == Flavor::kTract || model.stream_symbol.empty()) return {};
  if (const std::string why = why_not(common, model); !why.empty()) {
    log.notice(str_cat("Written without an audit: ", why));
    return {};
  }
  const double seconds = seconds_of(proof, kWritingSeconds);
  const auto report = audit_model(common, log, model, seconds);
  if (!report.ok()) {
    // For large models, the first stream takes longer than the time for this audit.
    const bool slow = report.error().code == Code::kState;
    log.notice(str_cat("Written without an audit: ", report.error().to_string(),
                       slow ? how_to_complete(seconds) : ""));
    return {};
  }
  const Status verdict = report->verdict();
  const bool reached = report->outcome() != audit::Outcome::kNotReached;
  if (!reached) {
    const bool slow = report->windows[0].crossed <= report->longest;
    log.notice(str_cat("The audit is not complete: ", verdict.error().to_string(),
                       slow ? how_to_complete(seconds) : ""));
  } else if (!verdict.ok()) {
    Error error = verdict.error();
    error.hint = "--no-audit writes the model anyway";
    return Status(error);
  }
  // The number of comparisons depends on the speed of the machine.
  const std::string text = !deterministic ? report->to_string()
                           : reached      ? "none differs"
                                          : verdict.error().message;
  graph->properties[kAuditKey] = Tensor::scalar(text);
  return {};
}

}  // namespace rill::cli
