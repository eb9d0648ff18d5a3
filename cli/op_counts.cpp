#include "cli/op_counts.h"

#include <algorithm>
#include <set>

#include "cli/say_impl.h"
#include "cli/specs.h"

namespace rill::cli {
namespace {

/// Return whether a node writes the padding of a stream: a `Delay` can write frames before the
/// first one, since it has memory for them, and a `PulseMask` frames after the last one.
bool pads(const Node& node) {
  const std::string_view name = node.op->name();
  if (name != "Delay" && name != "PulseMask") return false;
  const std::string padding = attribute(*node.op, "padding");
  return !padding.empty() && padding != "0" && padding != "false";
}

/// As above, but count a stream that is padded at both ends once.
bool begins_padding(const Graph& graph, const Node& node) {
  return pads(node) && !pads(graph.node(node.inputs[0].node));
}

void count_into(const Graph& graph, std::map<std::string, int64_t, std::less<>>* counts) {
  for (const Node& node : graph.nodes) {
    ++(*counts)[std::string(node.op->name())];
    if (begins_padding(graph, node)) ++(*counts)["PulsePad"];
    if (const Graph* body = node.op->nested()) count_into(*body, counts);
  }
}

bool matches(std::string_view op, std::string_view pattern) {
  if (!pattern.ends_with('*')) return op == pattern;
  pattern.remove_suffix(1);
  return op.starts_with(pattern);
}

Status check_op_only(const CheckOptions& checks, const Graph& graph) {
  if (checks.assert_op_only.empty()) return {};
  std::vector<std::string> patterns;
  for (const std::string& text : checks.assert_op_only) {
    for (std::string& pattern : split(text, ',')) patterns.push_back(std::move(pattern));
  }
  std::set<std::string> unexpected;
  for (const Node& node : graph.nodes) {
    const bool known =
        std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& pattern) { return matches(node.op->name(), pattern); });
    if (!known) unexpected.insert(escaped_format("\n  {} ({})", node.name, node.op->name()));
  }
  if (unexpected.empty()) return {};
  Status wrong = fail(Code::kState, "Model has ", unexpected.size(), " unexpected op(s):");
  for (const std::string& line : unexpected) wrong.error().message += line;
  return wrong;
}

}  // namespace

std::string attribute(const Op& op, std::string_view key) {
  for (const std::string& word : split(op.attributes(), ' ')) {
    if (word.starts_with(str_cat(key, "="))) return word.substr(key.size() + 1);
  }
  return "";
}

std::map<std::string, int64_t, std::less<>> count_ops(const Graph& graph) {
  std::map<std::string, int64_t, std::less<>> counts;
  count_into(graph, &counts);
  return counts;
}

Status check_ops(const CheckOptions& checks, const Graph& graph) {
  RILL_TRY(check_op_only(checks, graph));
  const auto counts = count_ops(graph);
  for (size_t i = 0; i + 1 < checks.assert_op_counts.size(); i += 2) {
    const std::string& op = checks.assert_op_counts[i];
    const auto wanted = parse_number(checks.assert_op_counts[i + 1]);
    if (!wanted.ok()) {
      return fail(Code::kArg, "--assert-op-count ", op, ": ", wanted.error().message);
    }
    const auto found = counts.find(op);
    const int64_t count = found == counts.end() ? 0 : found->second;
    if (static_cast<double>(count) == *wanted) continue;
    return fail(Code::kState, "Wrong number of ", op, " operators: expected ",
                checks.assert_op_counts[i + 1], ", got ", count);
  }
  return {};
}

}  // namespace rill::cli
