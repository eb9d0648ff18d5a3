#include "core/positions/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/search.h"
#include "core/graph/walk.h"
#include "core/positions/element.h"
#include "core/tensor/uniform.h"

namespace rill {
namespace {

using Form = Course::Form;
using Function = Course::Function;

constexpr int64_t kLongest = int64_t{1} << 20;
constexpr int64_t kMostShift = 16;
constexpr int64_t kMostKept = int64_t{1} << 16;
/// The maximum number of values that rows of masks may compute. Masks of real models need a few
/// thousand.
constexpr int64_t kMostWork = int64_t{1} << 26;

}  // namespace

Positions::Entry& Positions::entry(OutletId outlet, Square at) const {
  const auto known = entries_.find({outlet, at});
  if (known != entries_.end()) return known->second;
  const Node& node = node_of(outlet);
  Facts facts;
  for (const OutletId& input : node.inputs) facts.push_back(graph_.fact(input));
  PositionOp op(*node.op, facts, node.outputs);
  Entry& made = entries_.try_emplace({outlet, at}, std::move(op)).first->second;
  if (made.op.constant) made.constant = uniform_number(made.op.constant);
  if (made.op.is(Function::kChoice)) made.chosen_by_position = is_positional(graph_, outlet);
  if (made.op.is(Form::kCut)) made.table = PositionTable::of(graph_, node, at);
  auto inputs = squares_of_inputs(graph_, node, at, symbol_);
  made.known = inputs.has_value();
  if (inputs) made.inputs = std::move(*inputs);
  return made;
}

bool Positions::is_times_zero(const Node& node, const Entry& own) const {
  return own.op.is(Function::kMul) &&
         any_of(node.inputs, [&](const OutletId& input) {
           return uniform_number(graph_.fact(input).konst) == 0.0;
         });
}

std::optional<double> summed_number(const Graph& graph, const Node& sum) {
  const Node* node = &graph.node(sum.inputs[0].node);
  while (node->op->course().is(Form::kMoved)) node = &graph.node(node->inputs[0].node);
  const TensorPtr constant = constant_of(*node->op);
  return constant ? uniform_number(constant) : std::nullopt;
}

std::optional<double> Positions::value(OutletId outlet, Square at, int64_t i, int64_t j) const {
  const double found = number(outlet, at, i, j);
  return std::isnan(found) ? std::nullopt : std::optional(found);
}

double Positions::number(OutletId outlet, Square at, int64_t i, int64_t j) const {
  Entry& own = entry(outlet, at);
  const int64_t position = at.row >= 0 ? i : j;
  if ((at.row >= 0 && at.column >= 0) || position < 0 || position >= kMostKept) {
    return compute(own, outlet, at, i, j);
  }
  const auto place = static_cast<size_t>(at.row < 0 && at.column < 0 ? 0 : position);
  if (place >= own.asked.size()) {
    own.asked.resize(place + 1);
    own.seen.resize(place + 1, kUnknown);
  }
  if (!own.asked[place]) {
    // Computing the inputs adds entries, but references to this one stay valid.
    const double found = compute(own, outlet, at, i, j);
    own.asked[place] = 1;
    own.seen[place] = found;
  }
  return own.seen[place];
}

namespace {

// Values at positions are computed by nested calls, one per operator; a wire with two readers is
// computed twice. Masks of models are a dozen operators deep, and have a few dozen operators. A
// call takes 250 bytes of stack, since values are in registers.
constexpr int kMostDepth = 64;
constexpr int64_t kMostParts = 4096;

}  // namespace

Positions::Positions(const Graph& graph, std::string_view symbol)
    : graph_(graph), symbol_(symbol), too_deep_(graph.nodes.size()), work_(kMostWork) {
  std::vector<int> depth(graph.nodes.size(), 1);
  std::vector<int64_t> parts(graph.nodes.size(), 1);
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const OutletId& input : graph.nodes[id].inputs) {
      const auto from = static_cast<size_t>(input.node);
      depth[id] = std::max(depth[id], depth[from] + 1);
      parts[id] = std::min(parts[id] + parts[from], kMostParts + 1);
    }
    too_deep_[id] = depth[id] > kMostDepth || parts[id] > kMostParts;
  }
}

std::optional<double> Positions::summed(const Node& node, const Course& sum, Square at, int64_t i,
                                        int64_t j) const {
  const auto each = summed_number(graph_, node);
  const int axis = sum.axis();
  if (!each || sum.reverse || (axis != at.row && axis != at.column)) return std::nullopt;
  const int64_t position = axis == at.row ? i : j;
  return *each * static_cast<double>(position + (sum.exclusive ? 0 : 1));
}

double Positions::chosen_number(const Node& node, const Entry& own, int64_t i, int64_t j) const {
  const double condition = number(node.inputs[0], own.inputs[0], i, j);
  if (std::isnan(condition)) return kUnknown;
  // The result depends only on positions if both branches do, although one may be unknown here.
  const size_t one = condition != 0.0 ? 1 : 2;
  const double taken = number(node.inputs[one], own.inputs[one], i, j);
  if (own.chosen_by_position) return taken;
  return std::isnan(number(node.inputs[3 - one], own.inputs[3 - one], i, j)) ? kUnknown : taken;
}

double Positions::counted(const Entry& own, Square at, int64_t i, int64_t j) {
  const auto start = own.op.course.begin->to_int();
  if (!start || (at.row < 0 && at.column < 0)) return kUnknown;
  return static_cast<double>(*start + own.op.course.step * (at.row >= 0 ? i : j));
}

double Positions::compute(const Entry& own, OutletId outlet, Square at, int64_t i,
                          int64_t j) const {
  const Node& node = node_of(outlet);
  if (own.op.constant) return own.constant.value_or(kUnknown);
  if (own.op.is(Form::kCounted)) return counted(own, at, i, j);
  if (own.table) return own.table->value(i, j);
  if (!own.known) return kUnknown;
  if (is_times_zero(node, own)) return 0.0;
  if (too_deep(outlet)) return kUnknown;
  if (own.op.is(Form::kSummed)) return summed(node, own.op.course, at, i, j).value_or(kUnknown);
  if (own.op.is(Form::kTriangle)) {
    const int rank = node.outputs[0].rank();
    const auto k = own.op.course.begin->to_int();
    if (!k || at.row != rank - 2 || at.column != rank - 1) return kUnknown;
    const bool kept = own.op.course.upper ? j - i >= *k : j - i <= *k;
    return kept ? number(node.inputs[0], own.inputs[0], i, j) : 0.0;
  }
  if (own.op.is(Function::kChoice)) return chosen_number(node, own, i, j);
  if (own.op.is(Form::kMoved)) return number(node.inputs[0], own.inputs[0], i, j);
  std::array<double, 3> numbers{};
  const size_t count = node.inputs.size();
  if (count == 0 || count > numbers.size()) return kUnknown;
  for (size_t k = 0; k < count; ++k) {
    numbers[k] = number(node.inputs[k], own.inputs[k], i, j);
    if (std::isnan(numbers[k])) return kUnknown;
  }
  return number_of(own.op, std::span(numbers.data(), count)).value_or(kUnknown);
}

void Positions::collect_period(OutletId outlet, Square at, int64_t* period) const {
  const Node& node = node_of(outlet);
  const Entry& own = entry(outlet, at);
  const auto divide = [&](int64_t by) {
    *period = std::min<int64_t>(std::lcm(*period, by), kLongest);
  };
  if (own.table) return divide(own.table->period());
  const bool multiplies = own.op.is(Function::kMul);
  const bool shifts = own.op.is(Function::kShiftRight);
  if (own.op.divides() || shifts || multiplies) {
    for (const OutletId& input : node.inputs) {
      const auto number = uniform_number(graph_.fact(input).konst);
      if (!number || !std::isfinite(*number)) continue;
      // A multiplication by 1/8 is a division by 8.
      const double by = multiplies ? 1.0 / *number
                        : shifts   ? std::exp2(std::clamp<double>(*number, 0, kMostShift))
                                   : *number;
      const auto divisor = static_cast<int64_t>(std::min(std::abs(by), 1e6));
      const bool whole = static_cast<double>(divisor) == std::abs(by);
      if (multiplies && !whole) continue;
      if (divisor >= 1 && divisor <= 1 << 16) divide(divisor);
    }
  }
  if (too_deep(outlet)) return;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    collect_period(node.inputs[k], own.known ? own.inputs[k] : Square{}, period);
  }
}

}  // namespace rill
