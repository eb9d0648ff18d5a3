#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
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
  const char* help;
  bool rill_only;
};

constexpr std::array kCommands{
    CommandRow{Command::kDump, "dump", kOnDump, "show the graph, write it, time it", false},
    CommandRow{Command::kRun, "run", kOnRun, "run once, or pulse by pulse, and check", false},
    CommandRow{Command::kBench, "bench", kOnBench, "time runs", false},
    CommandRow{Command::kCompare, "compare", kOnCompare, "check one way of running by another",
               false},
    CommandRow{Command::kStream, "stream", kOnStream, "run a whole stream, pulse by pulse", true},
    CommandRow{Command::kInspect, "inspect", kOnInspect,
               "tell how a pulsed model streams: latency, state", true},
    CommandRow{Command::kCheck, "check", kOnCheck,
               "check streams of all kinds against the whole run", true},
    CommandRow{Command::kAudit, "audit", kOnAudit,
               "compare streams of many lengths with the whole run, on noise", true},
    CommandRow{Command::kCompile, "compile", kOnCompile,
               "write the plan as a file, for any CPU, that opens at once", true},
    CommandRow{Command::kRooms, "rooms", 0,
               "tell what a library for this model alone is built with", true},
    CommandRow{Command::kListOps, "list-ops", 0, "list the operators that models may use", false},
    CommandRow{Command::kListOnnxOps, "list-onnx-ops", 0,
               "list the operators of ONNX, and the opsets whose forms are read", false},
    CommandRow{Command::kListRuntimes, "list-runtimes", 0, "list the runtimes", false},
    CommandRow{Command::kListKnobs, "list-knobs", 0, "list the variables that are read", false},
    CommandRow{Command::kKernels, "kernels", 0, "tell for which machines kernels are there", false},
    CommandRow{Command::kHwBench, "hwbench", kOnHwBench,
               "time what this machine can do, and what the kernels reach of it", true},
};

/// The parser and where its values go; options hold pointers into `args`.
struct Parser {
  CLI::App app;
  Args args;
  std::array<CLI::App*, kCommands.size()> subcommands{};
  std::vector<std::pair<CLI::Option*, const OptionRow*>> refused;
  std::vector<CLI::Option*> options;
  CLI::App* help = nullptr;
  std::string help_topic;
};

/// The long name of a row, if it has one, for messages.
std::string long_name(const OptionRow& row) {
  std::string names = row.names;
  names = names.substr(0, names.find(",--", 1));
  const size_t at = names.rfind("--");
  return at == std::string::npos ? names : names.substr(at);
}

void add_option(Parser* parser, CLI::App* app, const OptionRow& row) {
  Args& args = parser->args;
  CLI::Option* option = nullptr;
  if (const auto* flag = std::get_if<bool Args::*>(&row.slot)) {
    option = app->add_flag(row.names, args.**flag, row.help);
  } else if (const auto* count = std::get_if<int Args::*>(&row.slot)) {
    option = app->add_flag(row.names, args.**count, row.help);
  } else if (const auto* integer = std::get_if<int64_t Args::*>(&row.slot)) {
    option = app->add_option(row.names, args.**integer, row.help);
  } else if (const auto* real = std::get_if<double Args::*>(&row.slot)) {
    option = app->add_option(row.names, args.**real, row.help);
  } else if (const auto* text = std::get_if<std::string Args::*>(&row.slot)) {
    option = app->add_option(row.names, args.**text, row.help);
  } else if (const auto* texts = std::get_if<std::vector<std::string> Args::*>(&row.slot)) {
    option = app->add_option(row.names, args.**texts, row.help);
    const bool pair = *texts == &Args::assert_op_counts;
    option->type_size(pair ? 2 : 1)->allow_extra_args(false);
  } else {
    const Refused& refused = std::get<Refused>(row.slot);
    option = refused.takes_value ? app->add_option(row.names) : app->add_flag(row.names);
    option->group("");
    parser->refused.emplace_back(option, &row);
  }
  parser->options.push_back(option);
}

void build(Parser* parser, Flavor flavor) {
  CLI::App& app = parser->app;
  parser->args.flavor = flavor;
  const bool tract = flavor == Flavor::kTract;
  app.name(tract ? "rill-tract" : "rill");
  app.description(
      "Load an NNEF model, look at it, run it, stream it.\n"
      "Options before the subcommand make the model; those after it, the run.");
  app.set_help_flag("-h,--help", "print this");
  // On Windows, too, what begins with a slash is a path.
  app.allow_windows_style_options(false);
  app.add_option("MODEL", parser->args.model, "NNEF archive (.tgz, .tar, .zip), folder or graph");
  for (const OptionRow& row : option_table()) {
    if (row.where & kGlobal) add_option(parser, &app, row);
  }
  app.require_subcommand(0, 1);
  for (size_t i = 0; i < kCommands.size(); ++i) {
    const CommandRow& command = kCommands[i];
    if (tract && command.rill_only) continue;
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    parser->subcommands[i] = sub;
    // `rill compile MODEL --pulse S=8` reads as compilers do.
    if (command.command == Command::kCompile) sub->fallthrough();
    for (const OptionRow& row : option_table()) {
      if (row.where & command.where) add_option(parser, sub, row);
    }
  }
  parser->help = app.add_subcommand("help", "print help, of a subcommand if it is named");
  parser->help->add_option("SUBCOMMAND", parser->help_topic);
}

int usage_error(const std::string& text, const std::string& tip = "") {
  say_to(stderr, "error: {}{}{}\n\nFor more information, try '--help'.\n", text,
         Escaped{tip.empty() ? "" : "\n\n  tip: "}, tip);
  return 2;
}

/// What CLI11 can not place: as tract says it, with the name that was probably meant.
int extra_error(const Parser& parser) {
  std::vector<std::string> extras = parser.app.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& text) { return text.starts_with("-"); });
  const std::string& culprit = option != extras.end() ? *option : extras.front();
  const std::string name = culprit.substr(0, culprit.find('='));
  std::vector<std::string> known;
  if (option == extras.end()) {
    for (size_t i = 0; i < kCommands.size(); ++i) {
      if (parser.subcommands[i]) known.push_back(kCommands[i].name);
    }
  } else {
    for (const OptionRow& row : option_table()) {
      if (!std::holds_alternative<Refused>(row.slot)) known.push_back(long_name(row));
    }
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view meant = closest(name, names);
  const bool command = option == extras.end() && parser.app.get_subcommands().empty();
  const std::string text = command ? escaped_format("unrecognized subcommand '{}'", name)
                                   : escaped_format("unexpected argument '{}' found", name);
  if (meant.empty()) return usage_error(text);
  return usage_error(text, escaped_format("a similar {} exists: '{}'",
                                          command ? "subcommand" : "argument", meant));
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
  for (const std::string& transform : args.transforms) {
    if (stage == transform || transform.starts_with(stage + "(") || stage.ends_with("-declutter")) {
      return std::nullopt;
    }
  }
  std::string names;
  for (const char* name : kStages) names += escaped_format("{}{}", names.empty() ? "" : ", ", name);
  return escaped_format("invalid value '{}' for '{}' [possible values: {}]", stage, option, names);
}

std::optional<std::string> wrong_hint(const Args& args) {
  for (const std::string& hint : args.hints) {
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
  if (!args.approx.empty() && !tolerance_named(args.approx)) {
    return escaped_format("invalid value '{}' for '--approx' [possible values: {}]", args.approx,
                          tolerance_names());
  }
  if (auto wrong = wrong_stage(args, "--pass", args.pass)) return wrong;
  if (auto wrong = wrong_stage(args, "--stage", args.compare_stage)) return wrong;
  if (auto wrong = wrong_hint(args)) return wrong;
  if (!args.format.empty() && args.format != "nnef") {
    return escaped_format("format '{}' is not supported by rill: use nnef", args.format);
  }
  if (args.filler != "zeros" && args.filler != "nan") {
    return escaped_format("invalid value '{}' for '--filler' [possible values: zeros, nan]",
                          args.filler);
  }
  if (!args.pulse_backward.empty() && args.pulse_backward != "chunk") {
    return escaped_format("invalid value '{}' for '--pulse-backward' [possible values: chunk]",
                          args.pulse_backward);
  }
  if (args.color != "auto" && args.color != "always" && args.color != "never") {
    return escaped_format("invalid value '{}' for '--color' [possible values: auto, always, never]",
                          args.color);
  }
  const bool negative = args.warmup_loops < 0 || args.warmup_ms < 0 || args.max_loops < 1 ||
                        args.max_ms < 0 || args.timeout_s < 0 || args.threads < 0 ||
                        args.streams < 0 || args.turns < 0 || args.autobatch_sessions < 0 ||
                        args.readings_heartbeat_ms < 0 || args.max_session_bytes < 0 ||
                        args.max_step_work < 0;
  for (const double ms : {args.turn_period_ms, args.deadline_ms, args.session_ms}) {
    if (!(ms >= 0 && ms < 1e12)) return "times are numbers of milliseconds, 0 or more";
  }
  if (!(args.seconds >= 0 && args.seconds < 1e9)) {
    return "--seconds is a number of seconds, 0 or more";
  }
  if (args.streams > 4096) return "--streams: at most 4096, a thread each";
  if (negative) return "counts and times cannot be negative, and --max-loops is at least 1";
  if (args.command == Command::kCompare) {
    const int references = args.compare_stream + args.compare_twice + !args.compare_stage.empty() +
                           !args.compare_npz.empty();
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
    if (option->count() == 0) continue;
    const bool never = std::get<Refused>(row->slot).never;
    const std::string_view hint = row->help;
    return escaped_format("{} is {}{}{}", long_name(*row),
                          never ? "not supported by rill" : "not implemented in rill",
                          hint.empty() ? "" : ": ", hint);
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
    put(stdout, {formatter->make_help(&parser.app, parser.app.get_name(),
                                      CLI::AppFormatMode::Normal)});
    return 0;
  }
  for (size_t i = 0; i < kCommands.size(); ++i) {
    if (parser.subcommands[i] == nullptr || parser.help_topic != kCommands[i].name) continue;
    put(stdout, {parser.subcommands[i]->help(parser.app.get_name())});
    return 0;
  }
  return usage_error(escaped_format("unrecognized subcommand '{}'", parser.help_topic));
}

/// The part after CLI11: what was asked for, and whether it can be had.
ParsedArgs finish(Parser* parser) {
  ParsedArgs out;
  Args& args = parser->args;
  out.done = true;
  if (args.version) {
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
  if (args.pass == "optimize") args.optimize = true;
  if (!args.profile_html.empty() || !args.profile_trace.empty()) args.profile = true;
  for (const std::string& bundle : args.legacy_bundles) {
    args.fact_bundles.push_back(bundle);
    args.input_bundles.push_back(bundle);
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
