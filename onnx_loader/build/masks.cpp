#include "onnx_loader/build/masks.h"

#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/search.h"

namespace rill::onnx {
namespace {

// Operators allowed between the values read at the mask's places and the values written there.
constexpr std::array<std::string_view, 20> kElementwise = {
    "Abs",  "Add",  "Cast", "Ceil",       "Clip", "Div",     "Exp",  "Floor", "Identity", "Log",
    "Max",  "Min",  "Mul",  "Neg",        "Pow",  "Sigmoid", "Sqrt", "Sub",   "Relu",     "Tanh"};
// Operators that change the shape of the values at the mask's places.
constexpr std::array<std::string_view, 4> kForms = {"Expand", "Identity", "Reshape", "Unsqueeze"};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& list) {
  return contains(list, name);
}

bool has_one_element(const TensorProto& tensor) {
  return all_of(tensor.dims, [](int64_t each) { return each == 1; });
}

class Places {
 public:
  explicit Places(const GraphProto& graph) : graph_(graph), nodes_(graph.nodes) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string_view output : nodes_[i].outputs) made_by_.emplace(output, i);
    }
    for (const TensorProto& tensor : graph.initializers) {
      if (has_one_element(tensor)) numbers_.insert(tensor.name);
    }
    count_reads();
  }

  Masked run() {
    Masked out;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op_type == "ScatterND" && select(i)) out.selected.insert(nodes_[i].outputs[0]);
    }
    if (out.selected.empty()) return out;
    drop_unread();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!dropped_.contains(i)) out.nodes.push_back(std::move(nodes_[i]));
    }
    return out;
  }

 private:
  using Name = std::string_view;

  void count_reads() {
    reads_.clear();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (dropped_.contains(i)) continue;
      for (const Name input : nodes_[i].inputs) ++reads_[input];
    }
    for (const ValueInfo& output : graph_.outputs) ++reads_[output.name];
  }

  const NodeProto* maker(Name value) const {
    const auto at = made_by_.find(value);
    return at == made_by_.end() ? nullptr : &nodes_[at->second];
  }

  bool is_number(Name value) const {
    const NodeProto* node = maker(value);
    if (!node) return numbers_.contains(value);
    return node->op_type == "Constant" &&
           (node->attribute("value_float") != nullptr || node->attribute("value_int") != nullptr);
  }

  /// Return the mask with these places: they are its NonZero, one row per place.
  std::optional<Name> mask_of(Name places) const {
    const NodeProto* transpose = maker(places);
    if (!transpose || transpose->op_type != "Transpose" || transpose->inputs.size() != 1) return {};
    const NodeProto* found = maker(transpose->inputs[0]);
    if (!found || found->op_type != "NonZero" || found->inputs.size() != 1) return {};
    return found->inputs[0];
  }

  /// Return a wire with the values of `value` at the places of the mask; `value` only has values
  /// there. It is a number, or a result of elementwise nodes on all values. Records the inputs that
  /// these nodes then read.
  std::optional<Name> upcast(Name value, Name mask, int depth) {
    constexpr int kMostDepth = 32, kMostValues = 1024;
    if (is_number(value)) return value;
    const NodeProto* node = maker(value);
    const bool too_long = depth > kMostDepth || ++looked_at_ > kMostValues;
    if (!node || too_long || node->outputs.size() != 1 || node->inputs.empty()) return {};
    if (node->op_type == "GatherND") {
      const AttributeProto* axes = node->attribute("batch_dims");
      if (node->inputs.size() != 2 || (axes && axes->i != 0)) return {};
      return mask_of(node->inputs[1]) == mask ? std::optional(node->inputs[0]) : std::nullopt;
    }
    if (is_one_of(node->op_type, kForms)) return upcast(node->inputs[0], mask, depth + 1);
    // Another reader would expect one value per place.
    if (!is_one_of(node->op_type, kElementwise) || reads_[value] != 1) return {};
    std::vector<Name> inputs;
    for (const Name input : node->inputs) {
      const auto wide = input.empty() ? std::optional(input) : upcast(input, mask, depth + 1);
      if (!wide) return {};
      inputs.push_back(*wide);
    }
    noted_.emplace_back(made_by_.at(value), std::move(inputs));
    return value;
  }

  /// If a node writes where a mask is set, turn it into a selection.
  bool select(size_t index) {
    NodeProto& node = nodes_[index];
    if (node.inputs.size() != 3 || node.outputs.size() != 1) return false;
    const AttributeProto* reduction = node.attribute("reduction");
    const auto mask = mask_of(node.inputs[1]);
    if (!mask || (reduction && reduction->s != "none")) return false;
    noted_.clear();
    looked_at_ = 0;
    const auto wide = upcast(node.inputs[2], *mask, 0);
    if (!wide) return false;
    for (auto& [at, inputs] : noted_) nodes_[at].inputs = std::move(inputs);
    node.op_type = "Where";
    node.inputs = {*mask, *wide, node.inputs[0]};
    node.attributes.clear();
    return true;
  }

  /// Drop unread nodes, from the places upstream.
  void drop_unread() {
    for (bool any = true; any;) {
      any = false;
      count_reads();
      for (size_t i = 0; i < nodes_.size(); ++i) {
        const auto& outputs = nodes_[i].outputs;
        const bool unread = all_of(outputs, [&](Name each) { return reads_[each] == 0; });
        any |= unread && dropped_.insert(i).second;
      }
    }
  }

  const GraphProto& graph_;
  std::vector<NodeProto> nodes_;
  std::unordered_map<Name, size_t> made_by_;
  std::unordered_map<Name, int> reads_;
  std::unordered_set<Name> numbers_;  ///< initialisers of one element
  std::unordered_set<size_t> dropped_;
  std::vector<std::pair<size_t, std::vector<Name>>> noted_;
  int looked_at_ = 0;
};

}  // namespace

std::optional<Masked> without_places(const GraphProto& graph) {
  const auto is_nested = [](const AttributeProto& each) {
    return each.type == AttributeProto::Type::kGraph || each.type == AttributeProto::Type::kGraphs;
  };
  bool finds = false, nested = false;
  for (const NodeProto& node : graph.nodes) {
    finds |= node.op_type == "NonZero";
    nested |= any_of(node.attributes, is_nested);
  }
  if (!finds || nested) return std::nullopt;
  Masked out = Places(graph).run();
  return out.selected.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace rill::onnx
