#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/say_impl.h"
#include "cli/specs.h"
#include "core/base/closest.h"
#include "kernels/cpu.h"

namespace rill::cli {
namespace {

constexpr const char* kVersion = RILL_VERSION;

/// An option of the parser, with its bits of `Where`.
struct ParsedOption {
  CLI::Option* option;
  unsigned where;
};

/// The parser and where its values go: options hold pointers into `common` and `commands`.
struct Parser {
  CLI::App app;
  CommonOptions common;
  std::vector<std::unique_ptr<Command>> commands = all_commands();
  std::vector<CLI::App*> subcommands;  ///< of each command; null for one that the program lacks
  std::vector<std::pair<CLI::Option*, const TractOption*>> refused;
  std::vector<ParsedOption> options;
  CLI::App* help = nullptr;
  std::string help_topic;
};

/// Return the long name of an option, for messages.
std::string long_name(std::string names) {
  names = names.substr(0, names.find(",--", 1));
  const size_t at = names.rfind("--");
  return at == std::string::npos ? names : names.substr(at);
}

/// Return the error for a number that does not fit 64 bits, because the parser would replace it by
/// the largest one; empty for others.
std::string in_range(const std::string& text) {
  errno = 0;
  std::strtoll(text.c_str(), nullptr, 0);
  return errno == ERANGE ? str_cat(text, " is out of range: expected at most 2^63 - 1") : "";
}

/// Return the error for a limit that is out of range; empty for others.
std::string in_limits(const std::string& text) {
  const std::string wrong = in_range(text);
  if (!wrong.empty()) return wrong;
  const bool negative = std::strtoll(text.c_str(), nullptr, 0) < 0;
  return negative ? str_cat(text, " is below 0: expected 0 for the default, or a limit") : "";
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
  if (const Limit* limit = std::get_if<Limit>(&option.value)) {
    const auto set = [to = limit->value](const int64_t& most) {
      if (most != 0) *to = most;
    };
    return app->add_option_function<int64_t>(option.names, set, option.help)->check(in_limits);
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

/// Add the options that `where` selects, and tract's.
void add_options(Parser* parser, CLI::App* app, unsigned where, std::span<const Option> options) {
  const bool tract = parser->common.flavor == Flavor::kTract;
  for (const Option& option : options) {
    if (!(option.where & where)) continue;
    const bool shown = tract || option.group != std::string_view(kWithoutEffect);
    // An empty group is not printed.
    CLI::Option* added = add_option(app, option)->group(shown ? option.group : "");
    parser->options.push_back({added, option.where});
  }
  for (const TractOption& option : tract_options()) {
    if (!(option.where & where)) continue;
    CLI::Option* added = option.takes_value ? app->add_option(option.names, option.help)
                                            : app->add_flag(option.names, option.help);
    const bool no_effect = option.kind == TractOption::Kind::kNoEffect;
    added->group(no_effect && tract ? kWithoutEffect : "");
    parser->options.push_back({added, option.where});
    if (!no_effect) parser->refused.emplace_back(added, &option);
  }
}

std::vector<Option> common_options(CommonOptions* common) {
  std::vector<Option> out;
  add(common, &out);
  return out;
}

void build(Parser* parser, Flavor flavor) {
  CLI::App& app = parser->app;
  parser->common.flavor = flavor;
  const bool tract = flavor == Flavor::kTract;
  app.name(tract ? "rill-tract" : "rill");
  const char* head = "Load an NNEF or ONNX model, look at it, run it, stream it.\n";
  if (tract) {
    app.description(
        str_cat(head, "Options before the subcommand make the model; those after it, the run."));
  } else {
    app.description(str_cat(
        head,
        "\nExamples:\n"
        "  rill model.nnef.tgz dump\n"
        "  rill vad.onnx --feedback hn=h --feedback cn=c dump --nnef vad.nnef.tgz\n"
        "  rill model.nnef.tgz --set B=1 --pulse S=8 compile -o model.rill\n"
        "`rill help SUBCOMMAND` lists the options of one, with an example.\n"
        "\nOptions of the model may stand before the subcommand or after it."));
  }
  app.set_help_flag("-h,--help", "print this");
  // An argument that begins with a slash is a path, on Windows too.
  app.allow_windows_style_options(false);
  app.add_option(
      "MODEL", parser->common.file,
      "NNEF archive (.tgz, .tar, .zip), folder or graph; ONNX (.onnx); compiled (.rill)");
  const std::vector<Option> common = common_options(&parser->common);
  add_options(parser, &app, kGlobal, common);
  app.require_subcommand(0, 1);
  for (const std::unique_ptr<Command>& command : parser->commands) {
    const CommandFacts& facts = command->facts();
    parser->subcommands.push_back(nullptr);
    if (tract && !facts.of_tract) continue;
    CLI::App* sub = app.add_subcommand(facts.name, facts.help);
    parser->subcommands.back() = sub;
    if (!tract) sub->footer(str_cat("Example:\n  ", facts.example));
    // Options of the model may follow the subcommand, as in `rill compile MODEL --pulse S=8`.
    if (!tract) sub->fallthrough();
    std::vector<Option> options = common;
    command->add_options(&options);
    add_options(parser, sub, facts.where, options);
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
  for (size_t i = 0; i < parser.commands.size(); ++i) {
    if (parser.subcommands[i]) names.emplace_back(parser.commands[i]->facts().name);
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
  std::vector<Option> rows;
  CommonOptions unused;
  add(&unused, &rows);
  for (const std::unique_ptr<Command>& command : all_commands()) command->add_options(&rows);
  for (const Option& each : rows) options.push_back(long_name(each.names));
  std::vector<std::string_view> names(options.begin(), options.end());
  if (positional) names = subcommand_names(parser);
  const std::string_view meant = closest(name, names);
  const std::string text = escaped_format("unexpected argument '{}' found", name);
  if (meant.empty()) return usage_error(text);
  if (meant == name) {
    return usage_error(
        text, escaped_format("'{}' belongs on the other side of the subcommand", name));
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

std::optional<std::string> wrong_hint(const ModelOptions& model) {
  for (const std::string& hint : model.hints) {
    const size_t equals = hint.find('=');
    const bool number = equals != std::string::npos && parse_number(hint.substr(equals + 1)).ok();
    if (equals == std::string::npos || equals == 0) {
      return escaped_format("--set and --hint must be in the X=value form, got {}", hint);
    }
    if (!number) return escaped_format("--hint {}: value expected to be an integer", hint);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_streaming(const StreamingOptions& streaming) {
  if (!streaming.pulse_backward.empty() && streaming.pulse_backward != "chunk") {
    return invalid_value(streaming.pulse_backward, "--pulse-backward", "chunk");
  }
  if (streaming.window.empty()) return std::nullopt;
  const bool pulses = !streaming.pulse.empty() || !streaming.pulse_backward.empty();
  if (pulses || streaming.steps_are_runs()) {
    return escaped_format("--window does not combine with {}: each defines how the model streams",
                          pulses ? "--pulse" : "--feedback, --context and --frames");
  }
  return std::nullopt;
}

std::optional<std::string> wrong_program(const ProgramOptions& program) {
  const std::string& color = program.color;
  if (color != "auto" && color != "always" && color != "never") {
    return invalid_value(color, "--color", "auto, always, never");
  }
  const bool negative =
      program.timeout_s < 0 || program.threads < 0 || program.readings_heartbeat_ms < 0;
  if (negative) return kNegative;
  return std::nullopt;
}

/// Return the message for the first invalid value of a common option.
std::optional<std::string> wrong_common(const CommonOptions& common) {
  const ModelOptions& model = common.model;
  if (auto wrong = wrong_stage(model, "--pass", model.pass)) return wrong;
  if (auto wrong = wrong_hint(model)) return wrong;
  if (!model.format.empty() && model.format != "nnef") {
    return escaped_format("format '{}' is not supported by rill: use nnef", model.format);
  }
  if (auto wrong = wrong_streaming(common.streaming)) return wrong;
  if (auto wrong = wrong_program(common.program)) return wrong;
  if (common.streaming.autobatch_sessions < 0) return kNegative;
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
  for (size_t i = 0; i < parser.commands.size(); ++i) {
    const bool named = parser.help_topic == parser.commands[i]->facts().name;
    if (parser.subcommands[i] == nullptr || !named) continue;
    put(stdout, {parser.subcommands[i]->help(parser.app.get_name())});
    return 0;
  }
  return unknown_subcommand(parser, parser.help_topic);
}

/// Return the command that was named; `dump` without one.
std::unique_ptr<Command> named_command(Parser* parser) {
  size_t named = 0;
  for (size_t i = 0; i < parser->commands.size(); ++i) {
    if (parser->subcommands[i] && parser->subcommands[i]->parsed()) named = i;
  }
  return std::move(parser->commands[named]);
}

/// Check the options that CLI11 parsed, and choose the command.
ParsedArgs finish(Parser* parser) {
  ParsedArgs out;
  CommonOptions& common = parser->common;
  out.done = true;
  if (common.program.version) {
    print_version(common.flavor);
    return out;
  }
  if (parser->help->parsed()) {
    out.exit_status = print_help(*parser);
    return out;
  }
  for (const auto& [option, where] : parser->options) {
    if (option->count() > 0) common.given.push_back({"--" + option->get_lnames().front(), where});
  }
  if (common.model.pass == "optimize") common.model.optimize = true;
  for (const std::string& bundle : common.model.legacy_bundles) {
    common.model.fact_bundles.push_back(bundle);
    common.values.input_bundles.push_back(bundle);
  }
  out.command = named_command(parser);
  auto wrong = refused_option(*parser);
  if (!wrong) wrong = wrong_common(common);
  if (!wrong) wrong = out.command->wrong_value(common);
  if (!wrong) wrong = limit_cpu();
  if (wrong) {
    out.exit_status = usage_error(*wrong);
    return out;
  }
  out.done = false;
  out.common = std::move(common);
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
