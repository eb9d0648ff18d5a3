#include "pulse/before/sink_scores.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "pulse/before/front_wires.h"
#include "pulse/before/weighed_product.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;
using Function = Course::Function;
using Wire = FrontWires::Wire;

class JoinedScores final : public GraphCopy {
 public:
  JoinedScores(const Graph& graph, std::string_view symbol)
      : GraphCopy(graph), symbol_(symbol), front_(&out_, symbol, true) {}

 private:
  /// Scores that a softmax normalises together.
  struct Scores {
    FrontWires::Join join;
    Dim before = 0;  ///< the extent of the parts before the growing one
    int64_t count = 0;  ///< the extent of all fixed parts
    bool last = false;  ///< whether the growing part is the last one
  };

  Status copy(int id) override {
    const Node& node = graph_.node(id);
    Wire made;
    if (normalised_axis(node)) {
      RILL_ASSIGN(made, normalised(node));
    } else if (node.op->course().is(Form::kProducts) && node.inputs.size() == 2) {
      RILL_ASSIGN(made, weighed(node));
    }
    if (made && out_.fact(*made).shape == node.outputs[0].shape) {
      mapped_[{id, 0}] = *made;
      return {};
    }
    return append(id, node.op, mapped_.inputs_of(node));
  }

  /// Return the axis of a softmax over a single axis, if that axis streams.
  std::optional<int> normalised_axis(const Node& node) const {
    const Course course = node.op->course();
    const bool only = course.is(Form::kNormalised) && !course.logarithm && course.axis() >= 0 &&
                      course.axis() < node.outputs[0].rank();
    if (!only || !node.outputs[0].dim(course.axis()).mentions(symbol_)) return std::nullopt;
    return course.axis();
  }

  /// Return the scores of a softmax before their maximum was subtracted.
  OutletId scores_of(const Node& softmax) const {
    const OutletId scores = softmax.inputs[0];
    const Node& apart = graph_.node(scores.node);
    if (!apart.op->course().is(Function::kSub)) return scores;
    const Node& greatest = graph_.node(apart.inputs[1].node);
    const Course course = greatest.op->course();
    const bool reduces = course.is(Form::kReduced) && course.function == Function::kMax &&
                         course.axis() == *normalised_axis(softmax);
    return reduces && greatest.inputs[0] == apart.inputs[0] ? apart.inputs[0] : scores;
  }

  /// Return the softmax without the join of its scores and without the subtraction of their
  /// maximum; nothing if there is neither.
  Result<Wire> normalised(const Node& softmax) {
    const OutletId wire = scores_of(softmax);
    const Node& join = graph_.node(wire.node);
    const auto scores = parts_of(join);
    Wire all;
    if (scores && scores->last && scores->join.axis == *normalised_axis(softmax)) {
      RILL_ASSIGN(all, front_.joined_scores(join, scores->join));
    }
    if (!all && wire == softmax.inputs[0]) return Wire();
    return appended(softmax, softmax.op, {all.value_or(mapped_.at(wire))});
  }

  /// Return the parts of joined scores of queries and keys; nothing for other joins.
  std::optional<Scores> parts_of(const Node& node) const {
    const Course course = node.op->course();
    if (!course.is(Form::kJoined) || !is_float(node.outputs[0].dtype)) return std::nullopt;
    Scores out;
    out.join.axis = course.axis();
    const auto streams = [&](const Dim& dim) { return dim.mentions(symbol_); };
    const auto& shape = node.outputs[0].shape;
    const bool square = std::count_if(shape.begin(), shape.end(), streams) == 2;
    if (!square || !streams(shape[static_cast<size_t>(out.join.axis)])) return std::nullopt;
    std::optional<OutletId> rest;
    for (const OutletId& input : node.inputs) {
      const Dim& extent = graph_.fact(input).dim(out.join.axis);
      const auto number = extent.to_int();
      out.last = !number;
      if (number) {
        out.join.parts.emplace_back(mapped_.at(input), *number);
        out.count += *number;
        if (!rest) out.before += extent;
      } else if (rest || is_positional(graph_, input)) {
        return std::nullopt;
      } else {
        rest = input;
      }
    }
    if (!rest) return std::nullopt;
    out.join.rest = mapped_.at(*rest);
    return out;
  }

  /// Replace a matmul of values and weights from which those of the joined scores were cut off. The
  /// new matmul takes all weights, and zeros as further values.
  Result<Wire> weighed(const Node& node) {
    for (size_t k = 0; k < 2; ++k) {
      const Node& cut = graph_.node(node.inputs[k].node);
      const Course slice = cut.op->course();
      if (!slice.is(Form::kCut)) continue;
      const Node& softmax = graph_.node(cut.inputs[0].node);
      const auto axis = normalised_axis(softmax);
      if (!axis || slice.axis() != *axis) continue;
      const Node& join = graph_.node(scores_of(softmax).node);
      const auto scores = parts_of(join);
      if (!scores || scores->join.axis != *axis) continue;
      const Dim end = softmax.outputs[0].dim(*axis) - Dim(scores->count) + scores->before;
      if (!(*slice.begin == scores->before) || !(*slice.end == end)) continue;
      return weighed_by(node, k, softmax, join, *scores);
    }
    return Wire();
  }

  Result<Wire> weighed_by(const Node& node, size_t weights, const Node& softmax, const Node& join,
                          const Scores& scores) {
    const size_t other = 1 - weights;
    const auto of_weights = product_input(graph_, node, weights, symbol_);
    const auto of_values = product_input(graph_, node, other, symbol_);
    if (!of_weights || !of_values || of_weights->summed != scores.join.axis) return Wire();
    RILL_ASSIGN(const Wire all, front_.joined_scores(join, scores.join));
    if (!all) return Wire();
    RILL_ASSIGN(const Wire values, front_.after_zeros(mapped_.at(node.inputs[other]),
                                                      of_values->summed, scores.count));
    const Wire normal = values ? appended(softmax, softmax.op, {*all}) : Wire();
    if (!normal) return Wire();
    std::vector<OutletId> inputs(2);
    inputs[weights] = *normal;
    inputs[other] = *values;
    return appended(node, node.op, inputs);
  }

  /// Append a node; nothing if its operator refuses the inputs.
  Wire appended(const Node& node, OpPtr op, const std::vector<OutletId>& inputs) {
    auto out = out_.add(node.name, std::move(op), inputs, node.line);
    return out.ok() ? Wire((*out)[0]) : Wire();
  }

  std::string_view symbol_;
  FrontWires front_;
};

}  // namespace

Result<Graph> joined_scores(Graph graph, std::string_view symbol) {
  const auto normalises = [](const Node& node) {
    return node.op->course().is(Form::kNormalised);
  };
  if (none_of(graph.nodes, normalises)) return graph;
  return JoinedScores(graph, symbol).run();
}

}  // namespace rill::pulse
