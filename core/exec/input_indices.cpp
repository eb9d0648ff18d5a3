#include "core/exec/input_indices.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/tensor/visit_number.h"

namespace rill {
namespace {

bool is_whole(DType dtype) { return is_int(dtype) || dtype == DType::kDim; }
int64_t bytes_of(DType dtype) { return dtype == DType::kDim ? 8 : dtype_size(dtype); }

}  // namespace

std::optional<NumberRange> range_of(const TensorPtr& tensor) {
  if (!tensor || tensor->volume() == 0 || !is_whole(tensor->dtype())) return std::nullopt;
  NumberRange out{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  bool known = true;
  const auto include = [&](int64_t number) {
    out = {std::min(out.least, number), std::max(out.most, number)};
  };
  if (tensor->dtype() == DType::kDim) {
    for (const Dim& element : tensor->values<Dim>()) {
      const auto number = element.to_int();
      known &= number.has_value();
      include(number.value_or(0));
    }
  }
  visit_number(tensor->dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      for (const T element : tensor->values<T>()) include(static_cast<int64_t>(element));
    }
  });
  return known ? std::optional(out) : std::nullopt;
}

std::optional<Indices> upstream_indices(const Graph& graph, const Indices& indices) {
  const Node& node = graph.node(indices.wire.node);
  if (node.inputs.empty()) return std::nullopt;
  const Course course = node.op->course();
  const DType from = graph.fact(node.inputs[0]).dtype;
  const DType to = graph.fact(indices.wire).dtype;
  if (node.op->traits().keeps_order || course.is(Course::Form::kMoved)) {
    return Indices{node.inputs[0], indices.range};
  }
  if (course.is(Course::Function::kCast)) {
    const bool exact = is_whole(from) && is_whole(to) && bytes_of(from) <= bytes_of(to);
    return exact ? std::optional(Indices{node.inputs[0], indices.range}) : std::nullopt;
  }
  if (!course.is(Course::Function::kAdd) || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {0U, 1U}) {
    const auto added = range_of(graph.fact(node.inputs[side]).konst);
    if (!added) continue;
    NumberRange range;
    const bool fits = !__builtin_sub_overflow(indices.range.least, added->least, &range.least) &&
                      !__builtin_sub_overflow(indices.range.most, added->most, &range.most);
    return fits ? std::optional(Indices{node.inputs[1 - side], range}) : std::nullopt;
  }
  return std::nullopt;
}

namespace {

void restrict_to(const NumberRange& range, std::optional<NumberRange>* all) {
  if (!*all) *all = range;
  *all = {std::max((*all)->least, range.least), std::min((*all)->most, range.most)};
}

}  // namespace

std::vector<char> always_needed(const Graph& graph) {
  std::vector<char> out(graph.nodes.size());
  for (const OutletId& output : graph.outputs) out[static_cast<size_t>(output.node)] = 1;
  for (size_t id = out.size(); id-- > 0;) {
    if (out[id] == 0) continue;
    const Node& node = graph.nodes[id];
    const bool chooses = node.op->course().is(Course::Function::kChoice);
    const size_t needed = chooses ? 1 : node.inputs.size();
    for (size_t i = 0; i < needed; ++i) out[static_cast<size_t>(node.inputs[i].node)] = 1;
  }
  return out;
}

std::vector<std::optional<NumberRange>> input_indices(const Graph& graph) {
  std::vector<std::optional<NumberRange>> out(graph.inputs.size());
  const std::vector<char> needed = always_needed(graph);
  for (size_t id = 0; id < needed.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (needed[id] == 0) continue;
    const auto may_index = [&](OutletId wire) {
      const Fact& fact = graph.fact(wire);
      return is_whole(fact.dtype) && !fact.konst;
    };
    if (!any_of(node.inputs, may_index)) continue;
    const Facts facts = graph.facts_of(node.inputs);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto range = node.op->indices(static_cast<int>(i), facts);
      if (!range) continue;
      std::optional<Indices> indices = Indices{node.inputs[i], *range};
      while (indices) {
        const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), indices->wire);
        if (input != graph.inputs.end()) {
          restrict_to(indices->range, &out[static_cast<size_t>(input - graph.inputs.begin())]);
          break;
        }
        indices = upstream_indices(graph, *indices);
      }
    }
  }
  return out;
}

}  // namespace rill
