#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>

#include "cli/commands.h"
#include "cli/small_weights.h"
#include "core/run/plan_format.h"
#include "core/run/record.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/compile.h"

namespace rill::cli {
namespace {

/// A name of C made of that of a file: "kws" of "out/kws.c".
std::string c_name(const std::string& path) {
  std::string out = std::filesystem::path(path).stem().string();
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0 ? "plan_" + out : out;
}

/// The file as a constant, which compilers put where memory is read only.
std::string c_source(const std::string& name, std::span<const std::byte> bytes) {
  std::string out = fmt::format(
      "/* A compiled model, for rill_plan_map({0}, {0}_size, &plan). */\n#include <stddef.h>\n\n"
      "#if defined(__cplusplus)\nextern \"C\" {{\n#endif\n"
      "extern const unsigned char {0}[];\nextern const size_t {0}_size;\n\n"
      "#if defined(__GNUC__)\n__attribute__((aligned(64)))\n#elif defined(_MSC_VER)\n"
      "__declspec(align(64))\n#endif\nconst unsigned char {0}[{1}] = {{",
      name, bytes.size());
  constexpr size_t kPerLine = 20;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % kPerLine == 0) out += "\n ";
    out += fmt::format("{}{},", i % kPerLine == 0 ? " " : "", static_cast<unsigned>(bytes[i]));
  }
  out += fmt::format("\n}};\nconst size_t {}_size = {};\n\n", name, bytes.size());
  return out + "#if defined(__cplusplus)\n}\n#endif\n";
}

/// The kinds of steps that the plans of a file have, each once, in an order that stays.
std::set<std::string> kinds_in(std::span<const std::byte> file) {
  plan_file::Header header;
  std::memcpy(&header, file.data(), sizeof header);
  std::set<std::string> out;
  for (uint32_t i = 0; i < header.targets; ++i) {
    plan_file::TargetEntry entry;
    std::memcpy(&entry, file.data() + sizeof header + i * sizeof entry, sizeof entry);
    Record record(file.subspan(static_cast<size_t>(entry.plan.begin),
                               static_cast<size_t>(entry.plan.bytes)));
    const int64_t count = record.count();
    for (int64_t k = 0; k < count; ++k) out.emplace(record.text());
  }
  return out;
}

/// The first node of plans that has a step of a kind, to be told; empty if it is inside of a loop.
std::string node_with(std::span<const plan_file::TargetPlan> plans, std::string_view kind) {
  for (const plan_file::TargetPlan& each : plans) {
    for (const Step& step : each.plan->steps) {
      if (step.kind == nullptr || kind != step.kind->name || step.node < 0) continue;
      const PlanNode& node = each.plan->nodes[static_cast<size_t>(step.node)];
      return str_cat(" of node \"", node.name.view(), "\" (", node.op.view(), ")");
    }
  }
  return "";
}

/// A list of kinds of steps for a `Runner`: what no list names is dropped by the linker.
/// Errors: kUnsupported for a kind that runs in the whole library only.
Result<std::string> table_source(const std::string& name, const std::set<std::string>& kinds,
                                 std::span<const plan_file::TargetPlan> plans) {
  std::string symbols;
  std::string entries;
  for (const std::string& kind : kinds) {
    const auto known = ops::run_kinds();
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const ops::RunKind& each) { return kind == each.name; });
    if (found == known.end()) {
      return fail(Code::kUnsupported, "--table: steps of the kind \"", kind, "\"",
                  node_with(plans, kind), " run in the whole library only")
          .hint("Leave out --table, and open the file with rill_plan_open");
    }
    symbols += fmt::format("extern const char {}[];\n", found->symbol);
    entries += fmt::format("    {},\n", found->symbol);
  }
  return fmt::format(
      "/* The kinds of steps of a compiled model, for librill_run and rill::Runner. In C++:\n"
      "   extern \"C\" const rill::StepKind* const {0}[];\n"
      "   extern \"C\" const unsigned long {0}_count; */\n"
      "#if defined(__cplusplus)\nextern \"C\" {{\n#endif\n"
      "{1}extern const void* const {0}[];\nextern const unsigned long {0}_count;\n\n"
      "const void* const {0}[] = {{\n{2}}};\nconst unsigned long {0}_count = {3};\n\n"
      "#if defined(__cplusplus)\n}}\n#endif\n",
      name, symbols, entries, kinds.size());
}

}  // namespace

Status compile_command(const Args& args, const Log& log, const Model& model) {
  if (args.output.empty() && args.embed.empty() && args.table.empty()) {
    return fail(Code::kArg, "compile: no file to write")
        .hint("Add -o FILE.rill, --embed FILE.c or --table FILE.c");
  }
  plan_file::CompileOptions compile;
  RILL_ASSIGN(compile.targets, plan_file::targets_named(args.targets, "--target"));
  Graph graph = model.graph;
  Args own = args;
  // How much was compared depends on how fast the machine is, and the same model gives the same
  // bytes.
  own.nnef_deterministic = true;
  // A compiler optimises unless it is told not to.
  own.optimize |= args.runtime != "unoptimized";
  RILL_TRY(audit_before_writing(own, log, model, &graph));
  SmallWeights weights;
  if (!args.weights.empty()) {
    Model audited = model;
    audited.graph = graph;
    RILL_ASSIGN(weights, choose_weights(own, log, audited, compile.targets[0]));
  } else if (!args.max_difference.empty() || !args.keep_weights.empty()) {
    return fail(Code::kArg, "compile: no weights that differ").hint("Add --weights f16, q8 or q4");
  }
  compile.optimize = optimizes(own);
  compile.notes = !args.no_notes;
  WeightChoice choice = weights.choice;
  if (!args.weights.empty()) compile.weights = &choice;
  auto made = plan_file::compile(graph, ops::op_table(), compile);
  if (!made.ok() && made.error().code == Code::kSymbol) {
    return made.take_status().hint("Bind it with --set SYMBOL=N, or stream along it with --pulse");
  }
  RILL_ASSIGN(const std::vector<plan_file::TargetPlan> plans, std::move(made));
  plan_file::WriteOptions options;
  options.notes = !args.no_notes;
  options.audit = plan_file::audit_text(graph);
  if (!args.weights.empty()) options.weights = weights_line(weights);
  RILL_ASSIGN(const std::vector<std::byte> bytes,
              plan_file::write(plans, ops::op_table(), options));
  if (!args.table.empty()) {
    RILL_ASSIGN(const std::string source, table_source(c_name(args.table), kinds_in(bytes), plans));
    RILL_TRY(nnef::write_file(args.table, std::as_bytes(std::span(source))));
  }
  if (!args.output.empty()) RILL_TRY(nnef::write_file(args.output, bytes));
  if (!args.embed.empty()) {
    const std::string source = c_source(c_name(args.embed), bytes);
    RILL_TRY(nnef::write_file(args.embed, std::as_bytes(std::span(source))));
  }
  std::string names;
  for (const plan_file::TargetPlan& each : plans) {
    names += (names.empty() ? "" : ", ") + each.target;
  }
  if (!args.weights.empty()) print_weights(args, weights);
  log.info(str_cat(bytes.size(), " bytes for ", names));
  return {};
}

}  // namespace rill::cli
