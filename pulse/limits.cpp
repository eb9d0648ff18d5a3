#include "pulse/limits.h"

#include <algorithm>

#include "ops/array/slice.h"

namespace rill::pulse {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;
/// Lengths are quasi-affine: where none of so many in a row will do, none that is longer does.
constexpr int64_t kPeriod = 1024;

bool holds_near(const Dim& dim, std::string_view symbol, int64_t length) {
  const std::string name(symbol);
  for (int64_t more = 0; more < kPeriod; ++more) {
    const auto value = dim.eval({{name, length + more}});
    if (!value || *value >= 0) return true;
  }
  return false;
}

/// The last length at which one expression is not negative, if it is from there on.
std::optional<int64_t> last_length(const Dim& dim, std::string_view symbol) {
  if (holds_near(dim, symbol, kFar)) return std::nullopt;
  int64_t low = 0;
  int64_t high = kFar;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (holds_near(dim, symbol, middle) ? low : high) = middle;
  }
  // None of the lengths from `high` on holds; `low` does not tell which of those behind it does.
  const std::string name(symbol);
  for (int64_t length = high; length > low - kPeriod && length > 0; --length) {
    const auto value = dim.eval({{name, length}});
    if (!value || *value >= 0) return length;
  }
  return 0;
}

bool of_symbol_alone(const Dim& dim, std::string_view symbol) {
  return dim.mentions(symbol) && dim.eval({{std::string(symbol), 1}}).has_value();
}

void add_tables(const Graph& graph, std::string_view symbol, std::vector<Dim>* out) {
  for (const Node& node : graph.nodes) {
    if (const Graph* nested = node.op->nested()) add_tables(*nested, symbol, out);
    const auto* slice = node.op->as<ops::Slice>();
    if (!slice) continue;
    const Dim& rows = graph.fact(node.inputs[0]).dim(static_cast<int>(slice->axis));
    if (rows.mentions(symbol)) continue;
    out->push_back(slice->begin);
    out->push_back(rows - slice->end);
  }
}

}  // namespace

std::vector<Dim> asserted_of(const Graph& graph, std::string_view symbol) {
  std::vector<Dim> out;
  for (const SymbolScope::Assertion& assertion : graph.scope.assertions()) {
    out.insert(out.end(), assertion.non_negative.begin(), assertion.non_negative.end());
  }
  add_tables(graph, symbol, &out);
  std::erase_if(out, [&](const Dim& dim) { return !of_symbol_alone(dim, symbol); });
  return out;
}

std::optional<int64_t> longest_stream(std::string_view symbol,
                                      const std::vector<Dim>& non_negative) {
  std::optional<int64_t> longest;
  for (const Dim& dim : non_negative) {
    const auto last = last_length(dim, symbol);
    if (last) longest = std::min(longest.value_or(*last), *last);
  }
  return longest;
}

}  // namespace rill::pulse
