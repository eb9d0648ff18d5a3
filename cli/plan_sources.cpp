#include "cli/plan_sources.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/say_impl.h"
#include "nnef_loader/archive/archive.h"
#include "ops/step_table.h"
#include "plan_file/map.h"
#include "plan_file/read.h"

namespace rill::cli {
namespace {

/// Return a C identifier from a file name: "kws" from "out/kws.c".
std::string c_name(const std::string& path) {
  std::string out = std::filesystem::path(path).stem().string();
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0 ? "plan_" + out : out;
}

/// Return the file as a C constant, which compilers put into read-only memory.
std::string c_source(const std::string& name, std::span<const std::byte> bytes) {
  std::string out = escaped_format(
      "/* A compiled model, for rill_plan_map({0}, {0}_size, &plan). */\n#include <stddef.h>\n\n"
      "#if defined(__cplusplus)\nextern \"C\" {{\n#endif\n"
      "extern const unsigned char {0}[];\nextern const size_t {0}_size;\n\n"
      "#if defined(__GNUC__)\n__attribute__((aligned(64)))\n#elif defined(_MSC_VER)\n"
      "__declspec(align(64))\n#endif\nconst unsigned char {0}[{1}] = {{",
      name, bytes.size());
  constexpr size_t kPerLine = 20;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % kPerLine == 0) out += "\n ";
    out += escaped_format("{}{},", i % kPerLine == 0 ? " " : "", static_cast<unsigned>(bytes[i]));
  }
  out += escaped_format("\n}};\nconst size_t {}_size = {};\n\n", name, bytes.size());
  return out + "#if defined(__cplusplus)\n}\n#endif\n";
}

/// Return the name of the first node of plans that has a step of a kind, for messages; empty if it
/// is inside a loop.
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

/// Return a list of kinds of steps for a `Runner`; the linker drops kinds that no list names.
/// Errors: kUnsupported for a kind that only the whole library runs.
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
    symbols += escaped_format("extern const char {}[];\n", found->symbol);
    entries += escaped_format("    {},\n", found->symbol);
  }
  return escaped_format(
      "/* The kinds of steps of a compiled model, for librill_run and rill::Runner. In C++:\n"
      "   extern \"C\" const rill::StepKind* const {0}[];\n"
      "   extern \"C\" const unsigned long {0}_count; */\n"
      "#if defined(__cplusplus)\nextern \"C\" {{\n#endif\n"
      "{1}extern const void* const {0}[];\nextern const unsigned long {0}_count;\n\n"
      "const void* const {0}[] = {{\n{2}}};\nconst unsigned long {0}_count = {3};\n\n"
      "#if defined(__cplusplus)\n}}\n#endif\n",
      name, Escaped{symbols}, Escaped{entries}, kinds.size());
}

}  // namespace

Status write_plan_sources(const SourceOptions& options, std::span<const std::byte> file,
                          std::span<const plan_file::TargetPlan> plans) {
  if (options.table.empty() && !options.with.empty()) {
    return fail(Code::kArg, "--with ", options.with[0],
                ": --with adds steps to a table, and none is written")
        .hint("Add --table FILE.c");
  }
  if (!options.table.empty()) {
    RILL_ASSIGN(std::set<std::string> kinds, plan_file::kinds_in(file));
    for (const std::string& path : options.with) {
      RILL_ASSIGN(const plan_file::MappedFile other, plan_file::map_file(path));
      auto own = plan_file::kinds_in(other.bytes);
      if (!own.ok()) return own.take_status().at(path, 0);
      kinds.insert(own->begin(), own->end());
    }
    RILL_ASSIGN(const std::string source, table_source(c_name(options.table), kinds, plans));
    RILL_TRY(nnef::write_file(options.table, std::as_bytes(std::span(source))));
  }
  if (options.embed.empty()) return {};
  const std::string source = c_source(c_name(options.embed), file);
  return nnef::write_file(options.embed, std::as_bytes(std::span(source)));
}

}  // namespace rill::cli
