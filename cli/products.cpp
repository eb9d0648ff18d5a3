#include <algorithm>
#include <map>
#include <set>

#include "cli/op_counts.h"
#include "cli/reports.h"
#include "cli/say_impl.h"
#include "cli/specs.h"
#include "kernels/cpu.h"
#include "transforms/scan_state.h"

namespace rill::cli {
namespace {

/// A matmul of [m, k] by [k, n], executed `iters` times.
struct Product {
  Dim m = 1, k = 1, n = 1, iters = 1;
  bool constant = false;  ///< whether one side is known beforehand
  std::string op;
  std::string packing;
};

std::string packing_of(const Fact& fact) {
  if (!fact.konst) return "as computed";
  return fact.konst->block_format() == BlockFormat::kNone ? "packed once" : "blocks of 4 bits";
}

/// Return the matmul of "mk,kn->mn"; letters that both operands and the result have are batch axes.
std::optional<Product> of_einsum(const Graph& graph, const Node& node) {
  const std::string expr = attribute(*node.op, "expr");
  const size_t arrow = expr.find("->");
  const size_t comma = expr.find(',');
  if (arrow == std::string::npos || comma == std::string::npos || comma > arrow ||
      node.inputs.size() < 2) {
    return std::nullopt;
  }
  const std::string a = expr.substr(0, comma);
  const std::string b = expr.substr(comma + 1, arrow - comma - 1);
  const std::string c = expr.substr(arrow + 2);
  const Fact& left = graph.fact(node.inputs[0]);
  const Fact& right = graph.fact(node.inputs[1]);
  if (a.size() != left.shape.size() || b.size() != right.shape.size()) return std::nullopt;
  Product out;
  const auto has = [](const std::string& letters, char c0) {
    return letters.find(c0) != std::string::npos;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    Dim& part = !has(c, a[i]) ? out.k : has(b, a[i]) ? out.iters : out.m;
    part *= left.shape[i];
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (!has(a, b[i])) (has(c, b[i]) ? out.n : out.k) *= right.shape[i];
  }
  out.constant = left.konst != nullptr || right.konst != nullptr;
  out.packing = packing_of(left.konst ? left : right);
  return out;
}

/// Return a convolution as the matmul of its filter with its windows.
std::optional<Product> of_conv(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.outputs.empty()) return std::nullopt;
  const Fact& filter = graph.fact(node.inputs[1]);
  const Fact& result = node.outputs[0];
  const auto groups = parse_number(attribute(*node.op, "groups"));
  if (filter.rank() < 2 || result.rank() != filter.rank() || !groups.ok() || *groups < 1) {
    return std::nullopt;
  }
  const auto parts = static_cast<int64_t>(*groups);
  Product out;
  out.m = exact_div(filter.dim(0), parts).value_or(filter.dim(0));
  for (int axis = 1; axis < filter.rank(); ++axis) out.k *= filter.dim(axis);
  for (int axis = 2; axis < result.rank(); ++axis) out.n *= result.dim(axis);
  out.iters = result.dim(0) * Dim(parts);
  out.constant = filter.konst != nullptr;
  out.packing = packing_of(filter);
  return out;
}

using Key = std::array<std::string, 8>;

void collect(const Graph& graph, const Dim& iterations, std::map<Key, Dim>* counts) {
  for (const Node& node : graph.nodes) {
    const std::string_view op = node.op->name();
    const auto product = op == "EinSum" ? of_einsum(graph, node)
                         : op == "Conv" ? of_conv(graph, node)
                                        : std::nullopt;
    if (product) {
      const Key key{product->constant ? "   " : "X•Y",
                    product->m.to_string(),
                    product->k.to_string(),
                    product->n.to_string(),
                    product->iters.to_string(),
                    std::string(op),
                    std::string(dtype_name(node.outputs[0].dtype)),
                    product->packing};
      (*counts)[key] += iterations;
    }
    if (const Graph* body = node.op->nested()) {
      collect(*body, iterations * transforms::loop_iterations(graph, node), counts);
    }
  }
}

}  // namespace

void print_products(const Graph& graph) {
  std::map<Key, Dim> counts;
  collect(graph, 1, &counts);
  Dim total = 0;
  for (const auto& [key, count] : counts) total += count;
  say("# Matrix multiplication\n* {} matrix multiplications, kernels up to {}\n",
      total.to_string(), kernels::tier_name(kernels::active_tier()));
  std::vector<std::pair<Key, Dim>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.to_int().value_or(0) > b.second.to_int().value_or(0);
  });
  say(
      "| count |     |     m |     k |     n | iters | operator | type | packing          |\n");
  for (const auto& [key, count] : sorted) {
    say("| {:>5} | {} | {:>5} | {:>5} | {:>5} | {:>5} | {:<8} | {:<4} | {:<16} |\n",
        count.to_string(), key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7]);
  }
}

}  // namespace rill::cli
