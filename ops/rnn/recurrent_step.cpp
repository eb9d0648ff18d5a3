#include "ops/rnn/recurrent_step.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/kept_count.h"
#include "core/run/together.h"

namespace rill::ops {

namespace {

template <class Kernel>
constexpr bool kIsSmall = std::is_same_v<Kernel, kernels::SmallGruF32> ||
                          std::is_same_v<Kernel, kernels::SmallLstmF32>;
template <class Kernel>
constexpr bool kIsGru =
    std::is_same_v<Kernel, kernels::GruF32> || std::is_same_v<Kernel, kernels::SmallGruF32>;
template <class Kernel>
constexpr bool kHasCells =
    std::is_same_v<Kernel, kernels::LstmF32> || std::is_same_v<Kernel, kernels::SmallLstmF32>;
template <class Kernel>
constexpr int kGates = kIsGru<Kernel> ? 3 : kHasCells<Kernel> ? 4 : 1;

/// The frames of one evaluation.
struct LiveFrames {
  int64_t steps = 0;
  int64_t start = 0;  ///< the frame that runs first
};

/// Copies one row per lane from the state to an output, or from an input to the state.
void copy_rows(const RecurrentLayer& layer, const float* from, int64_t from_lane, float* to,
               int64_t to_lane) {
  for (int64_t lane = 0; lane < layer.lanes; ++lane) {
    std::memcpy(to + lane * to_lane, from + lane * from_lane,
                static_cast<size_t>(layer.hidden) * sizeof(float));
  }
}

/// Return the stream's frame number of the first frame of an evaluation.
int64_t first_frame(const RecurrentLayer& layer, const Frame& frame) {
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

/// Return the frames that the layer runs over. `skip` counts iterations in a whole run, and frames
/// in a stream.
Range live_frames(const RecurrentLayer& layer, const Frame& frame, int64_t first) {
  const int64_t skipped = std::clamp<int64_t>(layer.skip - first, 0, layer.steps);
  if (!layer.limit) {
    if (layer.backward) return {0, layer.steps - skipped};
    return {skipped, layer.steps};
  }
  return {skipped,
          std::clamp<int64_t>(layer.limit->now(frame) - first, skipped, layer.steps)};
}

void clear_frames(const RecurrentLayer& layer, float* y, Range frames) {
  for (int64_t t = frames.from; t < frames.to; ++t) {
    for (int64_t lane = 0; lane < layer.lanes; ++lane) {
      std::memset(y + t * layer.y_step + lane * layer.y_lane, 0,
                  static_cast<size_t>(layer.hidden) * sizeof(float));
    }
  }
}

/// Return the state of a layer in a stream: h of every lane, then c.
float* state_of(const RecurrentLayer& layer, const Frame& frame) {
  return frame.ptr<float>(layer.state) + kRecurrentHeaderFloats;
}

/// Find the frames of an evaluation, and prepare its states and outputs.
LiveFrames begin_frames(const RecurrentLayer& layer, const Frame& frame, bool has_cells) {
  const int64_t first = first_frame(layer, frame);
  if (first <= layer.skip || layer.reset_every_turn) {
    float* const state = state_of(layer, frame);
    const auto* h = frame.ptr<const float>(layer.first_h);
    copy_rows(layer, h, layer.first_h_lane, state, layer.hidden);
    if (has_cells) {
      const auto* c = frame.ptr<const float>(layer.first_c);
      copy_rows(layer, c, layer.first_c_lane, state + layer.lanes * layer.hidden, layer.hidden);
    }
  }
  const Range live = live_frames(layer, frame, first);
  if (layer.has_y) {
    auto* y = frame.ptr<float>(layer.y);
    clear_frames(layer, y, {0, live.from});
    clear_frames(layer, y, {live.to, layer.steps});
  }
  const int64_t steps = live.to - live.from;
  return {steps, layer.backward && steps > 0 ? live.to - 1 : live.from};
}

/// Write the last states to their outputs.
void give_states(const RecurrentLayer& layer, const Frame& frame) {
  const float* const h = state_of(layer, frame);
  if (layer.has_last_h) {
    copy_rows(layer, h, layer.hidden, frame.ptr<float>(layer.last_h), layer.last_h_lane);
  }
  if (layer.has_last_c) {
    copy_rows(layer, h + layer.lanes * layer.hidden, layer.hidden,
              frame.ptr<float>(layer.last_c), layer.last_c_lane);
  }
}

using kernels::RnnF32Args;
using kernels::RnnLane;
using kernels::SmallRnnF32Args;

template <class Kernel>
using KernelArgs = std::conditional_t<kIsSmall<Kernel>, SmallRnnF32Args, RnnF32Args>;

/// Return the arguments of a layer, except for its lanes and steps.
template <class Kernel>
KernelArgs<Kernel> arguments(const RecurrentLayer& layer, const Frame& frame,
                             const kernels::RnnFewBits& few_bits) {
  const int64_t sign = layer.backward ? -1 : 1;
  KernelArgs<Kernel> args;
  args.hidden = layer.hidden;
  args.x_stride = sign * layer.x_step;
  args.y_stride = sign * layer.y_step;
  args.w = frame.ptr<const float>(layer.weights);
  if constexpr (kIsSmall<Kernel>) {
    args.inputs = layer.inputs;
    args.has_bias = layer.has_bias;
  } else {
    args.b_hn = layer.has_bias ? frame.ptr<const float>(layer.bias) : nullptr;
    args.activation =
        layer.relu ? kernels::RnnActivation::kRelu : kernels::RnnActivation::kTanh;
    args.few_bits = few_bits;
  }
  return args;
}

/// The lanes of streams that run side by side, and read the weights once.
template <class Kernel>
class SideBySide {
 public:
  SideBySide(const Kernel& kernel, const KernelArgs<Kernel>& args)
      : kernel_(kernel), args_(args), count_(0) {}

  /// Add the lanes of a stream. Lanes with a different number of steps run separately.
  void add(const RecurrentLayer& layer, const Frame& frame, const LiveFrames& live) noexcept {
    if (args_.steps != live.steps) run();
    args_.steps = live.steps;
    for (int64_t lane = 0; live.steps > 0 && lane < layer.lanes; ++lane) {
      if (count_ == kMost) run();
      place(layer, frame, live, lane, &lanes_[count_++]);
    }
  }
  void run() noexcept {
    if (count_ == 0) return;
    args_.lane = lanes_;
    args_.lanes = count_;
    kernel_.run(args_);
    count_ = 0;
  }

 private:
  static constexpr int64_t kMost = 24;
  static constexpr int kPlaces = kIsSmall<Kernel> ? 1 : kGates<Kernel>;

  static void place(const RecurrentLayer& layer, const Frame& frame, const LiveFrames& live,
                    int64_t lane, RnnLane* to) noexcept {
    const int64_t x = live.start * layer.x_step + lane * layer.x_lane;
    for (int i = 0; i < kPlaces; ++i) to->x[i] = frame.ptr<const float>(layer.x[i]) + x;
    float* const h = state_of(layer, frame);
    to->h[0] = h + lane * layer.hidden;
    to->h[1] = kIsSmall<Kernel> ? nullptr : frame.ptr<float>(layer.scratch) + lane * layer.hidden;
    to->c = kHasCells<Kernel> ? h + (layer.lanes + lane) * layer.hidden : nullptr;
    to->y = nullptr;
    if (!layer.has_y) return;
    to->y = frame.ptr<float>(layer.y) + live.start * layer.y_step + lane * layer.y_lane;
  }

  const Kernel& kernel_;
  KernelArgs<Kernel> args_;
  int64_t count_;
  RnnLane lanes_[kMost];  // the first ones are set
};

/// Run a layer for streams, one or several: out of line, so that both share the code.
template <class Kernel>
[[gnu::noinline]] void run_layer(const RecurrentArgs<Kernel>& all, std::span<const Frame> frames,
                                 const kernels::RnnFewBits& few_bits) noexcept RILL_NONBLOCKING {
  const RecurrentLayer& layer = all.layer;
  SideBySide<Kernel> lanes(*all.kernel, arguments<Kernel>(layer, frames[0], few_bits));
  for (const Frame& frame : frames) {
    lanes.add(layer, frame, begin_frames(layer, frame, kHasCells<Kernel>));
  }
  lanes.run();
  for (const Frame& frame : frames) give_states(layer, frame);
}

template <class Kernel>
void run_layer(const FewBitsRecurrentArgs<Kernel>& args,
               std::span<const Frame> frames) noexcept RILL_NONBLOCKING {
  const RecurrentFewBits& few = args.few_bits;
  const Frame& frame = frames[0];
  kernels::RnnFewBits how = kernels::rnn_few_bits(*args.recurrent.kernel, *few.kernel);
  how.w = frame.ptr<const std::byte>(args.recurrent.layer.weights);
  how.block_bytes = few.block_bytes;
  how.wide = frame.ptr<float>(few.wide);
  run_layer(args.recurrent, frames, how);
}

/// Return whether the streams share one copy of the weights, as the streams of a plan do.
bool share_weights(const RecurrentLayer& layer, std::span<const Frame> frames) {
  const bool has_own_bias = layer.has_bias && layer.inputs == 0;
  return is_shared(layer.weights, frames) && (!has_own_bias || is_shared(layer.bias, frames));
}

/// Report the memory of a quantized W, and the memory for its f32 copy or the states as bytes.
/// Require that the functions that read W belong to the tier of the loops.
[[gnu::cold]] void touch_few_bits(const RecurrentLayer& layer, const kernels::RnnKernel& kernel,
                                  int gates, const RecurrentFewBits& few_bits,
                                  StepTouches& touches) {
  const kernels::PackedFormat format = few_bits.kernel->format;
  const int64_t block = kernels::rnn_few_bits_block_bytes(kernel, format, gates, layer.hidden);
  const bool can_read =
      few_bits.kernel->upcast != nullptr || format == kernels::PackedFormat::kInt8;
  touches.require(can_read && few_bits.kernel->tier == kernel.tier &&
                      few_bits.block_bytes == block,
                  "weights that its loops can read");
  const int64_t bytes = kernels::rnn_few_bits_bytes(kernel, format, gates, layer.hidden);
  touches.reads(region<std::byte>(layer.weights).over(bytes).aligned(64));
  const int64_t wide = kernels::rnn_few_bits_wide_floats(kernel, format, gates, layer.hidden);
  touches.writes(region<float>(few_bits.wide).over(wide).aligned(64));
}

/// Report the memory that a layer with `gates` gates touches, except its weights.
[[gnu::cold]] void touch_layer(const RecurrentLayer& layer, int gates, StepTouches& touches) {
  for (const int64_t count : {layer.steps, layer.hidden, layer.lanes}) {
    touches.within(count, 0, kMostCounted);
  }
  const auto both = touches.holds() ? layer.lanes * layer.hidden : 0;
  touches.within(both, 0, kMostCounted);
  if (!touches.holds()) return;
  touches.works({layer.steps, both, layer.hidden + layer.inputs, gates});
  const auto rows = [&](const Ref& at, int64_t lane) {
    return region<float>(at).over(layer.lanes, lane).over(layer.hidden);
  };
  const bool is_small = layer.inputs > 0;
  if (is_small) {
    touches.reads(region<float>(layer.x[0]).over(layer.lanes, layer.x_lane).over(layer.inputs)
                      .over(layer.steps, layer.x_step));
  }
  for (int gate = 0; !is_small && gate < gates; ++gate) {
    touches.reads(rows(layer.x[gate], layer.x_lane).over(layer.steps, layer.x_step));
  }
  if (layer.has_bias && !is_small) touches.reads(region<float>(layer.bias).over(layer.hidden));
  touches.reads(rows(layer.first_h, layer.first_h_lane));
  const bool has_cells = gates == kGates<kernels::LstmF32>;
  if (has_cells) touches.reads(rows(layer.first_c, layer.first_c_lane));
  const int64_t kept = kRecurrentHeaderFloats + (has_cells ? 2 : 1) * both;
  touches.keeps(region<float>(layer.state).over(kept).aligned(8));
  if (!is_small) touches.writes(region<float>(layer.scratch).over(both));
  if (layer.has_y) touches.writes(rows(layer.y, layer.y_lane).over(layer.steps, layer.y_step));
  if (layer.has_last_h) touches.writes(rows(layer.last_h, layer.last_h_lane));
  touches.require(has_cells || !layer.has_last_c, "cells of an LSTM");
  if (layer.has_last_c) touches.writes(rows(layer.last_c, layer.last_c_lane));
}

}  // namespace

template <class Kernel>
void run_recurrent(const RecurrentArgs<Kernel>& args, const Frame& frame) noexcept {
  run_layer(args, {&frame, 1}, {});
}

template <class Kernel>
bool run_recurrent(const RecurrentArgs<Kernel>& args, std::span<const Frame> frames) noexcept {
  if (!share_weights(args.layer, frames)) return false;
  run_layer(args, frames, {});
  return true;
}

template <class Kernel>
void run_recurrent(const FewBitsRecurrentArgs<Kernel>& args, const Frame& frame) noexcept {
  run_layer(args, {&frame, 1});
}

template <class Kernel>
bool run_recurrent(const FewBitsRecurrentArgs<Kernel>& args,
                   std::span<const Frame> frames) noexcept {
  if (!share_weights(args.recurrent.layer, frames)) return false;
  run_layer(args, frames);
  return true;
}

template <class Kernel>
void touch_recurrent(const RecurrentArgs<Kernel>& args, StepTouches& touches) {
  touches.require(args.kernel != nullptr, "a kernel");
  const RecurrentLayer& layer = args.layer;
  constexpr int64_t kMost = kIsSmall<Kernel> ? kernels::kSmallRnnUnits : 0;
  touches.within(layer.inputs, kIsSmall<Kernel> ? 1 : 0, kMost);
  if (kIsSmall<Kernel>) touches.within(layer.hidden, 0, kMost);
  if (touches.holds()) touch_layer(layer, kGates<Kernel>, touches);
  if (!touches.holds()) return;
  const int64_t floats =
      kIsSmall<Kernel>
          ? kernels::small_rnn_f32_packed_floats(*args.kernel, kGates<Kernel>, layer.inputs,
                                                 layer.hidden)
          : kernels::rnn_f32_packed_floats(*args.kernel, kGates<Kernel>, layer.hidden);
  touches.reads(region<float>(args.layer.weights).over(floats).aligned(64));
}

template <class Kernel>
void touch_recurrent(const FewBitsRecurrentArgs<Kernel>& args, StepTouches& touches) {
  const RecurrentArgs<Kernel>& own = args.recurrent;
  touches.require(own.kernel != nullptr && args.few_bits.kernel != nullptr, "a kernel");
  touches.within(own.layer.inputs, 0, 0);
  if (touches.holds()) touch_layer(own.layer, kGates<Kernel>, touches);
  if (!touches.holds()) return;
  touch_few_bits(own.layer, *own.kernel, kGates<Kernel>, args.few_bits, touches);
}

#define RILL_RECURRENT(Args)                                                                   \
  template void run_recurrent(const Args& args, const Frame& frame) noexcept RILL_NONBLOCKING; \
  template bool run_recurrent(const Args& args, std::span<const Frame> frames) noexcept        \
      RILL_NONBLOCKING;                                                                        \
  template void touch_recurrent(const Args& args, StepTouches& touches);
RILL_RECURRENT(RecurrentArgs<kernels::GruF32>)
RILL_RECURRENT(RecurrentArgs<kernels::LstmF32>)
RILL_RECURRENT(RecurrentArgs<kernels::RnnF32>)
RILL_RECURRENT(RecurrentArgs<kernels::SmallGruF32>)
RILL_RECURRENT(RecurrentArgs<kernels::SmallLstmF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::GruF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::LstmF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::RnnF32>)
#undef RILL_RECURRENT

extern const StepKind gru_kind;
extern const StepKind lstm_kind;
extern const StepKind rnn_kind;
extern const StepKind small_gru_kind;
extern const StepKind small_lstm_kind;
extern const StepKind few_bits_gru_kind;
extern const StepKind few_bits_lstm_kind;
extern const StepKind few_bits_rnn_kind;
const StepKind gru_kind = kGru;
const StepKind lstm_kind = kLstm;
const StepKind rnn_kind = kRnn;
const StepKind small_gru_kind = kSmallGru;
const StepKind small_lstm_kind = kSmallLstm;
const StepKind few_bits_gru_kind = kFewBitsGru;
const StepKind few_bits_lstm_kind = kFewBitsLstm;
const StepKind few_bits_rnn_kind = kFewBitsRnn;

}  // namespace rill::ops
