#include "pulse/attention/heads.h"

#include <numeric>
#include <set>

#include "core/graph/course.h"
#include "core/graph/walk.h"
#include "core/tensor/strided_copy.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"

namespace rill::pulse {
namespace {

/// The maximum number of cases. The search visits the masks once per case; models have at most tens
/// of heads.
constexpr size_t kMostCases = 64;

/// Return, for each value in a constant, the index of its first element; empty if there is one
/// value, or too many.
std::vector<int64_t> places_of_values(const Tensor& tensor) {
  std::vector<int64_t> out;
  std::set<double> seen;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const auto number = element_as_double(tensor, i);
    if (!number.ok() || *number != *number) return {};
    if (seen.insert(*number).second) out.push_back(i);
    if (out.size() > kMostCases) return {};
  }
  return out.size() > 1 ? out : std::vector<int64_t>{};
}

/// Return a tensor of the same shape, filled with one of its elements.
TensorPtr all_of_element(const Tensor& tensor, int64_t element) {
  const auto number = element_as_double(tensor, element);
  if (!number.ok()) return nullptr;
  const auto numbers = Tensor::of<double>(
      DType::kF64, tensor.shape(),
      std::vector<double>(static_cast<size_t>(tensor.volume()), *number));
  if (!numbers.ok()) return nullptr;
  auto made = cast(*numbers, tensor.dtype());
  return made.ok() ? std::make_shared<const Tensor>(std::move(made).value()) : nullptr;
}

/// Return the part of a table at one index of each axis that is not cut.
TensorPtr part_of_table(const Tensor& table, const std::set<int>& cut, int64_t which) {
  const auto all = cast(table, DType::kF64);
  if (!all.ok() || table.rank() > kCopyMaxRank) return nullptr;
  std::vector<int64_t> shape = table.shape();
  std::vector<int64_t> from(shape.size());
  std::vector<int64_t> to(shape.size());
  int64_t first = 0;
  int64_t stride = 1;
  int64_t volume = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= table.shape()[axis]) {
    from[axis] = stride;
    to[axis] = volume;
    if (!cut.contains(static_cast<int>(axis))) {
      first += which % shape[axis] * stride;
      which /= shape[axis];
      shape[axis] = 1;
    }
    volume *= shape[axis];
  }
  std::vector<double> numbers(static_cast<size_t>(volume));
  copy_strided(sizeof(double), table.rank(), shape.data(), all->data<double>() + first, from.data(),
               numbers.data(), to.data());
  const auto part = Tensor::of<double>(DType::kF64, shape, numbers);
  if (!part.ok()) return nullptr;
  auto made = cast(*part, table.dtype());
  return made.ok() ? std::make_shared<const Tensor>(std::move(made).value()) : nullptr;
}

/// A node that differs from head to head.
struct Choice {
  int node = 0;
  bool joins = false;
  /// Elements of a constant, parts of a table, or inputs of the node that joins the masks
  std::vector<int64_t> cases;
  std::set<int> cut{};  ///< axes of a table that slices cut
};

class Heads {
 public:
  Heads(const Graph& graph, std::string_view symbol) : graph_(graph), symbol_(symbol) {}

  std::vector<Graph> one_per_case(std::span<const OutletId> wires) {
    for (const OutletId& wire : wires) collect(wire);
    size_t count = 1;
    for (const Choice& choice : choices_) {
      count *= choice.cases.size();
      if (count > kMostCases) return {graph_};
    }
    std::vector<Graph> out;
    for (size_t each = 0; each < count; ++each) {
      size_t rest = each;
      Graph graph = graph_;
      for (const Choice& choice : choices_) {
        if (!choose(choice, choice.cases[rest % choice.cases.size()], &graph)) return {graph_};
        rest /= choice.cases.size();
      }
      out.push_back(std::move(graph));
    }
    return out;
  }

 private:
  void collect(OutletId wire) {
    const auto take = [&](int id) {
      const Node& node = graph_.node(id);
      if (!seen_.insert(id).second || is_cut(id)) return false;
      if (const TensorPtr& value = node.outputs[0].konst) {
        auto places = places_of_values(*value);
        if (!places.empty()) choices_.push_back({id, false, std::move(places)});
      } else if (joins(node)) {
        Choice choice{id, true, {}};
        for (size_t k = 0; k < node.inputs.size(); ++k) {
          choice.cases.push_back(static_cast<int64_t>(k));
        }
        choices_.push_back(std::move(choice));
      }
      return true;
    };
    any_before(graph_, wire, [](int) { return false; }, take);
  }

  /// Return whether a node slices a table to the stream. Record the table as a choice if it has
  /// several parts along the axes that no slice cuts: it may then differ from head to head.
  bool is_cut(int id) {
    std::set<int> cut;
    for (Course course = graph_.node(id).op->course(); course.is(Course::Form::kCut);
         course = graph_.node(id).op->course()) {
      cut.insert(course.axis());
      id = graph_.node(id).inputs[0].node;
    }
    const TensorPtr& table = graph_.node(id).outputs[0].konst;
    if (cut.empty() || !table || !seen_.insert(id).second) return !cut.empty();
    int64_t count = 1;
    for (int axis = 0; axis < table->rank(); ++axis) {
      if (!cut.contains(axis)) count *= table->extent(axis);
    }
    if (count < 2 || count > static_cast<int64_t>(kMostCases)) return true;
    Choice choice{id, false, std::vector<int64_t>(static_cast<size_t>(count)), std::move(cut)};
    std::iota(choice.cases.begin(), choice.cases.end(), 0);
    choices_.push_back(std::move(choice));
    return true;
  }

  bool joins(const Node& node) const {
    const Course course = node.op->course();
    return course.is(Course::Form::kJoined) && node.inputs.size() > 1 &&
           !node.outputs[0].dim(course.axis()).mentions(symbol_);
  }

  static bool choose(const Choice& choice, int64_t which, Graph* graph) {
    Node& node = graph->nodes[static_cast<size_t>(choice.node)];
    if (!choice.joins) {
      const Tensor& all = *node.outputs[0].konst;
      const TensorPtr value =
          choice.cut.empty() ? all_of_element(all, which) : part_of_table(all, choice.cut, which);
      if (!value) return false;
      node.op = make_op<Const>(value);
      node.outputs[0].konst = value;
      node.inputs.clear();
      return true;
    }
    node.inputs = {node.inputs[static_cast<size_t>(which)]};
    node.op = make_op<ops::Broadcast>(node.outputs[0].shape);
    return true;
  }

  const Graph& graph_;
  std::string_view symbol_;
  std::set<int> seen_;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<Graph> heads_of(const Graph& graph, std::span<const OutletId> wires,
                            std::string_view symbol) {
  return Heads(graph, symbol).one_per_case(wires);
}

}  // namespace rill::pulse
