#include "pulse/limits.h"

#include <algorithm>
#include <span>

#include "core/dim/pattern.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"

namespace rill::pulse {
namespace {

/// The last length at which one expression is not negative: nothing if there is always another one,
/// or none can be told, which leaves it to the end of a stream to refuse what does not suit.
std::optional<int64_t> last_length(const Dim& dim, std::string_view symbol) {
  const auto pattern = DimPattern::of(dim, symbol);
  if (!pattern.ok()) return std::nullopt;
  const auto last = pattern->last_non_negative();
  return last.ok() && *last ? std::optional(std::max<int64_t>(0, **last)) : std::nullopt;
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

/// What must be 0 for a whole run to be defined: where the frames of two inputs meet, and where
/// frames are taken apart, no frame may be left over. Repeating a single frame instead is nothing
/// that a stream could know beforehand.
void add_equal_lengths(const Graph& graph, std::string_view symbol, std::vector<Dim>* out) {
  const auto add = [&](const Dim& a, const Dim& b) {
    if (!a.mentions(symbol) || !b.mentions(symbol)) return;
    const Dim apart = graph.scope.simplify(a - b);
    if (apart == Dim(0) || !apart.valid()) return;
    for (const Dim& sign : {apart, -apart}) {
      if (std::find(out->begin(), out->end(), sign) == out->end()) out->push_back(sign);
    }
  };
  for (const Node& node : graph.nodes) {
    const Facts in = graph.facts_of(node.inputs);
    if (const auto* reshape = node.op->as<ops::Reshape>()) {
      const std::span<const Dim> all(in[0].shape);
      add(volume(
              all.subspan(static_cast<size_t>(reshape->axis), static_cast<size_t>(reshape->count))),
          volume(reshape->to));
    }
    if (in.size() < 2) continue;
    for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
      const Dim* first = nullptr;
      for (size_t i = 0; i < in.size(); ++i) {
        if (i >= track.in.size() || track.in[i] < 0) continue;
        const Dim& own = in[i].dim(track.in[i]);
        if (first) add(*first, own);
        if (!first && own.mentions(symbol)) first = &own;
      }
    }
  }
}

}  // namespace

std::vector<Dim> asserted_of(const Graph& graph, std::string_view symbol) {
  std::vector<Dim> out;
  for (const SymbolScope::Assertion& assertion : graph.scope.assertions()) {
    out.insert(out.end(), assertion.non_negative.begin(), assertion.non_negative.end());
  }
  add_tables(graph, symbol, &out);
  add_equal_lengths(graph, symbol, &out);
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
