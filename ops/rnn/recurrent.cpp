#include "ops/rnn/recurrent.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/kept_count.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "kernels/rnn/rnn.h"
#include "ops/stream/frames.h"

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
  visitor.field("reset_every_turn", reset_every_turn);
  visitor.field("limit", limit);
  visitor.field("outputs", outputs);
}

OpPtr Recurrent::stateless() const {
  if (reset_every_turn || !(limit == Dim(0))) return nullptr;
  auto op = std::make_shared<Recurrent>(*this);
  op->reset_every_turn = true;
  return op;
}

Result<Facts> Recurrent::infer(FactSpan in) const {
  Facts out;
  const auto first_state = static_cast<size_t>(2 * gates() + (has_bias ? 1 : 0));
  RILL_CHECK(in.size() > first_state, in.size(), " inputs");
  for (const int64_t what : outputs) {
    const Fact& like = what == kSequence ? in[0] : in[first_state + (what == kLastC ? 1 : 0)];
    out.push_back(like.without_value());
  }
  return out;
}

Status Recurrent::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "a recurrent layer runs in a prepared plan only");
}

Cost Recurrent::cost(FactSpan in, FactSpan) const {
  Cost cost;
  cost.fma = volume(in[0].shape) * in[0].shape.back() * Dim(gates());
  return cost;
}

namespace {

struct LayerArgs {
  Cell cell = Cell::kGru;
  const kernels::RnnF32* kernel = nullptr;
  int64_t steps = 0;
  int64_t hidden = 0;
  int64_t lanes = 0;
  int64_t skip = 0;
  std::optional<FramesSoFar> limit;
  bool backward = false;
  bool reset_every_turn = false;
  bool has_bias = false;
  Ref x[4];
  int64_t x_step = 0;
  int64_t x_lane = 0;
  Ref weights;
  Ref bias;
  Ref first_h;
  Ref first_c;
  int64_t first_h_lane = 0;
  int64_t first_c_lane = 0;
  Ref state;  ///< counter, then h and c of every lane
  Ref scratch;
  Ref y;
  bool has_y = false;
  int64_t y_step = 0;
  int64_t y_lane = 0;
  Ref last_h;
  Ref last_c;
  bool has_last_h = false;
  bool has_last_c = false;
  int64_t last_h_lane = 0;
  int64_t last_c_lane = 0;
};

RILL_STEP_FIELDS(LayerArgs, cell, kernel, steps, hidden, lanes, skip, limit, backward,
                 reset_every_turn, has_bias, x, x_step, x_lane, weights, bias, first_h, first_c,
                 first_h_lane, first_c_lane, state, scratch, y, has_y, y_step, y_lane, last_h,
                 last_c, has_last_h, has_last_c, last_h_lane, last_c_lane)

constexpr int64_t kHeaderFloats = 16;  // the counter, and alignment of what follows

/// Runs all lanes over `steps` steps from where the pointers stand.
void run_lanes(const LayerArgs& layer, const Frame& frame, const float* const* x, float* y,
               int64_t steps, float* h, float* c) {
  const int64_t sign = layer.backward ? -1 : 1;
  const auto common = [&](auto* args) {
    args->steps = steps;
    args->hidden = layer.hidden;
    args->x_stride = sign * layer.x_step;
    args->w = frame.ptr<const float>(layer.weights);
    args->h = h;
    args->y = y;
    args->y_stride = sign * layer.y_step;
    args->scratch = frame.ptr<float>(layer.scratch);
    args->lanes = layer.lanes;
    args->x_lane = layer.x_lane;
    args->y_lane = layer.y_lane;
  };
  switch (layer.cell) {
    case Cell::kGru: {
      kernels::GruF32Args args;
      common(&args);
      args.x_r = x[0];
      args.x_z = x[1];
      args.x_n = x[2];
      args.b_hn = layer.has_bias ? frame.ptr<const float>(layer.bias) : nullptr;
      layer.kernel->gru(args);
      return;
    }
    case Cell::kLstm: {
      kernels::LstmF32Args args;
      common(&args);
      args.x_i = x[0];
      args.x_f = x[1];
      args.x_g = x[2];
      args.x_o = x[3];
      args.c = c;
      layer.kernel->lstm(args);
      return;
    }
    case Cell::kTanh:
    case Cell::kRelu: {
      kernels::RnnF32Args args;
      common(&args);
      args.x = x[0];
      args.activation =
          layer.cell == Cell::kTanh ? kernels::RnnActivation::kTanh : kernels::RnnActivation::kRelu;
      layer.kernel->rnn(args);
      return;
    }
  }
}

/// Copies a row per lane from the state to an output, or from an input to the state.
void copy_rows(const LayerArgs& layer, const float* from, int64_t from_lane, float* to,
               int64_t to_lane) {
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    std::memcpy(to + lane * to_lane, from + lane * from_lane,
                static_cast<size_t>(layer.hidden) * sizeof(float));
  }
}

/// The first frame that an evaluation sees, of those of the stream.
int64_t first_frame(const LayerArgs& layer, const Frame& frame) {
  if (layer.reset_every_turn) return layer.limit ? frame.clock->position(layer.steps) : 0;
  auto* counter = frame.ptr<int64_t>(layer.state);
  const int64_t first = kept_count(*counter);
  *counter = first + layer.steps;
  return first;
}

/// Frames [from, to) of an evaluation.
struct Range {
  int64_t from = 0;
  int64_t to = 0;
};

/// Those that the layer runs over. A whole run skips turns, a stream frames.
Range live_frames(const LayerArgs& layer, const Frame& frame, int64_t first) {
  const int64_t skipped = std::clamp<int64_t>(layer.skip - first, 0, layer.steps);
  if (!layer.limit) {
    if (layer.backward) return {0, layer.steps - skipped};
    return {skipped, layer.steps};
  }
  return {skipped,
          std::clamp<int64_t>(layer.limit->now(frame) - first, skipped, layer.steps)};
}

void clear_frames(const LayerArgs& layer, float* y, Range frames) {
  for (int64_t t = frames.from; t < frames.to; ++t) {
    for (int64_t lane = 0; lane < layer.lanes; ++lane) {
      std::memset(y + t * layer.y_step + lane * layer.y_lane, 0,
                  static_cast<size_t>(layer.hidden) * sizeof(float));
    }
  }
}

void run_layer(const LayerArgs& layer, const Frame& frame) noexcept RILL_NONBLOCKING {
  const int64_t first = first_frame(layer, frame);
  float* h = frame.ptr<float>(layer.state) + kHeaderFloats;
  float* c = h + layer.lanes * layer.hidden;
  if (first <= layer.skip || layer.reset_every_turn) {
    copy_rows(layer, frame.ptr<const float>(layer.first_h), layer.first_h_lane, h, layer.hidden);
    if (layer.cell == Cell::kLstm) {
      copy_rows(layer, frame.ptr<const float>(layer.first_c), layer.first_c_lane, c, layer.hidden);
    }
  }
  const Range live = live_frames(layer, frame, first);
  const int64_t start = layer.backward ? live.to - 1 : live.from;
  float* y = layer.has_y ? frame.ptr<float>(layer.y) : nullptr;
  if (y) {
    clear_frames(layer, y, {0, live.from});
    clear_frames(layer, y, {live.to, layer.steps});
  }
  if (live.to > live.from) {
    const int gates = layer.cell == Cell::kGru ? 3 : layer.cell == Cell::kLstm ? 4 : 1;
    const float* x[4] = {};
    for (int gate = 0; gate < gates; ++gate) {
      x[gate] = frame.ptr<const float>(layer.x[gate]) + start * layer.x_step;
    }
    run_lanes(layer, frame, x, y ? y + start * layer.y_step : nullptr, live.to - live.from, h, c);
  }
  if (layer.has_last_h) {
    copy_rows(layer, h, layer.hidden, frame.ptr<float>(layer.last_h), layer.last_h_lane);
  }
  if (layer.has_last_c) {
    copy_rows(layer, c, layer.hidden, frame.ptr<float>(layer.last_c), layer.last_c_lane);
  }
}

void touch_layer(const LayerArgs& layer, StepTouches& touches) {
  touches.require(layer.kernel != nullptr && layer.cell <= Cell::kRelu, "a kernel");
  for (const int64_t count : {layer.steps, layer.hidden, layer.lanes}) {
    touches.within(count, 0, kMostCounted);
  }
  const auto both = touches.holds() ? layer.lanes * layer.hidden : 0;
  touches.within(both, 0, kMostCounted);
  if (!touches.holds()) return;
  const int gates = layer.cell == Cell::kGru ? 3 : layer.cell == Cell::kLstm ? 4 : 1;
  const auto rows = [&](const Ref& at, int64_t lane) {
    return region<float>(at).over(layer.lanes, lane).over(layer.hidden);
  };
  for (int gate = 0; gate < gates; ++gate) {
    touches.reads(rows(layer.x[gate], layer.x_lane).over(layer.steps, layer.x_step));
  }
  touches.reads(region<float>(layer.weights)
                    .over(kernels::rnn_f32_packed_floats(*layer.kernel, gates, layer.hidden))
                    .aligned(64));
  if (layer.has_bias) touches.reads(region<float>(layer.bias).over(layer.hidden));
  touches.reads(rows(layer.first_h, layer.first_h_lane));
  const bool has_c = layer.cell == Cell::kLstm;
  if (has_c) touches.reads(rows(layer.first_c, layer.first_c_lane));
  touches.keeps(region<float>(layer.state).over(kHeaderFloats + (has_c ? 2 : 1) * both).aligned(8));
  touches.writes(region<float>(layer.scratch).over(both));
  if (layer.has_y) touches.writes(rows(layer.y, layer.y_lane).over(layer.steps, layer.y_step));
  if (layer.has_last_h) touches.writes(rows(layer.last_h, layer.last_h_lane));
  touches.require(has_c || !layer.has_last_c, "cells of an LSTM");
  if (layer.has_last_c) touches.writes(rows(layer.last_c, layer.last_c_lane));
}

constexpr auto kRecurrent = step_kind<LayerArgs, run_layer, touch_layer>("recurrent");

/// Packs the filters of all gates side by side: [hidden] x [gates * hidden].
Ref pack_filters(Lowering& lowering, const Recurrent& op, int64_t hidden) {
  constexpr int64_t kRows = 16;
  const kernels::RnnF32& kernel = kernels::rnn_f32(kernels::active_tier());
  const int gates = op.gates();
  const int64_t columns = gates * hidden;
  std::vector<float> all(static_cast<size_t>(hidden * columns));
  for (int gate = 0; gate < gates; ++gate) {
    const float* w = lowering.in(gates + gate).konst->data<float>();
    // Few rows at a time: as many lines are written to in turn, which stay in the cache.
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
  auto [ref, packed] =
      lowering.constant<float>(kernels::rnn_f32_packed_floats(kernel, gates, hidden));
  kernels::rnn_f32_pack(kernel, gates, hidden, all.data(), packed);
  return ref;
}

}  // namespace

extern const StepKind recurrent_kind;
const StepKind recurrent_kind = kRecurrent;

Status Recurrent::lower(Lowering& lowering) const {
  const int n = gates();
  const int feature = lowering.in(0).rank - 1;
  const int time = static_cast<int>(axis);
  const int batch = static_cast<int>(batch_axis);
  LayerArgs layer;
  layer.cell = static_cast<Cell>(cell);
  layer.kernel = &kernels::rnn_f32(kernels::active_tier());
  layer.backward = backward;
  layer.skip = skip;
  if (!(limit == Dim(0))) layer.limit.emplace(limit);
  layer.reset_every_turn = reset_every_turn;
  layer.has_bias = has_bias;
  const Operand x0 = lowering.innermost(lowering.in(0), feature);
  layer.steps = x0.extent(time);
  layer.hidden = x0.extent(feature);
  layer.lanes = x0.extent(batch);
  layer.x_step = x0.step(time);
  layer.x_lane = x0.step(batch);
  std::vector<Touched> reads;
  for (int gate = 0; gate < n; ++gate) {
    const Operand& own = lowering.in(gate);
    const bool alike = own.step(time) == x0.step(time) && own.step(batch) == x0.step(batch) &&
                       (own.step(feature) == 1 || layer.hidden == 1);
    const Operand x = gate == 0 ? x0
                      : alike   ? own
                                : lowering.ordered(own, Lowering::physical_order(x0));
    if (x.step(time) != layer.x_step || x.step(batch) != layer.x_lane) {
      return fail(Code::kInternal, "the projections of the gates lie differently");
    }
    layer.x[gate] = x.ref;
    reads.emplace_back(x);
  }
  layer.weights = pack_filters(lowering, *this, layer.hidden);
  reads.emplace_back(layer.weights);
  if (has_bias) {
    layer.bias = lowering.in(2 * n).ref;
    reads.emplace_back(layer.bias);
  }
  const int first_state = 2 * n + (has_bias ? 1 : 0);
  const Operand h0 = lowering.innermost(lowering.in(first_state), feature);
  layer.first_h = h0.ref;
  layer.first_h_lane = h0.step(batch);
  reads.emplace_back(h0);
  if (layer.cell == Cell::kLstm) {
    const Operand c0 = lowering.innermost(lowering.in(first_state + 1), feature);
    layer.first_c = c0.ref;
    layer.first_c_lane = c0.step(batch);
    reads.emplace_back(c0);
  }
  const int64_t state_bytes = (kHeaderFloats + 2 * layer.lanes * layer.hidden) * 4;
  layer.state =
      reset_every_turn ? lowering.scratch_bytes(state_bytes) : lowering.state(state_bytes);
  layer.scratch = lowering.scratch_bytes(layer.lanes * layer.hidden * 4);
  std::vector<Touched> writes{layer.state, layer.scratch};
  std::vector<int> order = Lowering::physical_order(x0);
  std::erase(order, feature);
  order.push_back(feature);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand out = lowering.make_out(static_cast<int>(i), order);
    writes.emplace_back(out);
    if (outputs[i] == kSequence) {
      if (layer.has_y) {
        return fail(Code::kUnsupported, "two outputs of one sequence");
      }
      layer.has_y = true;
      layer.y = out.ref;
      layer.y_step = out.step(time);
      layer.y_lane = out.step(batch);
    } else if (outputs[i] == kLastH) {
      layer.has_last_h = true;
      layer.last_h = out.ref;
      layer.last_h_lane = out.step(batch);
    } else {
      layer.has_last_c = true;
      layer.last_c = out.ref;
      layer.last_c_lane = out.step(batch);
    }
  }
  lowering.step(kRecurrent, layer, std::move(reads), std::move(writes));
  return {};
}

namespace {
const std::span<const NnefOp> kNone;
}

extern const OpRoom recurrent_room;
const OpRoom recurrent_room = {"recurrent", kNone};

}  // namespace rill::ops
