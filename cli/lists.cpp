#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cli/commands.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"

namespace rill::cli {
namespace {

/// The name in "fragment conv<?>(input: ...) -> ...".
std::string declared_name(std::string_view declaration) {
  constexpr std::string_view kWord = "fragment ";
  const size_t at = declaration.find(kWord);
  if (at != std::string_view::npos) declaration.remove_prefix(at + kWord.size());
  return std::string(declaration.substr(0, declaration.find_first_of("<( ")));
}

}  // namespace

Status list_ops_command() {
  std::map<std::string, std::set<std::string>> registries;
  for (const auto& rooms : {ops::op_table(), nnef::loader_rooms()}) {
    for (const OpRoom* room : rooms) {
      for (const NnefOp& op : room->nnef) {
        registries[op.registry].insert(declared_name(op.declaration));
      }
    }
  }
  for (const std::string_view name : nnef::standard_fragments()) {
    registries["tract_nnef"].emplace(name);
  }
  for (const auto& [registry, names] : registries) {
    fmt::print("# {}\n", registry);
    for (const std::string& name : names) fmt::print(" * {}\n", name);
  }
  return {};
}

Status list_runtimes_command() {
  fmt::print(" * cpu\n * unoptimized\n");
  return {};
}

bool optimizes(const Args& args) { return args.optimize || args.runtime == "cpu"; }

Result<Graph> final_graph(const Args& args, const Graph& graph) {
  if (!optimizes(args)) return graph;
  return fuse(graph, args.optimize_rounds);
}

}  // namespace rill::cli
