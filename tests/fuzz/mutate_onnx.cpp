#include "tests/fuzz/mutate_onnx.h"

#include <algorithm>

#include "tests/fuzz/mutate_tensor.h"
#include "tests/fuzz/onnx_operators.h"
#include "tests/fuzz/proto_fields.h"
#include "tests/property/generate.h"

namespace rill::test {
namespace {

// Field numbers of onnx.proto.
constexpr int kModelGraph = 7;
constexpr int kModelOpset = 8;
constexpr int kNode = 1;
constexpr int kInitializer = 5;
constexpr int kInput = 11;
constexpr int kOutput = 12;
constexpr int kValueInfo = 13;
constexpr int kNodeInput = 1;
constexpr int kNodeOutput = 2;
constexpr int kNodeName = 3;
constexpr int kNodeOp = 4;
constexpr int kNodeAttribute = 5;
constexpr int kAttributeTensor = 5;
constexpr int kAttributeGraph = 6;
constexpr int kInfoName = 1;

/// A graph's fields and wires, with one change to them.
class GraphChange {
 public:
  GraphChange(Fields* graph, Random* random) : graph_(*graph), random_(*random) {}

  void run() {
    if (random_.chance(25) && change_inner_graph()) return;
    const int64_t choice = random_.in(0, 99);
    if (choice < 10) return edit_node([&](Fields* node) { call_another(node); });
    if (choice < 22) return edit_node([&](Fields* node) { read_another(node); });
    if (choice < 40) return edit_node([&](Fields* node) { change_attribute(node); });
    if (choice < 50) return change_input();
    if (choice < 60) return change_initializer();
    if (choice < 72) return insert_node();
    if (choice < 76) return drop_node();
    if (choice < 81) return swap_input_and_weight();
    if (choice < 85) return change_output();
    if (choice < 95) return stream_an_input();
    edit_node([&](Fields* node) { change_arity(node); });
  }

  /// Append the nodes, weights and inputs of another graph. Its first input becomes a wire of this
  /// graph.
  void join(const Fields& other) {
    const std::string prefix = new_name();
    const std::string from = some_wire();
    const auto inputs = places_of(other, kInput);
    const std::string joint = inputs.empty() ? "" : name_of_info(other[inputs.front()].content);
    const auto renamed = [&](const std::string& name) {
      return name.empty() ? name : !joint.empty() && name == joint ? from : prefix + name;
    };
    for (const Field& field : other) {
      Field copy = field;
      if (field.number == kNode) {
        edit(&copy, [&](Fields* node) { rename_node(node, renamed); });
      } else if (field.number == kInitializer) {
        edit(&copy, [&](Fields* tensor) { rename(tensor, kTensorName, renamed); });
      } else if (field.number == kInput || field.number == kOutput) {
        if (field.number == kInput && name_of_info(field.content) == joint) continue;
        edit(&copy, [&](Fields* info) { rename(info, kInfoName, renamed); });
      } else {
        continue;
      }
      graph_.push_back(std::move(copy));
    }
  }

 private:
  static std::string name_of_info(const std::string& content) {
    const auto info = fields_of(content);
    return info ? text_of_field(*info, kInfoName) : std::string();
  }

  template <class Rename>
  static void rename(Fields* fields, int number, const Rename& renamed) {
    for (Field& field : *fields) {
      if (field.number == number) field.content = renamed(field.content);
    }
  }
  template <class Rename>
  static void rename_node(Fields* node, const Rename& renamed) {
    for (const int number : {kNodeInput, kNodeOutput, kNodeName}) rename(node, number, renamed);
  }

  template <class List>
  const typename List::value_type& some(const List& list) {
    return list[static_cast<size_t>(random_.in(0, static_cast<int64_t>(list.size()) - 1))];
  }
  Field* some_field(int number) {
    const auto places = places_of(graph_, number);
    return places.empty() ? nullptr : &graph_[some(places)];
  }
  std::string new_name() { return "w" + std::to_string(random_.in(0, 1 << 20)); }

  std::vector<std::string> wires() const {
    std::vector<std::string> out;
    for (const Field& field : graph_) {
      const auto inner = fields_of(field.content);
      if (!inner) continue;
      if (field.number == kInput) out.push_back(text_of_field(*inner, kInfoName));
      if (field.number == kInitializer) out.push_back(text_of_field(*inner, kTensorName));
      if (field.number != kNode) continue;
      for (const size_t place : places_of(*inner, kNodeOutput)) {
        out.push_back((*inner)[place].content);
      }
    }
    return out;
  }
  std::string some_wire() {
    const auto all = wires();
    return all.empty() ? "" : some(all);
  }

  template <class ChangeNode>
  void edit_node(const ChangeNode& change) {
    edit(some_field(kNode), change);
  }

  void call_another(Fields* node) {
    need_field(node, kNodeOp, 2)->content = some(declared_operators()).op;
  }
  void read_another(Fields* node) {
    const auto inputs = places_of(*node, kNodeInput);
    if (!inputs.empty()) (*node)[some(inputs)].content = some_wire();
  }
  void change_arity(Fields* node) {
    const auto inputs = places_of(*node, kNodeInput);
    const int64_t choice = random_.in(0, 3);
    if (choice == 0 && !inputs.empty()) {
      node->erase(node->begin() + static_cast<std::ptrdiff_t>(inputs.back()));
    } else if (choice == 1 && !inputs.empty()) {
      (*node)[some(inputs)].content.clear();
    } else if (choice == 2) {
      node->push_back(text_field(kNodeOutput, new_name()));
    } else {
      node->push_back(text_field(kNodeInput, some_wire()));
    }
  }

  void change_attribute(Fields* node) {
    const auto places = places_of(*node, kNodeAttribute);
    const int64_t choice = random_.in(0, 9);
    if (choice < 5 && !places.empty()) {
      edit(&(*node)[some(places)], [&](Fields* attribute) {
        change_value(attribute, &random_);
        edit(find_field(attribute, kAttributeTensor),
             [&](Fields* tensor) { change_tensor(tensor, &random_); });
      });
    } else if (choice == 5 && !places.empty()) {
      node->erase(node->begin() + static_cast<std::ptrdiff_t>(some(places)));
    } else {
      add_attribute(node);
    }
  }
  void add_attribute(Fields* node) {
    const std::string op = text_of_field(*node, kNodeOp);
    std::vector<Declared::Attribute> all;
    for (const Declared& declared : declared_operators()) {
      if (declared.op != op) continue;
      all.insert(all.end(), declared.attributes.begin(), declared.attributes.end());
    }
    if (all.empty()) return;
    const Declared::Attribute& pick = some(all);
    const std::string made = attribute_of(pick.name, pick.type, &random_);
    if (made.empty()) return;
    std::erase_if(*node, [&](const Field& field) {
      return field.number == kNodeAttribute && name_of_info(field.content) == pick.name;
    });
    node->push_back(text_field(kNodeAttribute, made));
  }

  void change_input() {
    Field* const input = some_field(kInput);
    edit(input, [&](Fields* info) {
      edit(need_field(info, kInfoType, 2), [&](Fields* type) { change_type(type, &random_); });
    });
    forget_shapes();
  }
  /// Drop the shapes that a file states, half of the time.
  void forget_shapes() {
    if (random_.chance(30)) return;
    std::erase_if(graph_, [](const Field& field) { return field.number == kValueInfo; });
    for (const size_t place : places_of(graph_, kOutput)) {
      edit(&graph_[place], [](Fields* info) {
        std::erase_if(*info, [](const Field& field) { return field.number == kInfoType; });
      });
    }
  }
  void stream_an_input() {
    edit(some_field(kInput), [&](Fields* info) {
      edit(need_field(info, kInfoType, 2), [&](Fields* type) { open_an_extent(type, &random_); });
    });
    forget_shapes();
  }

  void change_initializer() {
    edit(some_field(kInitializer), [&](Fields* tensor) { change_tensor(tensor, &random_); });
  }

  void insert_node() {
    Fields node;
    const std::string name = new_name();
    std::string read;
    if (random_.chance(40)) {
      const Field* const model = some_field(kNode);
      const auto copy = model ? fields_of(model->content) : std::nullopt;
      if (!copy) return;
      node = *copy;
      const auto inputs = places_of(node, kNodeInput);
      for (Field& field : node) {
        if (field.number == kNodeOutput) field.content = new_name();
      }
      read = some_wire();
      if (!inputs.empty()) node[inputs.front()].content = read;
      if (Field* output = find_field(&node, kNodeOutput)) output->content = name;
    } else {
      const Declared& declared = some(declared_operators());
      for (int i = 0; i < std::max(declared.inputs, 1); ++i) {
        node.push_back(text_field(kNodeInput, some_wire()));
      }
      read = node.front().content;
      node.push_back(text_field(kNodeOutput, name));
      node.push_back(text_field(kNodeOp, declared.op));
      for (int64_t i = random_.in(0, 2); i > 0; --i) add_attribute(&node);
    }
    replace_uses(read, name, random_.chance(50));
    graph_.push_back(text_field(kNode, message_of(node)));
  }
  /// Replace a wire by another in all nodes and outputs that read it, or only in the first.
  void replace_uses(const std::string& from, const std::string& to, bool all) {
    for (Field& field : graph_) {
      if (field.number != kNode && field.number != kOutput) continue;
      bool replaced = false;
      edit(&field, [&](Fields* fields) {
        const int number = field.number == kNode ? kNodeInput : kInfoName;
        for (Field& use : *fields) {
          if (use.number != number || use.content != from) continue;
          use.content = to;
          replaced = true;
        }
      });
      if (replaced && !all) return;
    }
  }
  void drop_node() {
    const auto places = places_of(graph_, kNode);
    if (places.size() < 2) return;
    const size_t place = some(places);
    const auto node = fields_of(graph_[place].content);
    graph_.erase(graph_.begin() + static_cast<std::ptrdiff_t>(place));
    if (!node) return;
    replace_uses(text_of_field(*node, kNodeOutput), text_of_field(*node, kNodeInput), true);
  }

  void swap_input_and_weight() {
    const bool to_weight = random_.chance(50);
    Field* const field = some_field(to_weight ? kInput : kInitializer);
    const auto inner = field ? fields_of(field->content) : std::nullopt;
    if (!inner) return;
    const std::string made = to_weight
                                 ? tensor_like(*inner, text_of_field(*inner, kInfoName), &random_)
                                 : info_like(*inner, text_of_field(*inner, kTensorName));
    if (made.empty()) return;
    *field = text_field(to_weight ? kInitializer : kInput, made);
  }

  void change_output() {
    const std::string wire = some_wire();
    if (random_.chance(50)) {
      Fields info{text_field(kInfoName, wire)};
      graph_.push_back(text_field(kOutput, message_of(info)));
      return;
    }
    edit(some_field(kOutput), [&](Fields* info) { *info = {text_field(kInfoName, wire)}; });
  }

  bool change_inner_graph() {
    for (const size_t place : places_of(graph_, kNode)) {
      bool changed = false;
      edit(&graph_[place], [&](Fields* node) {
        for (const size_t at : places_of(*node, kNodeAttribute)) {
          edit(&(*node)[at], [&](Fields* attribute) {
            changed |= edit(find_field(attribute, kAttributeGraph),
                            [&](Fields* inner) { GraphChange(inner, &random_).run(); });
          });
        }
      });
      if (changed) return true;
    }
    return false;
  }

  Fields& graph_;
  Random& random_;
};

void change_opset(Fields* model, Random* random) {
  edit(find_field(model, kModelOpset), [&](Fields* opset) {
    need_field(opset, 2, 0)->value = static_cast<uint64_t>(random->in(6, 27));
  });
}

}  // namespace

std::string mutated_model(std::string_view model, uint64_t seed) {
  Random random(seed);
  auto fields = fields_of(model);
  if (!fields) return std::string(model);
  for (int64_t i = random.chance(60) ? 1 : random.in(2, 4); i > 0; --i) {
    if (random.chance(4)) change_opset(&*fields, &random);
    edit(find_field(&*fields, kModelGraph),
         [&](Fields* graph) { GraphChange(graph, &random).run(); });
  }
  return message_of(*fields);
}

std::string joined_models(std::string_view model, std::string_view other, uint64_t seed) {
  Random random(seed);
  auto fields = fields_of(model);
  auto others = fields_of(other);
  if (!fields || !others) return std::string(model);
  const auto graph = fields_of(text_of_field(*others, kModelGraph));
  if (!graph) return std::string(model);
  edit(find_field(&*fields, kModelGraph),
       [&](Fields* into) { GraphChange(into, &random).join(*graph); });
  return message_of(*fields);
}

}  // namespace rill::test
