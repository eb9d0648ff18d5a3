#include "ops/rnn/recurrent.h"

#include <algorithm>
#include <optional>

#include "core/base/search.h"
#include "core/exec/frames.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "kernels/rnn/rnn.h"
#include "ops/control/scan.h"
#include "ops/nn/f16_product.h"
#include "ops/nn/few_bits.h"
#include "ops/rnn/recognise.h"
#include "ops/rnn/recurrent_step.h"
#include "ops/rnn/small_recurrent.h"

namespace rill::ops {

using Cell = Recurrent::Cell;

int Recurrent::gates() const {
  switch (static_cast<Cell>(cell)) {
    case Cell::kGru:
      return 3;
    case Cell::kLstm:
      return 4;
    default:
      return 1;
  }
}

std::vector<std::string> Recurrent::details() const {
  constexpr const char* kNames[] = {"GRU", "LSTM", "RNN tanh", "RNN relu"};
  return {str_cat("as one kernel: ", kNames[cell])};
}

void Recurrent::fields(FieldVisitor& visitor) {
  visitor.field("cell", cell);
  visitor.field("axis", axis);
  visitor.field("batch_axis", batch_axis);
  visitor.field("backward", backward);
  visitor.field("has_bias", has_bias);
  visitor.field("skip", skip);
  visitor.field("inputs", inputs);
  visitor.field("reset_every_turn", reset_every_turn);
  visitor.field("limit", limit);
  visitor.field("outputs", outputs);
}

OpPtr Recurrent::stateless() const {
  if (reset_every_turn || !(limit == Dim(0))) return nullptr;
  auto op = draft_op<Recurrent>(*this);
  op->reset_every_turn = true;
  return op;
}

Result<Facts> Recurrent::infer(FactSpan in) const {
  Facts out;
  const auto state = static_cast<size_t>(first_state());
  RILL_CHECK(in.size() > state, counted(in.size(), "input"));
  for (const int64_t what : outputs) {
    const Fact& like = what == kSequence ? in[0] : in[state + (what == kLastC ? 1 : 0)];
    out.push_back(like.without_value());
    if (what == kSequence) out.back().shape.back() = in[state].shape.back();
  }
  return out;
}

Status Recurrent::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a recurrent layer runs in a prepared plan only");
}

Cost Recurrent::cost(FactSpan in, FactSpan) const {
  Cost cost;
  const Dim hidden = in[static_cast<size_t>(first_state())].shape.back();
  const std::span<const Dim> frames(in[0].shape.data(), in[0].shape.size() - 1);
  cost.fma = volume(frames) * hidden * (hidden + Dim(inputs)) * Dim(gates());
  return cost;
}

namespace {

/// The minimum number of recurrent weights for which one lane reads f16 faster than f32: in f32,
/// they fill a second-level cache of 1 MiB.
constexpr int64_t kManyFilters = 256 * 1024;

/// Return whether the layer has one lane and its recurrent weights are exact and faster as f16.
bool pays_as_f16(const RecurrentLayer& layer, std::span<const TensorPtr> filters) {
  const auto count = static_cast<int64_t>(filters.size());
  return layer.lanes == 1 && count * layer.hidden * layer.hidden >= kManyFilters &&
         all_of(filters, [](const TensorPtr& each) { return f16_product(*each); });
}

/// Packs the filters of all gates side by side, [hidden] x [gates * hidden], in the plan's format.
void pack_filters(Lowering& lowering, const Recurrent& op, RecurrentLayer* layer,
                  RecurrentFewBits* few_bits) {
  constexpr int64_t kRows = 16;
  std::vector<TensorPtr> filters;
  const kernels::RnnKernel& kernel = kernels::rnn_f32(kernels::active_tier());
  const int gates = op.gates();
  const int64_t hidden = layer->hidden;
  const int64_t columns = gates * hidden;
  std::vector<float> all(static_cast<size_t>(hidden * columns));
  for (int gate = 0; gate < gates; ++gate) {
    filters.push_back(lowering.in(gates + gate).konst);
    const float* w = filters.back()->data<float>();
    // kRows rows at a time: the inner loop writes to kRows cache lines, few enough to stay in the
    // cache.
    for (int64_t first = 0; first < hidden; first += kRows) {
      const int64_t last = std::min(hidden, first + kRows);
      for (int64_t o = 0; o < hidden; ++o) {
        for (int64_t k = first; k < last; ++k) {
          all[static_cast<size_t>(k * columns + gate * hidden + o)] = w[o * hidden + k];
        }
      }
    }
    lowering.packed(gates + gate);
  }
  const int64_t floats = kernels::rnn_f32_packed_floats(kernel, gates, hidden);
  const int64_t shape[] = {gates, hidden, hidden};
  auto format = few_bits_format(lowering, filters, hidden);
  if (!format && pays_as_f16(*layer, filters)) format = kernels::PackedFormat::kF16;
  if (!format) {
    auto [ref, packed] = lowering.constant<float>(floats);
    kernels::rnn_f32_pack(kernel, gates, hidden, all.data(), packed);
    layer->weights = ref;
    return lowering.report_weights(shape, 4 * floats, 4 * floats);
  }
  few_bits->kernel = &kernels::matmul_packed(kernel.tier, *format);
  few_bits->block_bytes = kernels::rnn_few_bits_block_bytes(kernel, *format, gates, hidden);
  few_bits->wide = lowering.scratch_bytes(
      4 * kernels::rnn_few_bits_wide_floats(kernel, *format, gates, hidden));
  const int64_t bytes = kernels::rnn_few_bits_bytes(kernel, *format, gates, hidden);
  auto [ref, packed] = lowering.constant<std::byte>(bytes);
  std::vector<float> exact(static_cast<size_t>(floats));
  kernels::rnn_f32_pack(kernel, gates, hidden, all.data(), exact.data());
  kernels::rnn_few_bits_pack(kernel, *few_bits->kernel, gates, hidden, exact.data(), packed);
  layer->weights = ref;
  lowering.report_weights(shape, 4 * floats, bytes);
}

/// The memory that a layer's steps touch.
struct LayerTouches {
  std::vector<Touched> reads;
  std::vector<Touched> writes;
};

/// Set the layer's extents, and locate the projections of its gates. `x0`: the projection of the
/// first gate, or the input of a small layer.
Status place_projections(Lowering& lowering, const Recurrent& op, const Operand& x0,
                         RecurrentLayer* layer, LayerTouches* touches) {
  const int feature = x0.rank - 1;
  const int time = static_cast<int>(op.axis);
  const int batch = static_cast<int>(op.batch_axis);
  layer->steps = x0.extent(time);
  const Operand& state = lowering.in(op.first_state());
  layer->hidden = state.extent(state.rank - 1);
  layer->inputs = op.inputs;
  layer->lanes = x0.extent(batch);
  layer->x_step = x0.step(time);
  layer->x_lane = x0.step(batch);
  const int places = op.inputs > 0 ? 1 : op.gates();
  for (int gate = 0; gate < places; ++gate) {
    const Operand& own = lowering.in(gate);
    const bool alike = own.step(time) == x0.step(time) && own.step(batch) == x0.step(batch) &&
                       (own.step(feature) == 1 || layer->hidden == 1);
    const Operand x = gate == 0 ? x0
                      : alike   ? own
                                : lowering.ordered(own, Lowering::physical_order(x0));
    if (x.step(time) != layer->x_step || x.step(batch) != layer->x_lane) {
      return fail(Code::kInternal, "the projections of the gates have different strides");
    }
    layer->x[gate] = x.ref;
    touches->reads.emplace_back(x);
  }
  return {};
}

/// Locate the initial states, inputs after the weights and the bias, and allocate the states.
void place_states(Lowering& lowering, const Recurrent& op, RecurrentLayer* layer,
                  LayerTouches* touches) {
  const int feature = lowering.in(0).rank - 1;
  const int batch = static_cast<int>(op.batch_axis);
  const int first_state = op.first_state();
  const Operand h0 = lowering.innermost(lowering.in(first_state), feature);
  layer->first_h = h0.ref;
  layer->first_h_lane = h0.step(batch);
  touches->reads.emplace_back(h0);
  if (static_cast<Cell>(op.cell) == Cell::kLstm) {
    const Operand c0 = lowering.innermost(lowering.in(first_state + 1), feature);
    layer->first_c = c0.ref;
    layer->first_c_lane = c0.step(batch);
    touches->reads.emplace_back(c0);
  }
  const int64_t state_bytes = (kRecurrentHeaderFloats + 2 * layer->lanes * layer->hidden) * 4;
  layer->state =
      op.reset_every_turn ? lowering.scratch_bytes(state_bytes) : lowering.state(state_bytes);
  touches->writes = {layer->state};
  if (op.inputs > 0) return;
  layer->scratch = lowering.scratch_bytes(layer->lanes * layer->hidden * 4);
  touches->writes.emplace_back(layer->scratch);
}

/// Allocates the outputs, with contiguous features and the axis order of the projections.
Status place_outputs(Lowering& lowering, const Recurrent& op, const Operand& x,
                     RecurrentLayer* layer, LayerTouches* touches) {
  const int feature = x.rank - 1;
  const int batch = static_cast<int>(op.batch_axis);
  std::vector<int> order = Lowering::physical_order(x);
  std::erase(order, feature);
  order.push_back(feature);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const Operand out = lowering.make_out(static_cast<int>(i), order);
    touches->writes.emplace_back(out);
    if (op.outputs[i] == Recurrent::kSequence) {
      if (layer->has_y) {
        return fail(Code::kUnsupported, "the layer lists the sequence as an output twice");
      }
      layer->has_y = true;
      layer->y = out.ref;
      layer->y_step = out.step(static_cast<int>(op.axis));
      layer->y_lane = out.step(batch);
    } else if (op.outputs[i] == Recurrent::kLastH) {
      layer->has_last_h = true;
      layer->last_h = out.ref;
      layer->last_h_lane = out.step(batch);
    } else {
      layer->has_last_c = true;
      layer->last_c = out.ref;
      layer->last_c_lane = out.step(batch);
    }
  }
  return {};
}

/// Emits the step of a layer, by the kernel of its cell.
void emit_layer(Lowering& lowering, Cell cell, const RecurrentLayer& layer,
                const RecurrentFewBits& few_bits, LayerTouches touches) {
  const auto emit = [&]<class Kernel>(const Kernel& kernel, const auto& kind,
                                      const auto& few_bits_kind) {
    const RecurrentArgs<Kernel> args{&kernel, layer};
    if (few_bits.kernel == nullptr) {
      lowering.step(kind, args, touches.reads, touches.writes);
    } else {
      lowering.step(few_bits_kind, FewBitsRecurrentArgs<Kernel>{args, few_bits}, touches.reads,
                    touches.writes);
    }
  };
  const kernels::Tier tier = kernels::active_tier();
  if (layer.inputs > 0) {
    return emit_small_layer(lowering, cell, layer, touches.reads, touches.writes);
  }
  if (cell == Cell::kGru) return emit(kernels::gru_f32(tier), kGru, kFewBitsGru);
  if (cell == Cell::kLstm) return emit(kernels::lstm_f32(tier), kLstm, kFewBitsLstm);
  emit(kernels::rnn_f32(tier), kRnn, kFewBitsRnn);
}

}  // namespace

Status Recurrent::lower(Lowering& lowering) const {
  const auto own_cell = static_cast<Cell>(cell);
  RecurrentLayer layer;
  layer.relu = own_cell == Cell::kRelu;
  layer.backward = backward;
  layer.skip = skip;
  if (!(limit == Dim(0))) layer.limit = frames_so_far(lowering, limit);
  layer.reset_every_turn = reset_every_turn;
  layer.has_bias = has_bias;
  LayerTouches touches;
  const Operand x = lowering.innermost(lowering.in(0), lowering.in(0).rank - 1);
  RILL_TRY(place_projections(lowering, *this, x, &layer, &touches));
  RecurrentFewBits few_bits;
  if (inputs > 0) {
    pack_small_layer(lowering, *this, &layer);
  } else {
    pack_filters(lowering, *this, &layer, &few_bits);
  }
  touches.reads.emplace_back(layer.weights);
  if (has_bias && inputs == 0) {
    layer.bias = lowering.in(bias_input()).ref;
    touches.reads.emplace_back(layer.bias);
  }
  place_states(lowering, *this, &layer, &touches);
  if (few_bits.kernel != nullptr) touches.writes.emplace_back(few_bits.wide);
  RILL_TRY(place_outputs(lowering, *this, x, &layer, &touches));
  emit_layer(lowering, own_cell, layer, few_bits, std::move(touches));
  return {};
}

namespace {

constexpr FuseRule kRules[] = {{&Scan::kKind, fuse_recurrent}};

}  // namespace

extern const OpModule recurrent_module;
const OpModule recurrent_module = {"recurrent", {}, {}, kRules};

}  // namespace rill::ops
