// Fuses trees of elementwise operations into one program.

#include "core/base/search.h"
#include "core/graph/rewrite.h"
#include "ops/array/cast.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/pointwise.h"
#include "ops/math/program.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"

namespace rill::ops {
namespace {

using kernels::PointwiseImm;
using kernels::PointwiseInstr;
using kernels::PointwiseOp;

// Results are numbered from here until the number of inputs is known.
constexpr int kFirstResult = kernels::kPointwiseMaxInputs;

/// Return whether a node converts i32 to the nearest floats. Not if the i32 come from an
/// elementwise operation on integers: for bytes, that uses a look-up table.
bool gives_nearest_floats(const Graph& graph, const Node& node) {
  if (node.outputs[0].dtype != DType::kF32 || !cast_from(node) ||
      graph.fact(node.inputs[0]).dtype != DType::kI32) {
    return false;
  }
  const Node& producer = graph.node(node.inputs[0].node);
  return !producer.op->traits().per_element || is_float(graph.fact(producer.inputs[0]).dtype);
}

class Builder {
 public:
  explicit Builder(Rewrite& rewrite)
      : rewrite_(rewrite), graph_(rewrite.old_graph()), shape_(rewrite.out().shape) {}

  Status run() {
    const Node& root = rewrite_.node();
    if (!fusable(root) || root.outputs[0].dtype != DType::kF32) return {};
    if (absorbable(root, kMaxDepth)) return {};
    if (!choose()) return {};
    emit(root);
    if (inputs_.empty()) return {};
    auto op = draft_op<Pointwise>();
    op->inputs = static_cast<int64_t>(inputs_.size());
    for (PointwiseInstr instr : code_) {
      for (uint8_t* value : {&instr.a, &instr.b, &instr.c}) {
        if (*value >= kFirstResult) {
          *value = static_cast<uint8_t>(*value - kFirstResult + inputs_.size());
        }
      }
      op->code.push_back(instr);
    }
    PointwiseInstr placed[kernels::kPointwiseMaxCode];
    if (!assign_registers(op->inputs, op->code, placed)) return {};
    std::vector<OutletId> wires;
    for (const OutletId& input : inputs_) wires.push_back(rewrite_.mapped(input));
    RILL_ASSIGN(const OutletId out, rewrite_.wire1(root.name, std::move(op), wires));
    return rewrite_.replace({out});
  }

 private:
  static constexpr int kMaxDepth = 8;

  /// Return whether the producer of an input will absorb the node, directly or once it has absorbed
  /// the nodes between. This saves the whole pass, not only a load.
  bool absorbable(const Node& node, int depth) const {
    if (depth == 0) return false;
    if (node.op->traits().slope > 0.0F) {
      return rewrite_.uses(node.inputs[0]) == 1 &&
             producer_of_sliced(node.inputs[0]).op->traits().takes_slope;
    }
    const auto* binary = node.op->as<Binary>();
    if (!binary) return false;
    const bool clips = is_limit(binary->kind_of) && !takes_number(binary->kind_of) &&
                       uniform_f32(graph_.fact(node.inputs[1])).has_value();
    if (!clips && binary->kind_of != BinaryKind::kAdd) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (rewrite_.uses(node.inputs[i]) != 1) continue;
      const Node& producer = producer_of_sliced(node.inputs[i]);
      const bool to_constant = graph_.fact(node.inputs[1 - i]).konst != nullptr;
      const OpTraits takes = producer.op->traits();
      const bool taken = clips         ? takes.takes_limits
                         : to_constant ? takes.takes_constant
                                       : takes.takes_sum;
      if (taken || absorbable(producer, depth - 1)) return true;
    }
    return false;
  }

  /// Return the producer of a wire, upstream of slices: these move upstream of the node.
  const Node& producer_of_sliced(OutletId outlet) const {
    const Node* producer = &graph_.node(outlet.node);
    while (producer->op->as<Slice>() && rewrite_.uses(producer->inputs[0]) == 1) {
      producer = &graph_.node(producer->inputs[0].node);
    }
    return *producer;
  }

  bool f32(OutletId outlet) const { return graph_.fact(outlet).dtype == DType::kF32; }

  bool of_integers(const Node& node) const { return gives_nearest_floats(graph_, node); }

  /// Return whether a node maps f32 elements, or truth values that can be computed in place.
  bool fusable(const Node& node) const {
    if (node.op->as<Pointwise>() || of_integers(node)) return true;
    if (const auto* unary = node.op->as<Unary>()) {
      if (!pointwise_op(unary->kind_of)) return false;
      return f32(node.inputs[0]) || (unary->kind_of == UnaryKind::kNot && truth(node.inputs[0]));
    }
    if (const auto* binary = node.op->as<Binary>()) {
      if (!pointwise_op(binary->kind_of)) return false;
      if (f32(node.inputs[0])) return true;
      const bool logic = binary->kind_of == BinaryKind::kAnd || binary->kind_of == BinaryKind::kOr;
      return logic && truth(node.inputs[0]) && truth(node.inputs[1]);
    }
    return node.op->as<Select>() && f32(node.inputs[1]) && truth(node.inputs[0]);
  }

  /// Return whether a wire is a truth value whose producer can be fused.
  bool truth(OutletId outlet) const {
    return graph_.fact(outlet).dtype == DType::kBool && inlinable(outlet);
  }

  bool inlinable(OutletId outlet) const {
    const Node& producer = graph_.node(outlet.node);
    return rewrite_.uses(outlet) == 1 && graph_.fact(outlet).shape == shape_ && fusable(producer) &&
           !absorbable(producer, kMaxDepth);
  }

  /// The nodes that become one program, up to its capacity.
  struct Choice {
    std::vector<int> nodes;
    std::vector<OutletId> inputs;
    size_t code = 0;
  };

  /// Return which operand of a binary operator is a single number: 0 or 1; -1 if neither is. A
  /// number has no shape, so the other operand must have the whole shape.
  int number_of(const Node& node) const {
    for (const int i : {1, 0}) {
      const auto k = static_cast<size_t>(i);
      if (graph_.fact(node.inputs[1 - k]).shape != shape_) continue;
      if (uniform_f32(graph_.fact(node.inputs[k]))) return i;
    }
    return -1;
  }

  /// Return the wires that a node computes with, without a number that becomes an immediate.
  std::vector<OutletId> operands(const Node& node) const {
    std::vector<OutletId> out = node.inputs;
    if (!node.op->as<Binary>()) return out;
    if (const int number = number_of(node); number >= 0) out.erase(out.begin() + number);
    return out;
  }

  /// Add a node and the boolean nodes that it needs. Return false if the program is full.
  bool take(int id, Choice* choice) const {
    std::vector<int> open{id};
    while (!open.empty()) {
      const Node& node = graph_.node(open.back());
      choice->nodes.push_back(open.back());
      open.pop_back();
      const auto* program = node.op->as<Pointwise>();
      choice->code += program ? program->code.size() : 1;
      for (const OutletId& operand : operands(node)) {
        if (f32(operand) || program || of_integers(node)) {
          const bool known = contains(choice->inputs, operand);
          if (!known) choice->inputs.push_back(operand);
        } else if (inlinable(operand)) {
          open.push_back(operand.node);
        } else {
          return false;
        }
      }
      if (choice->code > kernels::kPointwiseMaxCode) return false;
    }
    return choice->inputs.size() <= kernels::kPointwiseMaxInputs;
  }

  /// Choose the nodes, nearest to the root first, so that each part of a long chain is fused alike
  /// whether or not the chain continues. Return false if there is nothing to fuse.
  bool choose() {
    Choice choice;
    if (!take(rewrite_.node_id(), &choice)) return false;
    for (size_t i = 0; i < choice.inputs.size();) {
      const OutletId input = choice.inputs[i];
      Choice more = choice;
      more.inputs.erase(more.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (inlinable(input) && take(input.node, &more)) {
        choice = std::move(more);
      } else {
        ++i;
      }
    }
    chosen_ = std::move(choice.nodes);
    return chosen_.size() > 1;
  }

  /// Return the number of a value in the program: an input or the result of an instruction.
  int value_of(OutletId outlet) {
    if (contains(chosen_, outlet.node)) {
      emit(graph_.node(outlet.node));
      return kFirstResult + static_cast<int>(code_.size()) - 1;
    }
    const auto known = find(inputs_, outlet);
    if (known != inputs_.end()) return static_cast<int>(known - inputs_.begin());
    inputs_.push_back(outlet);
    return static_cast<int>(inputs_.size()) - 1;
  }

  /// Append a node after its operands. The recursion depth is at most the length of a program.
  void emit(const Node& node) {
    if (const auto* program = node.op->as<Pointwise>()) return splice(*program, node);
    PointwiseInstr instr;
    const auto operand = [&](size_t i) { return static_cast<uint8_t>(value_of(node.inputs[i])); };
    if (const auto* unary = node.op->as<Unary>()) {
      instr.op = *pointwise_op(unary->kind_of);
      instr.imm = unary->alpha;
      instr.a = operand(0);
    } else if (const auto* binary = node.op->as<Binary>()) {
      instr.op = *pointwise_op(binary->kind_of);
      const int number = number_of(node);
      if (number >= 0) {
        instr.imm_at = number == 1 ? PointwiseImm::kB : PointwiseImm::kA;
        instr.imm = *uniform_f32(graph_.fact(node.inputs[static_cast<size_t>(number)]));
      }
      if (number != 0) instr.a = operand(0);
      if (number != 1) instr.b = operand(1);
    } else if (of_integers(node)) {
      instr.op = PointwiseOp::kOfInteger;
      instr.a = operand(0);
    } else {
      instr.op = PointwiseOp::kSelect;
      instr.a = operand(0);
      instr.b = operand(1);
      instr.c = operand(2);
    }
    code_.push_back(instr);
  }

  void splice(const Pointwise& program, const Node& node) {
    std::vector<int> values;
    for (const OutletId& input : node.inputs) values.push_back(value_of(input));
    for (PointwiseInstr instr : program.code) {
      for (uint8_t* value : {&instr.a, &instr.b, &instr.c}) {
        if (*value < values.size())
          *value = static_cast<uint8_t>(values[*value]);
        else
          *value = 0;
      }
      code_.push_back(instr);
      values.push_back(kFirstResult + static_cast<int>(code_.size()) - 1);
    }
  }

  Rewrite& rewrite_;
  const Graph& graph_;
  const std::vector<Dim>& shape_;
  std::vector<int> chosen_;
  std::vector<OutletId> inputs_;
  std::vector<PointwiseInstr> code_;
};

}  // namespace

Status fuse_elementwise(Rewrite& rewrite) { return Builder(rewrite).run(); }

Status fuse_nearest_floats(Rewrite& rewrite) {
  if (!gives_nearest_floats(rewrite.old_graph(), rewrite.node())) return {};
  auto op = draft_op<Pointwise>();
  op->inputs = 1;
  op->code = {{.op = PointwiseOp::kOfInteger}};
  return rewrite.replace_by(std::move(op), {rewrite.mapped(rewrite.input(0))});
}

}  // namespace rill::ops
