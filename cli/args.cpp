#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>

#include "cli/option_table.h"
#include "cli/say_impl.h"
#include "cli/specs.h"
#include "core/base/closest.h"
#include "kernels/cpu.h"

namespace rill::cli {
namespace {

constexpr const char* kVersion = RILL_VERSION;

struct CommandRow {
  Command command;
  const char* name;
  unsigned where;
  bool rill_only;
  const char* help;
  const char* example;
};

constexpr std::array kCommands{
    CommandRow{Command::kDump, "dump", kOnDump, false, "show the graph, write it, time it",
               "rill model.nnef.tgz --pulse S=8 dump --nnef pulsed.nnef.tgz"},
    CommandRow{Command::kRun, "run", kOnRun, false, "run once, or pulse by pulse, and check",
               "rill model.nnef.tgz run --input-from-bundle io.npz --save-outputs out.npz"},
    CommandRow{Command::kBench, "bench", kOnBench, false, "time runs",
               "rill model.nnef.tgz --set B=1 --pulse S=8 -O bench -R --max-time 200"},
    CommandRow{Command::kCompare, "compare", kOnCompare, false,
               "check one mode of running by another",
               "rill model.nnef.tgz --pulse S=8 compare --stream --input-from-bundle io.npz"},
    CommandRow{Command::kStream, "stream", kOnStream, true, "run a whole stream, pulse by pulse",
               "rill model.nnef.tgz --pulse S=8 stream --input-from-bundle io.npz"},
    CommandRow{Command::kInspect, "inspect", kOnInspect, true,
               "report latency, its causes and memory of a pulsed model",
               "rill model.nnef.tgz --set B=1 --pulse S=8 inspect --frame-ms 10"},
    CommandRow{Command::kCheck, "check", kOnCheck, true,
               "check streams of all kinds against the whole run",
               "rill model.nnef.tgz check --io io.npz --pulses 1,8,16"},
    CommandRow{Command::kAudit, "audit", kOnAudit, true,
               "compare streams of many lengths with the whole run, on noise",
               "rill model.nnef.tgz --pulse S=8 audit --seconds 2"},
    CommandRow{Command::kCompile, "compile", kOnCompile, true,
               "write the plan as a file, for any CPU, that opens at once",
               "rill model.nnef.tgz --set B=1 --pulse S=8 compile -o model.rill"},
    CommandRow{Command::kModules, "modules", 0, true,
               "print the option that builds a library for this model alone",
               "rill model.nnef.tgz modules"},
    CommandRow{Command::kListOps, "list-ops", 0, false, "list the operators that models may use",
               "rill list-ops"},
    CommandRow{Command::kListOnnxOps, "list-onnx-ops", 0, false,
               "list the operators of ONNX, and the opsets whose forms are read",
               "rill list-onnx-ops"},
    CommandRow{Command::kListRuntimes, "list-runtimes", 0, false, "list the runtimes",
               "rill list-runtimes"},
    CommandRow{Command::kListKnobs, "list-knobs", 0, false, "list the variables that are read",
               "rill list-knobs"},
    CommandRow{Command::kKernels, "kernels", 0, false, "list the machines that have kernels",
               "rill kernels"},
    CommandRow{Command::kHwBench, "hwbench", kOnHwBench, true,
               "time what this machine can do, and what the kernels reach of it",
               "rill hwbench --kernels softmax"},
};

/// The parser and where its values go; options hold pointers into `args`.
struct Parser {
  CLI::App app;
  Args args;
  std::array<CLI::App*, kCommands.size()> subcommands{};
  std::vector<std::pair<CLI::Option*, const TractOption*>> refused;
  std::vector<CLI::Option*> options;
  CLI::App* help = nullptr;
  std::string help_topic;
};

/// Return the long name of an option, for messages.
std::string long_name(std::string names) {
  names = names.substr(0, names.find(",--", 1));
  const size_t at = names.rfind("--");
  return at == std::string::npos ? names : names.substr(at);
}

/// Describe a number that 64 bits do not hold, which the parser would replace by the largest one.
std::string in_range(const std::string& text) {
  errno = 0;
  std::strtoll(text.c_str(), nullptr, 0);
  return errno == ERANGE ? str_cat(text, " is out of range: expected at most 2^63 - 1") : "";
}

CLI::Option* add_option(CLI::App* app, const Option& option) {
  if (bool* const* flag = std::get_if<bool*>(&option.value)) {
    return app->add_flag(option.names, **flag, option.help);
  }
  if (int* const* count = std::get_if<int*>(&option.value)) {
    return app->add_flag(option.names, **count, option.help);
  }
  if (int64_t* const* integer = std::get_if<int64_t*>(&option.value)) {
    return app->add_option(option.names, **integer, option.help)->check(in_range);
  }
  if (double* const* real = std::get_if<double*>(&option.value)) {
    return app->add_option(option.names, **real, option.help);
  }
  if (std::string* const* text = std::get_if<std::string*>(&option.value)) {
    return app->add_option(option.names, **text, option.help);
  }
  const Pairs* pairs = std::get_if<Pairs>(&option.value);
  auto* texts = pairs ? pairs->values : std::get<std::vector<std::string>*>(option.value);
  return app->add_option(option.names, *texts, option.help)
      ->type_size(pairs ? 2 : 1)
      ->allow_extra_args(false);
}

void add_options(Parser* parser, CLI::App* app, unsigned where) {
  for (const Option& option : options_into(&parser->args)) {
    if (!(option.where & where)) continue;
    parser->options.push_back(add_option(app, option)->group(option.group));
  }
  for (const TractOption& option : tract_options()) {
    if (!(option.where & where)) continue;
    CLI::Option* added = option.takes_value ? app->add_option(option.names, option.help)
                                            : app->add_flag(option.names, option.help);
    const bool no_effect = option.kind == TractOption::Kind::kNoEffect;
    // An empty group is not printed.
    const bool shown = no_effect && parser->args.flavor == Flavor::kTract;
    added->group(shown ? "Without effect" : "");
    parser->options.push_back(added);
    if (!no_effect) parser->refused.emplace_back(added, &option);
  }
}

void build(Parser* parser, Flavor flavor) {
  CLI::App& app = parser->app;
  parser->args.flavor = flavor;
  const bool tract = flavor == Flavor::kTract;
  app.name(tract ? "rill-tract" : "rill");
  app.description(
      str_cat("Load an NNEF or ONNX model, look at it, run it, stream it.\n",
              tract ? "Options before the subcommand make the model; those after it, the run."
                    : "Options of the model may stand before the subcommand or after it."));
  if (!tract) {
    app.footer(
        "Examples:\n"
        "  rill model.nnef.tgz dump\n"
        "  rill vad.onnx --feedback hn=h --feedback cn=c dump --nnef vad.nnef.tgz\n"
        "  rill model.nnef.tgz --set B=1 --pulse S=8 compile -o model.rill\n"
        "`rill help SUBCOMMAND` lists the options of one, with an example.");
  }
  app.set_help_flag("-h,--help", "print this");
  // An argument that begins with a slash is a path, on Windows too.
  app.allow_windows_style_options(false);
  app.add_option(
      "MODEL", parser->args.file,
      "NNEF archive (.tgz, .tar, .zip), folder or graph; ONNX (.onnx); compiled (.rill)");
  add_options(parser, &app, kGlobal);
  app.require_subcommand(0, 1);
  for (size_t i = 0; i < kCommands.size(); ++i) {
    const CommandRow& command = kCommands[i];
    if (tract && command.rill_only) continue;
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    parser->subcommands[i] = sub;
    if (!tract) sub->footer(str_cat("Example:\n  ", command.example));
    // `rill compile MODEL --pulse S=8` reads as compilers do, `rill MODEL run -O` as one types.
    if (!tract) sub->fallthrough();
    add_options(parser, sub, command.where);
  }
  parser->help = app.add_subcommand("help", "print help, of a subcommand if it is named");
  parser->help->add_option("SUBCOMMAND", parser->help_topic);
}

int usage_error(const std::string& text, const std::string& tip = "") {
  say_to(stderr, "error: {}{}{}\n\nFor more information, try '--help'.\n", text,
         Escaped{tip.empty() ? "" : "\n\n  tip: "}, tip);
  return 2;
}

std::vector<std::string_view> subcommand_names(const Parser& parser) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kCommands.size(); ++i) {
    if (parser.subcommands[i]) names.emplace_back(kCommands[i].name);
  }
  return names;
}

/// Refuse a subcommand of that name, with the closest one.
int unknown_subcommand(const Parser& parser, std::string_view name) {
  const std::vector<std::string_view> names = subcommand_names(parser);
  const std::string_view meant = closest(name, names);
  const std::string text = escaped_format("unrecognized subcommand '{}'", name);
  if (meant.empty()) return usage_error(text);
  return usage_error(text, escaped_format("a similar subcommand exists: '{}'", meant));
}

/// Report an argument that CLI11 cannot place, as tract does, with the closest name.
int extra_error(const Parser& parser) {
  std::vector<std::string> extras = parser.app.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& text) { return text.starts_with("-"); });
  const std::string& culprit = option != extras.end() ? *option : extras.front();
  const std::string name = culprit.substr(0, culprit.find('='));
  const bool positional = option == extras.end();
  if (positional && parser.app.get_subcommands().empty()) return unknown_subcommand(parser, name);
  std::vector<std::string> options;
  Args unused;
  for (const Option& each : options_into(&unused)) options.push_back(long_name(each.names));
  std::vector<std::string_view> names(options.begin(), options.end());
  if (positional) names = subcommand_names(parser);
  const std::string_view meant = closest(name, names);
  const std::string text = escaped_format("unexpected argument '{}' found", name);
  if (meant.empty()) return usage_error(text);
  if (meant == name) {
    return usage_error(text, escaped_format("'{}' belongs in front of the subcommand", name));
  }
  return usage_error(text, escaped_format("a similar argument exists: '{}'", meant));
}

void print_version(Flavor flavor) {
  if (flavor == Flavor::kRill) {
    say("rill {}\n", kVersion);
    return;
  }
  say("tract-cli {} (rill {})\n", tract_version(), kVersion);
}

// Where the making of a model may stop; some only of models in other formats.
constexpr std::array<const char*, 17> kStages{"load",
                                              "analyse",
                                              "incorporate",
                                              "type",
                                              "declutter",
                                              "pulse",
                                              "pulse-to-type",
                                              "pulse-declutter",
                                              "set",
                                              "set-declutter",
                                              "nnef-cycle",
                                              "nnef-cycle-declutter",
                                              "tflite-cycle-predump",
                                              "tflite-cycle",
                                              "tflite-cycle-declutter",
                                              "before-optimize",
                                              "optimize"};

/// Refuse what is neither a stage nor, as such, a transform of this command line.
std::optional<std::string> wrong_stage(const Args& args, const char* option,
                                       const std::string& stage) {
  if (stage.empty()) return std::nullopt;
  if (std::find(kStages.begin(), kStages.end(), stage) != kStages.end()) return std::nullopt;
  for (const std::string& transform : args.model.transforms) {
    if (stage == transform || transform.starts_with(stage + "(") || stage.ends_with("-declutter")) {
      return std::nullopt;
    }
  }
  std::string names;
  for (const char* name : kStages) names += escaped_format("{}{}", names.empty() ? "" : ", ", name);
  return escaped_format("invalid value '{}' for '{}' [possible values: {}]", stage, option, names);
}

std::optional<std::string> wrong_hint(const Args& args) {
  for (const std::string& hint : args.model.hints) {
    const size_t equals = hint.find('=');
    const bool number = equals != std::string::npos && parse_number(hint.substr(equals + 1)).ok();
    if (equals == std::string::npos || equals == 0) {
      return escaped_format("--set and --hint must be in the X=value form, got {}", hint);
    }
    if (!number) return escaped_format("--hint {}: value expected to be an integer", hint);
  }
  return std::nullopt;
}

/// Find what is wrong with the values that have a fixed set of spellings.
std::optional<std::string> wrong_value(const Args& args) {
  if (!args.checks.approx.empty() && !tolerance_named(args.checks.approx)) {
    return escaped_format("invalid value '{}' for '--approx' [possible values: {}]",
                          args.checks.approx, tolerance_names());
  }
  if (auto wrong = wrong_stage(args, "--pass", args.model.pass)) return wrong;
  if (auto wrong = wrong_stage(args, "--stage", args.compare.stage)) return wrong;
  if (auto wrong = wrong_hint(args)) return wrong;
  if (!args.model.format.empty() && args.model.format != "nnef") {
    return escaped_format("format '{}' is not supported by rill: use nnef", args.model.format);
  }
  if (args.stream.filler != "zeros" && args.stream.filler != "nan") {
    return escaped_format("invalid value '{}' for '--filler' [possible values: zeros, nan]",
                          args.stream.filler);
  }
  if (!args.streaming.pulse_backward.empty() && args.streaming.pulse_backward != "chunk") {
    return escaped_format("invalid value '{}' for '--pulse-backward' [possible values: chunk]",
                          args.streaming.pulse_backward);
  }
  if (!args.streaming.window.empty()) {
    const bool pulses = !args.streaming.pulse.empty() || !args.streaming.pulse_backward.empty() ||
                        !args.proof.pulses.empty();
    if (pulses || args.streaming.steps_are_runs()) {
      return escaped_format("--window does not combine with {}: it says how the model streams",
                            pulses ? "--pulse" : "--feedback, --context and --frames");
    }
  }
  if (args.program.color != "auto" && args.program.color != "always" &&
      args.program.color != "never") {
    return escaped_format("invalid value '{}' for '--color' [possible values: auto, always, never]",
                          args.program.color);
  }
  const bool negative =
      args.loop.warmup_loops < 0 || args.loop.warmup_ms < 0 || args.loop.max_loops < 1 ||
      args.loop.max_ms < 0 || args.program.timeout_s < 0 || args.program.threads < 0 ||
      args.load.streams < 0 || args.run.stream_steps < 0 || args.streaming.autobatch_sessions < 0 ||
      args.program.readings_heartbeat_ms < 0 || args.limits.max_session_bytes < 0 ||
      args.limits.max_step_work < 0;
  for (const double ms : {args.load.turn_period_ms, args.load.deadline_ms, args.load.session_ms}) {
    if (!(ms >= 0 && ms < 1e12)) return "times are numbers of milliseconds, 0 or more";
  }
  if (!(args.proof.seconds >= 0 && args.proof.seconds < 1e9)) {
    return "--seconds is a number of seconds, 0 or more";
  }
  if (args.load.streams > 4096) return "--streams: at most 4096, a thread each";
  if (negative) return "counts and times cannot be negative, and --max-loops is at least 1";
  if (args.command == Command::kCompare) {
    const int references = args.compare.stream + args.compare.twice + !args.compare.stage.empty() +
                           !args.compare.npz.empty();
    if (references == 0) {
      return "the following required arguments were not provided: "
             "<--npz <npz>|--stage <stage>|--twice|--stream>";
    }
    if (references > 1) return "compare takes one of --npz, --stage, --twice and --stream";
  }
  return std::nullopt;
}

std::optional<std::string> refused_option(const Parser& parser) {
  for (const auto& [option, row] : parser.refused) {
    if (option->count() > 0) {
      return escaped_format("{} is not supported by rill", long_name(row->names));
    }
  }
  return std::nullopt;
}

/// Cap the SIMD tier as RILL_CPU says.
std::optional<std::string> limit_cpu() {
  const char* name = std::getenv("RILL_CPU");
  if (name == nullptr || *name == '\0') return std::nullopt;
  kernels::Tier tier{};
  if (!kernels::tier_from_name(name, &tier)) {
    return escaped_format("RILL_CPU={}: expected scalar, sse42, avx2, avx512 or neon", name);
  }
  kernels::set_tier_limit(tier);
  return std::nullopt;
}

int print_help(const Parser& parser) {
  if (parser.help_topic.empty()) {
    // App::help would give the help of the subcommand that was named: of `help` itself.
    const auto formatter = parser.app.get_formatter();
    put(stdout,
        {formatter->make_help(&parser.app, parser.app.get_name(), CLI::AppFormatMode::Normal)});
    return 0;
  }
  for (size_t i = 0; i < kCommands.size(); ++i) {
    if (parser.subcommands[i] == nullptr || parser.help_topic != kCommands[i].name) continue;
    put(stdout, {parser.subcommands[i]->help(parser.app.get_name())});
    return 0;
  }
  return unknown_subcommand(parser, parser.help_topic);
}

/// The part after CLI11: checks the requested options.
ParsedArgs finish(Parser* parser) {
  ParsedArgs out;
  Args& args = parser->args;
  out.done = true;
  if (args.program.version) {
    print_version(args.flavor);
    return out;
  }
  if (parser->help->parsed()) {
    out.exit_status = print_help(*parser);
    return out;
  }
  for (size_t i = 0; i < kCommands.size(); ++i) {
    if (parser->subcommands[i] == nullptr || !parser->subcommands[i]->parsed()) continue;
    args.command = kCommands[i].command;
    args.command_name = kCommands[i].name;
  }
  for (const CLI::Option* option : parser->options) {
    if (option->count() > 0) args.given.push_back("--" + option->get_lnames().front());
  }
  if (args.model.pass == "optimize") args.model.optimize = true;
  if (!args.view.profile_html.empty() || !args.view.profile_trace.empty()) args.view.profile = true;
  for (const std::string& bundle : args.model.legacy_bundles) {
    args.model.fact_bundles.push_back(bundle);
    args.values.input_bundles.push_back(bundle);
  }
  auto wrong = refused_option(*parser);
  if (!wrong) wrong = wrong_value(args);
  if (!wrong) wrong = limit_cpu();
  if (wrong) {
    out.exit_status = usage_error(*wrong);
    return out;
  }
  out.done = false;
  out.args = std::move(args);
  return out;
}

}  // namespace

std::string tract_version() {
  const char* wanted = std::getenv("RILL_TRACT_VERSION");
  return wanted != nullptr && *wanted != '\0' ? wanted : "0.23.9";
}

ParsedArgs parse_args(int argc, const char* const* argv, Flavor flavor) {
  Parser parser;
  build(&parser, flavor);
  ParsedArgs out;
  out.done = true;
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    put(stdout, {parser.app.help()});
    return out;
  } catch (const CLI::ExtrasError&) {
    out.exit_status = extra_error(parser);
    return out;
  } catch (const CLI::ParseError& error) {
    out.exit_status = usage_error(error.what());
    return out;
  }
  return finish(&parser);
}

}  // namespace rill::cli
