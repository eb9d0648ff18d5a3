#include "core/graph/same.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/bits.h"
#include "core/base/search.h"
#include "core/graph/nnef.h"

namespace rill {
namespace {

/// An attribute as its visitor saw it: dims and tensors by value, others as text.
struct Attribute {
  std::string name;
  std::string text;
  std::vector<Dim> dims;
  TensorPtr tensor;
};

class AttributeList final : public FieldVisitor {
 public:
  std::vector<Attribute> all;
  void field(const char* name, bool& value) override { add(name, str_cat(value)); }
  void field(const char* name, int64_t& value) override { add(name, str_cat(value)); }
  // Comparing bits distinguishes -0 from 0, and treats NaN as equal to itself.
  void field(const char* name, float& value) override {
    add(name, str_cat(value, " (", bit_cast<int32_t>(value), ")"));
  }
  void field(const char* name, std::string& value) override { add(name, value); }
  void field(const char* name, DType& value) override { add(name, str_cat(dtype_name(value))); }
  void field(const char* name, Dim& value) override { all.push_back({name, "", {value}, {}}); }
  void field(const char* name, std::vector<int64_t>& value) override { add(name, str_cat(value)); }
  void field(const char* name, std::vector<Dim>& value) override {
    all.push_back({name, "", value, {}});
  }
  void field(const char* name, Pads& value) override { add(name, nnef_text(value)); }
  void field(const char* name, TensorPtr& value) override {
    all.push_back({name, value ? "a tensor" : "none", {}, value});
  }

 private:
  void add(const char* name, std::string text) { all.push_back({name, std::move(text), {}, {}}); }
};

std::vector<Attribute> attributes_of(const Op& op) {
  AttributeList list;
  op.clone()->fields(list);
  return std::move(list.all);
}

Status differs(std::string_view what, std::string_view expected, std::string_view found) {
  return fail(Code::kInternal, what, ": expected ", expected, ", found ", found);
}

/// Return the furthest upstream wire with the same elements in the same order: operators that only
/// change extents are skipped.
OutletId source_of(const Graph& graph, OutletId wire) {
  while (!graph.fact(wire).konst && graph.node(wire.node).op->traits().keeps_order) {
    wire = graph.node(wire.node).inputs[0];
  }
  return wire;
}

/// Compares two graphs. It pairs their nodes from the outputs upstream, then compares the pairs
/// from the inputs downstream, so that a symbol is first seen at the operator that introduces it.
class Comparison {
 public:
  Comparison(const Graph& expected, const Graph& found) : expected_(expected), found_(found) {}

  Status run();

 private:
  Status pair_wires();
  Status pair(OutletId expected, OutletId found);
  Status pair_nodes(int expected, int found);
  Status same_node(const Node& expected, const Node& found);
  Status same_attribute(const Attribute& expected, const Attribute& found);
  Status same_fact(std::string_view what, const Fact& expected, const Fact& found);
  Status same_tensor(std::string_view what, const Tensor& expected, const Tensor& found);
  bool same_dims(std::span<const Dim> expected, std::span<const Dim> found);
  bool same_dim(const Dim& expected, const Dim& found);
  bool introduces(const Dim& expected, const Dim& found);

  const Graph& expected_;
  const Graph& found_;
  std::vector<int> partner_;  ///< by node of `expected_`: its node of `found_`; -1 if none yet
  std::vector<std::pair<OutletId, OutletId>> constants_;
  std::vector<std::pair<OutletId, OutletId>> shapes_;  ///< wires that only reshape others
  std::vector<std::pair<OutletId, OutletId>> open_;  ///< wires still to be paired
  std::vector<std::pair<std::string, Dim>> symbols_;  ///< symbol of `found_`, expression of
                                                      ///< `expected_`
};

/// Return whether two quantised constants are equal after subtraction of their zero points.
bool same_numbers(const Tensor& a, const Tensor& b) {
  const auto is_byte = [](const Tensor& each) {
    return each.dtype() == DType::kQU8 || each.dtype() == DType::kQI8;
  };
  if (!is_byte(a) || !is_byte(b) || a.shape() != b.shape()) return false;
  if (a.qparams().scale != b.qparams().scale) return false;
  const auto number = [](const Tensor& each, int64_t i) {
    const int stored = each.dtype() == DType::kQU8 ? int{each.data<uint8_t>()[i]}
                                                   : int{each.data<int8_t>()[i]};
    return int64_t{stored} - each.qparams().zero_point;
  };
  for (int64_t i = 0; i < a.volume(); ++i) {
    if (number(a, i) != number(b, i)) return false;
  }
  return true;
}

Status Comparison::run() {
  RILL_TRY(pair_wires());
  for (size_t i = 0; i < expected_.nodes.size(); ++i) {
    if (partner_[i] < 0) continue;
    const Node& node = expected_.nodes[i];
    Status status = same_node(node, found_.node(partner_[i]));
    if (!status.ok()) return std::move(status).in_node(node.name, node.op->name());
  }
  for (const auto& [expected, found] : shapes_) {
    Status status = same_fact("shape", expected_.fact(expected), found_.fact(found));
    const Node& node = expected_.node(expected.node);
    if (!status.ok()) return std::move(status).in_node(node.name, node.op->name());
  }
  for (const auto& [expected, found] : constants_) {
    const Tensor& own = *expected_.fact(expected).konst;
    const Tensor& other = *found_.fact(found).konst;
    // Integer dot products do not depend on the zero points; readers may choose others.
    if (!contains(expected_.outputs, expected) && same_numbers(own, other)) continue;
    Status status = same_tensor("value", own, other);
    const Node& node = expected_.node(expected.node);
    if (!status.ok()) return std::move(status).in_node(node.name, node.op->name());
  }
  return {};
}

Status Comparison::pair_wires() {
  partner_.assign(expected_.nodes.size(), -1);
  const auto count = [](const std::vector<OutletId>& wires) { return str_cat(wires.size()); };
  if (expected_.inputs.size() != found_.inputs.size()) {
    return differs("inputs", count(expected_.inputs), count(found_.inputs));
  }
  if (expected_.outputs.size() != found_.outputs.size()) {
    return differs("outputs", count(expected_.outputs), count(found_.outputs));
  }
  for (size_t i = 0; i < expected_.inputs.size(); ++i) {
    open_.emplace_back(expected_.inputs[i], found_.inputs[i]);
  }
  for (size_t i = 0; i < expected_.outputs.size(); ++i) {
    open_.emplace_back(expected_.outputs[i], found_.outputs[i]);
  }
  while (!open_.empty()) {
    const auto [expected, found] = open_.back();
    open_.pop_back();
    Status status = pair(expected, found);
    const Node& node = expected_.node(expected.node);
    if (!status.ok()) return std::move(status).in_node(node.name, node.op->name());
  }
  return {};
}

Status Comparison::pair(OutletId expected, OutletId found) {
  const OutletId source = source_of(expected_, expected);
  const OutletId other_source = source_of(found_, found);
  if (source != expected || other_source != found) {
    shapes_.emplace_back(expected, found);
    expected = source;
    found = other_source;
  }
  const Fact& own = expected_.fact(expected);
  const Fact& other = found_.fact(found);
  // The writer may write a constant once per reader.
  if (own.konst && other.konst) {
    constants_.emplace_back(expected, found);
    return {};
  }
  if (own.konst || other.konst) {
    return differs("wire", own.konst ? "a constant" : "a computed value",
                   other.konst ? "a constant" : "a computed value");
  }
  if (expected.slot != found.slot) {
    return differs("output", str_cat(expected.slot), str_cat(found.slot));
  }
  return pair_nodes(expected.node, found.node);
}

Status Comparison::pair_nodes(int expected, int found) {
  int& partner = partner_[static_cast<size_t>(expected)];
  const Node& own = expected_.node(expected);
  const Node& other = found_.node(found);
  if (partner >= 0) {
    if (partner == found) return {};
    return differs("node", str_cat("\"", found_.node(partner).name, "\" a second time"),
                   str_cat("\"", other.name, "\""));
  }
  partner = found;
  if (own.op->kind() != other.op->kind()) {
    return differs("operator", own.op->name(),
                   str_cat(other.op->name(), " \"", other.name, "\""));
  }
  if (own.inputs.size() != other.inputs.size()) {
    return differs("inputs", str_cat(own.inputs.size()), str_cat(other.inputs.size()));
  }
  for (size_t i = 0; i < own.inputs.size(); ++i) open_.emplace_back(own.inputs[i], other.inputs[i]);
  return {};
}

Status Comparison::same_node(const Node& expected, const Node& found) {
  const std::vector<Attribute> own = attributes_of(*expected.op);
  const std::vector<Attribute> others = attributes_of(*found.op);
  const auto names = [](const std::vector<Attribute>& list) {
    std::string out;
    for (const Attribute& each : list) out += (out.empty() ? "" : ", ") + each.name;
    return out;
  };
  if (names(own) != names(others)) return differs("attributes", names(own), names(others));
  for (size_t i = 0; i < own.size(); ++i) RILL_TRY(same_attribute(own[i], others[i]));
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    RILL_TRY(same_fact(str_cat("output ", i), expected.outputs[i], found.outputs[i]));
  }
  const Graph* body = expected.op->nested();
  const Graph* other_body = found.op->nested();
  if (!body || body == other_body) return {};
  if (!other_body) return differs("body", "a graph", "none");
  return expect_same(*body, *other_body);
}

Status Comparison::same_attribute(const Attribute& expected, const Attribute& found) {
  const std::string what = str_cat("attribute \"", expected.name, "\"");
  if (expected.text != found.text) return differs(what, expected.text, found.text);
  if (expected.tensor) return same_tensor(what, *expected.tensor, *found.tensor);
  if (same_dims(expected.dims, found.dims)) return {};
  const bool one = expected.dims.size() == 1 && found.dims.size() == 1;
  if (one && introduces(expected.dims[0], found.dims[0])) return {};
  return differs(what, str_cat(expected.dims), str_cat(found.dims));
}

Status Comparison::same_fact(std::string_view what, const Fact& expected, const Fact& found) {
  if (expected.dtype == found.dtype && expected.q == found.q &&
      same_dims(expected.shape, found.shape)) {
    return {};
  }
  const auto text = [](const Fact& fact) {
    return is_quantised(fact.dtype)
               ? str_cat(fact, " of zero point ", fact.q.zero_point, " and scale ", fact.q.scale)
               : str_cat(fact);
  };
  return differs(what, text(expected), text(found));
}

Status Comparison::same_tensor(std::string_view what, const Tensor& expected, const Tensor& found) {
  bool same = expected.dtype() == found.dtype() && expected.shape() == found.shape() &&
              expected.block_format() == found.block_format() &&
              expected.qparams() == found.qparams();
  if (same) {
    same = expected.dtype() == DType::kDim
               ? same_dims(expected.values<Dim>(), found.values<Dim>())
               : expected.same_bits(found);
  }
  return same ? Status() : differs(what, tensor_text(expected), tensor_text(found));
}

bool Comparison::same_dims(std::span<const Dim> expected, std::span<const Dim> found) {
  if (expected.size() != found.size()) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!same_dim(expected[i], found[i])) return false;
  }
  return true;
}

bool Comparison::same_dim(const Dim& expected, const Dim& found) {
  Dim own = found;
  for (const auto& [symbol, by] : symbols_) own = own.substitute(symbol, by);
  // The loader simplifies lengths by the model's assertions.
  return expected == own ||
         expected_.scope.simplify(expected) == expected_.scope.simplify(own);
}

/// Record that an operator introduces a symbol, whose name the reader chooses.
bool Comparison::introduces(const Dim& expected, const Dim& found) {
  const auto known = [](const Graph& graph, const std::string& symbol) {
    return any_of(graph.inputs, [&](OutletId input) { return graph.fact(input).mentions(symbol); });
  };
  const auto own = expected.as_symbol();
  const auto other = found.as_symbol();
  if (!own || !other || known(expected_, *own) || known(found_, *other)) return false;
  symbols_.emplace_back(*other, expected);
  return true;
}

}  // namespace

Status expect_same(const Graph& expected, const Graph& found) {
  return Comparison(expected, found).run();
}

}  // namespace rill
