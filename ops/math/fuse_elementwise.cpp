// Trees of elementwise operations become one program.

#include <algorithm>

#include "core/graph/rewrite.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/pointwise.h"
#include "ops/math/program.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "ops/nn/conv.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

using kernels::PointwiseImm;
using kernels::PointwiseInstr;
using kernels::PointwiseOp;

// While the number of inputs is open, results are numbered from here on.
constexpr int kFirstResult = kernels::kPointwiseMaxInputs;

class Builder {
 public:
  explicit Builder(Rewrite& rewrite)
      : rewrite_(rewrite), graph_(rewrite.old_graph()), shape_(rewrite.out().shape) {}

  Status run() {
    const Node& root = rewrite_.node();
    if (!fusable(root) || root.outputs[0].dtype != DType::kF32) return {};
    if (absorbable(root, kMaxDepth)) return {};
    if (!emit(root) || fused_ == 0 || inputs_.empty()) return {};
    auto op = std::make_shared<Pointwise>();
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
    RILL_ASSIGN(const OutletId out, rewrite_.wire1(root.name, std::move(op), std::move(wires)));
    return rewrite_.replace({out});
  }

 private:
  static constexpr int kMaxDepth = 8;

  /// Tell whether the op that makes an input of the node will take the node in, now or after it
  /// has taken in what lies between: that saves the whole pass, not only a load.
  bool absorbable(const Node& node, int depth) const {
    const auto* binary = node.op->as<Binary>();
    if (!binary || depth == 0) return false;
    const bool clips =
        (binary->kind_of == BinaryKind::kMax || binary->kind_of == BinaryKind::kMin) &&
        uniform_f32(graph_.fact(node.inputs[1]));
    if (!clips && binary->kind_of != BinaryKind::kAdd) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (rewrite_.uses(node.inputs[i]) != 1) continue;
      const Node& producer = behind_slices(node.inputs[i]);
      const bool to_constant = graph_.fact(node.inputs[1 - i]).konst != nullptr;
      if (const auto* conv = producer.op->as<Conv>()) {
        if (!conv->clip && (clips || (!to_constant && !conv->has_residual))) return true;
      } else if (const auto* product = producer.op->as<EinSum>()) {
        const bool sums = !product->has_residual && (!to_constant || !product->has_bias);
        if (!product->clip && (clips || sums)) return true;
      } else if (absorbable(producer, depth - 1)) {
        return true;
      }
    }
    return false;
  }

  /// The node that makes what slices take a part of: they move in front of it.
  const Node& behind_slices(OutletId outlet) const {
    const Node* producer = &graph_.node(outlet.node);
    while (producer->op->as<Slice>() && rewrite_.uses(producer->inputs[0]) == 1) {
      producer = &graph_.node(producer->inputs[0].node);
    }
    return *producer;
  }

  bool f32(OutletId outlet) const { return graph_.fact(outlet).dtype == DType::kF32; }

  /// Tell whether a node is a function of f32 elements, up to truth values that are themselves.
  bool fusable(const Node& node) const {
    if (node.op->as<Pointwise>()) return true;
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

  /// Tell whether a wire is a truth value that can be computed where it is needed.
  bool truth(OutletId outlet) const {
    return graph_.fact(outlet).dtype == DType::kBool && inlinable(outlet);
  }

  bool inlinable(OutletId outlet) const {
    const Node& producer = graph_.node(outlet.node);
    return rewrite_.uses(outlet) == 1 && graph_.fact(outlet).shape == shape_ && fusable(producer) &&
           !absorbable(producer, kMaxDepth);
  }

  /// Give the number of a value; -1 if there is no room for it.
  int value_of(OutletId outlet) {
    if (inlinable(outlet)) {
      const size_t code = code_.size();
      const size_t inputs = inputs_.size();
      const int fused = fused_;
      if (emit(graph_.node(outlet.node))) {
        ++fused_;
        return kFirstResult + static_cast<int>(code_.size()) - 1;
      }
      code_.resize(code);
      inputs_.resize(inputs);
      fused_ = fused;
    }
    if (!f32(outlet)) return -1;
    const auto known = std::find(inputs_.begin(), inputs_.end(), outlet);
    if (known != inputs_.end()) return static_cast<int>(known - inputs_.begin());
    if (inputs_.size() == kernels::kPointwiseMaxInputs) return -1;
    inputs_.push_back(outlet);
    return static_cast<int>(inputs_.size()) - 1;
  }

  bool append(PointwiseInstr instr) {
    // One instruction is left for each that waits for its operands.
    if (code_.size() + static_cast<size_t>(open_) > kernels::kPointwiseMaxCode) return false;
    code_.push_back(instr);
    return true;
  }

  bool emit(const Node& node) {
    ++open_;
    const bool done = emit_op(node);
    --open_;
    return done;
  }

  bool emit_op(const Node& node) {
    PointwiseInstr instr;
    if (const auto* program = node.op->as<Pointwise>()) return splice(*program, node);
    const auto operand = [&](size_t i, uint8_t* value) {
      const int number = value_of(node.inputs[i]);
      *value = static_cast<uint8_t>(std::max(number, 0));
      return number >= 0;
    };
    if (const auto* unary = node.op->as<Unary>()) {
      instr.op = *pointwise_op(unary->kind_of);
      instr.imm = unary->alpha;
      return operand(0, &instr.a) && append(instr);
    }
    if (node.op->as<Select>()) {
      instr.op = PointwiseOp::kSelect;
      return operand(0, &instr.a) && operand(1, &instr.b) && operand(2, &instr.c) && append(instr);
    }
    const auto* binary = node.op->as<Binary>();
    instr.op = *pointwise_op(binary->kind_of);
    // An immediate has no shape: the other operand must have the whole one.
    const auto immediate = [&](size_t i) -> std::optional<float> {
      const bool whole = graph_.fact(node.inputs[1 - i]).shape == shape_;
      return whole ? uniform_f32(graph_.fact(node.inputs[i])) : std::nullopt;
    };
    const auto left = immediate(0);
    const auto right = immediate(1);
    if (right) {
      instr.imm_at = PointwiseImm::kB;
      instr.imm = *right;
      return operand(0, &instr.a) && append(instr);
    }
    if (left) {
      instr.imm_at = PointwiseImm::kA;
      instr.imm = *left;
      return operand(1, &instr.b) && append(instr);
    }
    return operand(0, &instr.a) && operand(1, &instr.b) && append(instr);
  }

  bool splice(const Pointwise& program, const Node& node) {
    std::vector<int> values;
    for (const OutletId& input : node.inputs) {
      const int value = value_of(input);
      if (value < 0) return false;
      values.push_back(value);
    }
    const size_t end = code_.size() + program.code.size() + static_cast<size_t>(open_);
    if (end > kernels::kPointwiseMaxCode + 1) return false;
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
    return true;
  }

  Rewrite& rewrite_;
  const Graph& graph_;
  const std::vector<Dim>& shape_;
  std::vector<OutletId> inputs_;
  std::vector<PointwiseInstr> code_;
  int fused_ = 0;
  int open_ = 0;
};

}  // namespace

Status fuse_elementwise(Rewrite& rewrite) { return Builder(rewrite).run(); }

}  // namespace rill::ops
