// Small recurrent layers project their input themselves: the calls and the memory of a product for
// each gate would take longer than its arithmetic.

#include "ops/rnn/small_recurrent.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/rewrite.h"
#include "kernels/rnn/rnn.h"
#include "ops/nn/einsum.h"

namespace rill::ops {
namespace {

using kernels::kSmallRnnUnits;

/// The product of an input [T, B, I] with a filter that gives the projection of a gate.
struct Projection {
  OutletId x;
  TensorPtr filter;  ///< [H, I], or [I, H]
  bool by_input = false;
  TensorPtr bias;  ///< [H], or null
  int64_t inputs = 0;
};

bool is_plain(const TensorPtr& value, int64_t volume) {
  return value && value->dtype() == DType::kF32 && value->volume() == volume &&
         value->block_format() == BlockFormat::kNone;
}

/// Match input `gate` of the layer. A match has the same bits as the kernel: a chain of sums that
/// starts from the bias.
std::optional<Projection> projection(const Rewrite& rewrite, int gate, int64_t hidden) {
  const auto* op = rewrite.producer_as<EinSum>(gate);
  if (!op || op->operands != 2 || op->has_residual || op->clip.on) return std::nullopt;
  const Node& node = rewrite.producer(gate);
  const std::string_view x = op->letters(0);
  const std::string_view filter = op->letters(1);
  const std::string_view out = op->letters(2);
  if (x.size() != 3 || out.size() != 3 || filter.size() < 2) return std::nullopt;
  if (x.substr(0, 2) != out.substr(0, 2) || x[2] == out[2]) return std::nullopt;
  const std::string_view last = filter.substr(filter.size() - 2);
  Projection found;
  found.by_input = last[0] == x[2] && last[1] == out[2];
  if (!found.by_input && !(last[0] == out[2] && last[1] == x[2])) return std::nullopt;
  const Fact& fact = rewrite.old_graph().fact(node.inputs[0]);
  const auto inputs = fact.dim(2).to_int();
  if (!inputs || *inputs < 1 || *inputs > kSmallRnnUnits || fact.dtype != DType::kF32) {
    return std::nullopt;
  }
  found.x = node.inputs[0];
  found.inputs = *inputs;
  found.filter = rewrite.old_graph().fact(node.inputs[1]).konst;
  // Require that leading axes have extent 1: the volume is that of the last two axes.
  if (!is_plain(found.filter, hidden * *inputs)) return std::nullopt;
  if (op->has_bias) {
    found.bias = rewrite.old_graph().fact(node.inputs[2]).konst;
    if (op->bias_axis != 2 || !is_plain(found.bias, hidden)) return std::nullopt;
  }
  return found;
}

/// Match the projections of all gates, which must read the same input.
std::vector<Projection> projections(const Rewrite& rewrite, int gates, int64_t hidden) {
  std::vector<Projection> found;
  for (int gate = 0; gate < gates; ++gate) {
    auto own = projection(rewrite, gate, hidden);
    if (!own || (gate > 0 && !(own->x == found[0].x))) return {};
    found.push_back(std::move(*own));
  }
  return found;
}

/// Return the filters of all gates as [I, gates, H].
Result<Tensor> joined_filters(const std::vector<Projection>& gates, int64_t hidden) {
  const int64_t inputs = gates[0].inputs;
  const auto count = static_cast<int64_t>(gates.size());
  RILL_ASSIGN(Tensor all, Tensor::zeros(DType::kF32, {inputs, count, hidden}));
  auto* to = all.mutable_data<float>();
  for (int64_t i = 0; i < inputs; ++i) {
    for (const Projection& gate : gates) {
      const auto* from = gate.filter->data<float>();
      for (int64_t o = 0; o < hidden; ++o) {
        *to++ = gate.by_input ? from[i * hidden + o] : from[o * inputs + i];
      }
    }
  }
  return all;
}

/// Return the biases of all gates as [gates, H]; 0 for gates without one.
Result<Tensor> joined_biases(const std::vector<Projection>& gates, int64_t hidden) {
  RILL_ASSIGN(Tensor all,
              Tensor::zeros(DType::kF32, {static_cast<int64_t>(gates.size()), hidden}));
  auto* to = all.mutable_data<float>();
  for (const Projection& gate : gates) {
    if (gate.bias) std::copy_n(gate.bias->data<float>(), hidden, to);
    to += hidden;
  }
  return all;
}

}  // namespace

/// Absorb the projections of a small layer. Several lanes keep separate matmuls, which read the
/// weights less often. So do quantized weights: the kernel of small layers reads only f32.
Status Recurrent::fuse(Rewrite& rewrite) const {
  const auto own = static_cast<Cell>(cell);
  const bool has_small = own == Cell::kGru || own == Cell::kLstm;
  const Fact& first = rewrite.in(0);
  if (inputs > 0 || !has_small || rewrite.few_bits()) return {};
  if (!(first.dim(static_cast<int>(batch_axis)) == Dim(1))) return {};
  const auto hidden = first.shape.back().to_int();
  if (!hidden || *hidden < 1 || *hidden > kSmallRnnUnits) return {};
  const std::vector<Projection> found = projections(rewrite, gates(), *hidden);
  if (found.empty()) return {};
  auto op = draft_op<Recurrent>(*this);
  op->inputs = found[0].inputs;
  const std::string& name = rewrite.node().name;
  RILL_ASSIGN(Tensor filters, joined_filters(found, *hidden));
  RILL_ASSIGN(Tensor biases, joined_biases(found, *hidden));
  std::vector<OutletId> wires = {rewrite.mapped(found[0].x),
                                 rewrite.konst(name + "_filters", std::move(filters)),
                                 rewrite.konst(name + "_biases", std::move(biases))};
  for (int i = first_filter(); i < static_cast<int>(rewrite.node().inputs.size()); ++i) {
    wires.push_back(rewrite.mapped(rewrite.input(i)));
  }
  return rewrite.replace_by(op, wires);
}

void pack_small_layer(Lowering& lowering, const Recurrent& op, RecurrentLayer* layer) {
  const int64_t hidden = layer->hidden;
  const int gates = op.gates();
  const bool is_gru = static_cast<RecurrentCell>(op.cell) == RecurrentCell::kGru;
  const kernels::Tier tier = kernels::active_tier();
  const kernels::RnnKernel& kernel =
      is_gru ? static_cast<const kernels::RnnKernel&>(kernels::small_gru_f32(tier, hidden))
             : kernels::small_lstm_f32(tier, hidden);
  std::vector<float> state(static_cast<size_t>(hidden * gates * hidden));
  for (int gate = 0; gate < gates; ++gate) {
    const auto* w = lowering.in(op.first_filter() + gate).konst->data<float>();
    for (int64_t o = 0; o < hidden; ++o) {
      for (int64_t k = 0; k < hidden; ++k) {
        state[static_cast<size_t>((k * gates + gate) * hidden + o)] = w[o * hidden + k];
      }
    }
  }
  const auto* bias = op.has_bias ? lowering.in(op.bias_input()).konst->data<float>() : nullptr;
  const int64_t floats =
      kernels::small_rnn_f32_packed_floats(kernel, gates, layer->inputs, hidden);
  auto [ref, packed] = lowering.constant<float>(floats);
  kernels::small_rnn_f32_pack(kernel, gates, layer->inputs, hidden,
                              {lowering.in(2).konst->data<float>(),
                               lowering.in(1).konst->data<float>(), state.data(), bias},
                              packed);
  layer->weights = ref;
  for (int i = 1; i < op.first_state(); ++i) lowering.packed(i);
  if (lowering.weight_format() != WeightFormat::kF32) {
    lowering.keep_weights("a small layer is faster as one kernel in f32");
  }
  const int64_t shape[] = {gates, layer->inputs + hidden, hidden};
  lowering.report_weights(shape, 4 * floats, 4 * floats);
}

void emit_small_layer(Lowering& lowering, RecurrentCell cell, const RecurrentLayer& layer,
                      Given<Touched> reads, Given<Touched> writes) {
  const kernels::Tier tier = kernels::active_tier();
  if (cell == RecurrentCell::kGru) {
    const SmallGruArgs args{&kernels::small_gru_f32(tier, layer.hidden), layer};
    lowering.step(kSmallGru, args, reads, writes);
  } else {
    const SmallLstmArgs args{&kernels::small_lstm_f32(tier, layer.hidden), layer};
    lowering.step(kSmallLstm, args, reads, writes);
  }
}

}  // namespace rill::ops
