#include "core/exec/index_checks.h"

#include <algorithm>
#include <limits>

#include "core/base/search.h"
#include "core/exec/builder.h"
#include "core/exec/input_indices.h"
#include "core/graph/course.h"
#include "core/run/index_step.h"

namespace rill {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
/// How far back a proof looks, so that a wide graph costs little.
constexpr int kMostSteps = 16;

bool is_whole(DType dtype) { return is_int(dtype) || dtype == DType::kDim; }

/// Return the numbers of a type of whole numbers.
NumberRange range_of_type(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  if (!is_int(dtype) || dtype_size(dtype) >= 8) return {kLeast, kMost};
  const int bits = static_cast<int>(8 * dtype_size(dtype));
  if (!is_signed_int(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

bool lies_in(const NumberRange& inner, const NumberRange& outer) {
  return outer.least <= inner.least && inner.most <= outer.most;
}

/// Bounds the numbers of wires from the operators upstream.
class Bounds {
 public:
  explicit Bounds(const Graph& graph) : graph_(graph) {}

  NumberRange of(OutletId wire, int steps = kMostSteps) const {
    const Fact& fact = graph_.fact(wire);
    if (const auto known = range_of(fact.konst)) return *known;
    const NumberRange own = range_of_type(fact.dtype);
    const Node& node = graph_.node(wire.node);
    if (steps == 0 || node.inputs.empty()) return own;
    const NumberRange found = computed(node, fact.dtype, steps - 1);
    // A result that leaves its type wraps.
    return lies_in(found, own) ? found : own;
  }

 private:
  using Function = Course::Function;

  NumberRange computed(const Node& node, DType to, int steps) const {
    const Course course = node.op->course();
    const auto in = [&](size_t i) { return of(node.inputs[i], steps); };
    if (course.is(Course::Form::kReduced) && course.function == Function::kPlace) {
      const int axis = course.axis();
      const auto extent = axis < 0 ? std::nullopt : graph_.fact(node.inputs[0]).dim(axis).to_int();
      return extent ? NumberRange{0, std::max<int64_t>(0, *extent - 1)} : range_of_type(to);
    }
    if (node.op->traits().keeps_order || course.is(Course::Form::kMoved)) return in(0);
    const DType from = graph_.fact(node.inputs[0]).dtype;
    if (course.is(Function::kCast) && (is_whole(from) || from == DType::kBool)) return in(0);
    if (!is_whole(to)) return range_of_type(to);
    if (course.is(Function::kChoice)) {
      const NumberRange a = in(1);
      const NumberRange b = in(2);
      return {std::min(a.least, b.least), std::max(a.most, b.most)};
    }
    if (node.inputs.size() != 2) return range_of_type(to);
    if (course.is(Function::kMin) || course.is(Function::kMax)) {
      const NumberRange a = in(0);
      const NumberRange b = in(1);
      if (course.is(Function::kMin)) return {std::min(a.least, b.least), std::min(a.most, b.most)};
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    }
    if (course.is(Function::kAdd) || course.is(Function::kSub)) {
      const NumberRange a = in(0);
      const NumberRange b = in(1);
      NumberRange out;
      const bool adds = course.is(Function::kAdd);
      const bool wraps = adds ? __builtin_add_overflow(a.least, b.least, &out.least) ||
                                    __builtin_add_overflow(a.most, b.most, &out.most)
                              : __builtin_sub_overflow(a.least, b.most, &out.least) ||
                                    __builtin_sub_overflow(a.most, b.least, &out.most);
      if (!wraps) return out;
    }
    return range_of_type(to);
  }

  const Graph& graph_;
};

/// Return whether indices are those of an input of the model, which sessions check.
bool are_given(const Graph& graph, const Indices& from) {
  std::optional<Indices> indices = from;
  while (indices) {
    if (contains(graph.inputs, indices->wire)) return true;
    indices = upstream_indices(graph, *indices);
  }
  return false;
}

/// Return whether the last axis of an operand lists the indices of several axes, as for GatherND.
/// Their common range is only that of the longest axis, so that each axis has its own check. Lists
/// of no axes have no range.
bool are_lists(const Node& node, size_t input, Facts facts) {
  std::vector<Dim>& shape = facts[input].shape;
  if (shape.empty() || shape.back() == Dim(1)) return false;
  shape.back() = Dim(0);
  return !node.op->indices(static_cast<int>(input), facts);
}

/// Adds the checks of a graph; `loops` is the path of the loops around it, empty for a model.
void add_checks(const Graph& graph, const std::string& loops, IndexChecks* out) {
  const std::vector<char> needed = always_needed(graph);
  const Bounds bounds(graph);
  for (size_t id = 0; id < needed.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (needed[id] == 0) continue;
    if (node.op->nested() != nullptr) {
      add_checks(*node.op->nested(), str_cat(loops, node.name, "/"), out);
    }
    const auto may_index = [&](OutletId wire) {
      const Fact& fact = graph.fact(wire);
      return is_whole(fact.dtype) && !fact.konst;
    };
    if (!any_of(node.inputs, may_index)) continue;
    const Facts facts = graph.facts_of(node.inputs);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto range = node.op->indices(static_cast<int>(i), facts);
      if (!range || !may_index(node.inputs[i])) continue;
      const bool given = loops.empty() && are_given(graph, {node.inputs[i], *range});
      const bool known = given || lies_in(bounds.of(node.inputs[i]), *range);
      if (known && !are_lists(node, i, facts)) continue;
      out->emplace(loops + node.name, static_cast<int>(i));
    }
  }
}

}  // namespace

IndexChecks computed_indices(const Graph& graph) {
  IndexChecks out;
  add_checks(graph, "", &out);
  return out;
}

void PlanBuilder::watch_indices(IndexChecks checks) {
  index_checks_ = std::move(checks);
  if (index_checks_.empty()) return;
  bad_index_ = {new_buffer(BufferKind::kArena, sizeof(BadIndex)), 0};
  // The step belongs to no node, so that it runs in every run.
  Lowering(*this, -1).step(kWatchIndices, {bad_index_}, {}, {bad_index_});
}

const IndexChecks& PlanBuilder::index_checks() const {
  return outer_ ? outer_->index_checks() : index_checks_;
}

void PlanBuilder::check_indices(int id, const PlacedView& indices, const NumberRange& range) {
  const PlanBuilder* top = this;
  while (top->outer_ != nullptr) top = top->outer_;
  CheckIndicesArgs args;
  args.indices = indices;
  args.bad = top->bad_index_;
  args.node = outer_ ? outer_node_ : id;
  args.least = range.least;
  args.most = range.most;
  Lowering(*this, id).step(kCheckIndices, args, {indices, args.bad}, {args.bad});
}

void PlanBuilder::check_indices(int id) {
  const Node& node = graph_.node(id);
  if (index_checks().empty()) return;
  const Facts facts = graph_.facts_of(node.inputs);
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (!index_checks().contains({scope_ + node.name, i})) continue;
    const auto range = node.op->indices(i, facts);
    const Operand& indices = Lowering(*this, id).in(i);
    if (range && is_int(indices.dtype)) check_indices(id, indices, *range);
  }
}

void PlanBuilder::check_index_lists(Lowering& lowering, int input, int first, int depth) {
  PlanBuilder& builder = lowering.builder_;
  const Node& node = lowering.node();
  if (depth < 2 || !builder.index_checks().contains({builder.scope_ + node.name, input})) return;
  const Operand& indices = lowering.in(input);
  const int last = indices.rank - 1;
  if (!is_int(indices.dtype) || last < 0) return;
  for (int k = 0; k < depth; ++k) {
    const auto extent = builder.graph_.fact(node.inputs[0]).dim(first + k).to_int();
    PlacedView own = indices;
    own.shape[static_cast<size_t>(last)] = 1;
    own.advance(last, k);
    if (extent) builder.check_indices(lowering.node_, own, {-*extent, *extent - 1});
  }
}

void check_index_lists(Lowering& lowering, int input, int first, int depth) {
  PlanBuilder::check_index_lists(lowering, input, first, depth);
}

}  // namespace rill
