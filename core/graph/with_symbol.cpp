// Binds a symbol of a graph, and checks that every length is still the extent that it counts.

#include <algorithm>

#include "core/base/search.h"
#include "core/graph/graph.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "core/graph/written.h"
#include "core/tensor/small.h"

namespace rill {
namespace {

TensorPtr substitute(const TensorPtr& tensor, std::string_view symbol, const Dim& by) {
  if (!tensor || tensor->dtype() != DType::kDim) return tensor;
  Tensor out = small_zeros(DType::kDim, tensor->shape());
  for (int64_t i = 0; i < out.volume(); ++i) {
    out.mutable_data<Dim>()[i] = tensor->data<Dim>()[i].substitute(symbol, by);
  }
  return std::make_shared<const Tensor>(std::move(out));
}

/// Finds wires whose length expression differs from their extent, because an upstream window is
/// longer than its input: the wire then has no frames, but the expression is negative. An attribute
/// with such an expression, for example of a slice, would select wrong frames, and a length that
/// becomes data would be negative.
class ExtentsCheck {
 public:
  ExtentsCheck(std::string_view symbol, const Dim& by) : symbol_(symbol), by_(by) {}

  void look_at(const Node& node, const Graph& bound, const std::vector<OutletId>& outlets,
               bool written_with_symbol) {
    // The node whose attribute mentions a wrong length comes after the node of that wire.
    if (written_with_symbol && !wrong_.ok() && written_.empty()) written_ = node.name;
    for (size_t slot = 0; slot < node.outputs.size() && wrong_.ok(); ++slot) {
      const Fact& declared = node.outputs[slot];
      const Fact& real = bound.fact(outlets[slot]);
      for (int axis = 0; axis < std::min(declared.rank(), real.rank()); ++axis) {
        if (!declared.dim(axis).mentions(symbol_)) continue;
        const auto count = declared.dim(axis).substitute(symbol_, by_).to_int();
        const auto extent = real.dim(axis).to_int();
        if (!count || !extent || *count == *extent) continue;
        const bool is_empty = *count < 0 && *extent == 0;
        if (is_empty && !empty_.ok()) continue;
        Status& found = is_empty ? empty_ : wrong_;
        found = fail(Code::kShape, "axis ", axis, " has ", counted(*extent, "element"), " with ",
                     symbol_, "=", by_, ", where its length ", declared.dim(axis), " is ", *count)
                    .in_node(node.name, node.op->name())
                    .at(node.line > 0 ? "graph.nnef" : "", node.line);
        if (!is_empty) return;
      }
    }
  }

  /// Check a node that turns the length of an earlier wire into data.
  void look_at_data(const Node& node) {
    has_data_ = true;
    if (wrong_.ok()) wrong_ = empty_;
    if (!wrong_.ok() && written_.empty()) written_ = node.name;
  }

  /// Return whether a length is data somewhere, and not only the extent of wires.
  bool has_data() const { return has_data_; }

  Status verdict() const {
    if (wrong_.ok() || written_.empty()) return {};
    return Status(wrong_).hint(str_cat("Use a larger ", symbol_,
                                       ": a window is longer than its input, and node \"", written_,
                                       "\" assumes that every window fits"));
  }

 private:
  std::string_view symbol_;
  const Dim& by_;
  bool has_data_ = false;
  std::string written_;  ///< the first later node with the symbol in an attribute
  Status wrong_;
  Status empty_;  ///< of the first wire with a negative count of frames
};

Status check_assertions(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  for (const SymbolScope::Assertion& assertion : scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) {
      const auto value = dim.mentions(symbol) ? dim.substitute(symbol, by).to_int() : std::nullopt;
      if (!value || *value >= 0) continue;
      return fail(Code::kSymbol, "The model asserts ", assertion.text, ", which ", symbol, "=", by,
                  " does not meet")
          .hint("Give a size that it allows");
    }
  }
  return {};
}

/// Check lengths that the model reads as data. A slice that ends before it begins is empty, but its
/// length would be negative.
Status check_lengths(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  std::vector<Dim> lengths = scope.lengths();
  for (const SymbolScope::Assertion& extent : scope.extents()) {
    lengths.push_back(extent.non_negative.front());
  }
  for (const Dim& dim : lengths) {
    const auto value = dim.mentions(symbol) ? dim.substitute(symbol, by).to_int() : std::nullopt;
    if (!value || *value >= 0) continue;
    return fail(Code::kShape, "The model reads the length ", dim, " of a wire, which is ", *value,
                " with ", symbol, "=", by)
        .hint(str_cat("Use a larger ", symbol,
                      ": a slice or a window is longer than its "
                      "input"));
  }
  return {};
}

/// Check numbers that nodes read: where a wire is empty, the graph may count fewer than 0 frames.
Status check_numbers(const SymbolScope& scope, std::string_view symbol, const Dim& by) {
  for (const SymbolScope::Taken& each : scope.taken()) {
    if (!each.counted.mentions(symbol) && !each.real.mentions(symbol)) continue;
    const Dim counted = each.counted.substitute(symbol, by);
    const Dim real = each.real.substitute(symbol, by);
    const bool known = counted.is_const() && (real.is_const() || !real.valid());
    if (!known || counted == real) continue;
    const bool wraps = *counted.to_int() > INT32_MAX || *counted.to_int() < INT32_MIN;
    const std::string found = real.valid() ? real.to_string() : "undefined";
    Status status =
        each.counted.is_const()
            ? fail(Code::kShape, "the node takes the number ", each.real, " of lengths for ",
                   each.counted, ", but it is ", found, " with ", symbol, "=", by)
            : fail(Code::kShape, "the node reads the number ", each.counted,
                   " of lengths, which is ", counted, " with ", symbol, "=", by, ", but ", found,
                   " as the file computes it");
    return std::move(status)
        .in_node(each.node, each.op)
        .hint(wraps ? str_cat("Give less of ", symbol, ": the file computes it in 32 bits")
                    : str_cat("Give more of ", symbol,
                              ": a slice or a window is longer than its input"));
  }
  return {};
}

/// Bind a symbol in the lengths of streams, unless it is the stream symbol.
void bind_lengths(std::string_view symbol, const Dim& by, Streaming* streaming) {
  if (streaming->symbol() == symbol) return;
  for (StreamingOutput& output : streaming->outputs) {
    if (output.length) output.length = output.length->substitute(symbol, by);
  }
  for (std::optional<Dim>& length : streaming->input_lengths) {
    if (length) length = length->substitute(symbol, by);
  }
}

/// Copies a graph with a number or an expression for a symbol.
class Binding final : public GraphCopy {
 public:
  Binding(const Graph& graph, std::string_view symbol, const Dim& by)
      : GraphCopy(graph), symbol_(symbol), by_(by), check_(symbol, by) {
    out_.numbers_bound = out_.numbers_bound || by.is_const();
    out_.scope.substitute(symbol, by);
    if (out_.streaming) bind_lengths(symbol, by, &*out_.streaming);
  }

  /// Check the lengths of the wires, after `run`.
  Status check() {
    for (const OutletId& output : graph_.outputs) {
      const bool counts = value_mentions(graph_.fact(output).konst, symbol_);
      if (counts) check_.look_at_data(graph_.node(output.node));
    }
    RILL_TRY(check_.verdict());
    if (check_.has_data()) RILL_TRY(check_lengths(graph_.scope, symbol_, by_));
    return check_numbers(graph_.scope, symbol_, by_);
  }

 private:
  Status visit(int id) override {
    const Node& node = graph_.node(id);
    if (const Fact* source = source_of(*node.op)) {
      Fact bound = rill::substitute(*source, symbol_, by_);
      mapped_.set(id, {out_.add_source(node.name, std::move(bound), node.line)});
    } else if (const TensorPtr constant = constant_of(*node.op)) {
      TensorPtr bound = substitute(constant, symbol_, by_);
      mapped_.set(id, {out_.add_const(node.name, std::move(bound), node.line)});
    } else {
      return copy(id);
    }
    return {};
  }

  Status copy(int id) override {
    const Node& node = graph_.node(id);
    const OpPtr bound = node.op->with_symbol(symbol_, by_);
    Status made = append_folded(id, bound ? bound : node.op, mapped_.inputs_of(node));
    if (!made.ok()) {
      // A number that is counted wrong there is the cause, and names a node of the file.
      RILL_TRY(check_numbers(graph_.scope, symbol_, by_));
      return made;
    }
    const std::vector<OutletId>& outlets = mapped_.by_node()[static_cast<size_t>(id)];
    if (outlets.size() == node.outputs.size()) {
      check_.look_at(node, out_, outlets, bound != nullptr);
    }
    if (reads_lengths(graph_, node, symbol_)) check_.look_at_data(node);
    return {};
  }

  std::string_view symbol_;
  const Dim& by_;
  ExtentsCheck check_;
};

}  // namespace

Result<Graph> Graph::with_symbol(std::string_view symbol, const Dim& by) const {
  RILL_TRY(check_assertions(scope, symbol, by));
  Binding binding(*this, symbol, by);
  RILL_ASSIGN(Graph out, std::move(binding).run());
  RILL_TRY(binding.check());
  return out;
}

}  // namespace rill
