#include "ops/rnn/recurrent_step.h"

#include <algorithm>
#include <cstring>

#include "core/base/kept_count.h"

namespace rill::ops {

using Cell = RecurrentCell;

namespace {

/// Runs all lanes over `steps` steps from where the pointers stand.
void run_lanes(const RecurrentArgs& layer, const Frame& frame, const float* const* x, float* y,
               int64_t steps, float* h, float* c) {
  const int64_t sign = layer.backward ? -1 : 1;
  const auto common = [&](auto* args) {
    args->steps = steps;
    args->hidden = layer.hidden;
    args->x_stride = sign * layer.x_step;
    args->w = frame.ptr<const float>(layer.weights);
    if (layer.few_bits != nullptr) {
      args->few_bits = {layer.few_bits->widen, frame.ptr<const std::byte>(layer.weights),
                        layer.block_bytes, frame.ptr<float>(layer.wide)};
    }
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
void copy_rows(const RecurrentArgs& layer, const float* from, int64_t from_lane, float* to,
               int64_t to_lane) {
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    std::memcpy(to + lane * to_lane, from + lane * from_lane,
                static_cast<size_t>(layer.hidden) * sizeof(float));
  }
}

/// The first frame that an evaluation sees, of those of the stream.
int64_t first_frame(const RecurrentArgs& layer, const Frame& frame) {
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
Range live_frames(const RecurrentArgs& layer, const Frame& frame, int64_t first) {
  const int64_t skipped = std::clamp<int64_t>(layer.skip - first, 0, layer.steps);
  if (!layer.limit) {
    if (layer.backward) return {0, layer.steps - skipped};
    return {skipped, layer.steps};
  }
  return {skipped,
          std::clamp<int64_t>(layer.limit->now(frame) - first, skipped, layer.steps)};
}

void clear_frames(const RecurrentArgs& layer, float* y, Range frames) {
  for (int64_t t = frames.from; t < frames.to; ++t) {
    for (int64_t lane = 0; lane < layer.lanes; ++lane) {
      std::memset(y + t * layer.y_step + lane * layer.y_lane, 0,
                  static_cast<size_t>(layer.hidden) * sizeof(float));
    }
  }
}

/// Say where W lies, and where one of few bits is written out.
void touch_weights(const RecurrentArgs& layer, int gates, StepTouches& touches) {
  const kernels::RnnF32& kernel = *layer.kernel;
  if (layer.few_bits == nullptr) {
    const int64_t floats = kernels::rnn_f32_packed_floats(kernel, gates, layer.hidden);
    return touches.reads(region<float>(layer.weights).over(floats).aligned(64));
  }
  const kernels::PackedFormat format = layer.few_bits->format;
  const int64_t block =
      kernels::rnn_few_bits_block_bytes(kernel, format, gates, layer.hidden);
  touches.require(layer.few_bits->widen != nullptr && layer.block_bytes == block,
                  "weights that can be written out");
  const int64_t bytes = kernels::rnn_few_bits_bytes(kernel, format, gates, layer.hidden);
  touches.reads(region<std::byte>(layer.weights).over(bytes).aligned(64));
  const int64_t wide = kernels::rnn_f32_wide_floats(kernel, gates, layer.hidden);
  touches.writes(region<float>(layer.wide).over(wide).aligned(64));
}

}  // namespace

void run_recurrent(const RecurrentArgs& layer, const Frame& frame) noexcept {
  const int64_t first = first_frame(layer, frame);
  float* h = frame.ptr<float>(layer.state) + kRecurrentHeaderFloats;
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

void touch_recurrent(const RecurrentArgs& layer, StepTouches& touches) {
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
  touch_weights(layer, gates, touches);
  if (layer.has_bias) touches.reads(region<float>(layer.bias).over(layer.hidden));
  touches.reads(rows(layer.first_h, layer.first_h_lane));
  const bool has_c = layer.cell == Cell::kLstm;
  if (has_c) touches.reads(rows(layer.first_c, layer.first_c_lane));
  const int64_t kept = kRecurrentHeaderFloats + (has_c ? 2 : 1) * both;
  touches.keeps(region<float>(layer.state).over(kept).aligned(8));
  touches.writes(region<float>(layer.scratch).over(both));
  if (layer.has_y) touches.writes(rows(layer.y, layer.y_lane).over(layer.steps, layer.y_step));
  if (layer.has_last_h) touches.writes(rows(layer.last_h, layer.last_h_lane));
  touches.require(has_c || !layer.has_last_c, "cells of an LSTM");
  if (layer.has_last_c) touches.writes(rows(layer.last_c, layer.last_c_lane));
}

extern const StepKind recurrent_kind;
const StepKind recurrent_kind = kRecurrent;

}  // namespace rill::ops
