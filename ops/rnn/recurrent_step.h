#pragma once

#include <optional>
#include <span>

#include "core/run/frames_so_far.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/rnn/rnn.h"

namespace rill::ops {

enum class RecurrentCell : int64_t { kGru, kLstm, kTanh, kRelu };

/// The common fields of layers of all cells.
struct RecurrentLayer {
  int64_t steps = 0;
  int64_t hidden = 0;
  int64_t inputs = 0;  ///< features of the input x[0] of a small layer; else 0
  int64_t lanes = 0;
  int64_t skip = 0;
  std::optional<FramesSoFar> limit;
  bool backward = false;
  bool reset_every_turn = false;
  bool relu = false;  ///< of a plain layer; else tanh
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

RILL_STEP_FIELDS(RecurrentLayer, steps, hidden, inputs, lanes, skip, limit, backward,
                 reset_every_turn, relu, has_bias, x, x_step, x_lane, weights, bias, first_h,
                 first_c, first_h_lane, first_c_lane, state, scratch, y, has_y, y_step, y_lane,
                 last_h, last_c, has_last_h, has_last_c, last_h_lane, last_c_lane)

/// A layer of one cell with its kernel: a program links only the cells of its models.
template <class Kernel>
struct RecurrentArgs {
  const Kernel* kernel = nullptr;
  RecurrentLayer layer;
};
template <class Kernel>
RILL_STEP_FIELDS(RecurrentArgs<Kernel>, kernel, layer)

/// The storage of a quantized W.
struct RecurrentFewBits {
  const kernels::MatmulPacked* kernel = nullptr;
  int64_t block_bytes = 0;  ///< of W, for a block of units
  Ref wide;                 ///< scratch for W in f32, or for the states as bytes
};
RILL_STEP_FIELDS(RecurrentFewBits, kernel, block_bytes, wide)

template <class Kernel>
struct FewBitsRecurrentArgs {
  RecurrentArgs<Kernel> recurrent;
  RecurrentFewBits few_bits;
};
template <class Kernel>
RILL_STEP_FIELDS(FewBitsRecurrentArgs<Kernel>, recurrent, few_bits)

constexpr int64_t kRecurrentHeaderFloats = 16;  // the counter, and alignment

template <class Kernel>
void run_recurrent(const RecurrentArgs<Kernel>& args, const Frame& frame) noexcept RILL_NONBLOCKING;
template <class Kernel>
bool run_recurrent(const RecurrentArgs<Kernel>& args,
                   std::span<const Frame> frames) noexcept RILL_NONBLOCKING;
template <class Kernel>
void run_recurrent(const FewBitsRecurrentArgs<Kernel>& args,
                   const Frame& frame) noexcept RILL_NONBLOCKING;
template <class Kernel>
bool run_recurrent(const FewBitsRecurrentArgs<Kernel>& args,
                   std::span<const Frame> frames) noexcept RILL_NONBLOCKING;
template <class Kernel>
void touch_recurrent(const RecurrentArgs<Kernel>& args, StepTouches& touches);
template <class Kernel>
void touch_recurrent(const FewBitsRecurrentArgs<Kernel>& args, StepTouches& touches);

#define RILL_RECURRENT(Args)                                                                \
  extern template void run_recurrent(const Args& args, const Frame& frame) noexcept         \
      RILL_NONBLOCKING;                                                                     \
  extern template bool run_recurrent(const Args& args, std::span<const Frame> frames) noexcept \
      RILL_NONBLOCKING;                                                                     \
  extern template void touch_recurrent(const Args& args, StepTouches& touches);
RILL_RECURRENT(RecurrentArgs<kernels::GruF32>)
RILL_RECURRENT(RecurrentArgs<kernels::LstmF32>)
RILL_RECURRENT(RecurrentArgs<kernels::RnnF32>)
RILL_RECURRENT(RecurrentArgs<kernels::SmallGruF32>)
RILL_RECURRENT(RecurrentArgs<kernels::SmallLstmF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::GruF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::LstmF32>)
RILL_RECURRENT(FewBitsRecurrentArgs<kernels::RnnF32>)
#undef RILL_RECURRENT

using GruArgs = RecurrentArgs<kernels::GruF32>;
using LstmArgs = RecurrentArgs<kernels::LstmF32>;
using RnnArgs = RecurrentArgs<kernels::RnnF32>;
using SmallGruArgs = RecurrentArgs<kernels::SmallGruF32>;
using SmallLstmArgs = RecurrentArgs<kernels::SmallLstmF32>;
using FewBitsGruArgs = FewBitsRecurrentArgs<kernels::GruF32>;
using FewBitsLstmArgs = FewBitsRecurrentArgs<kernels::LstmF32>;
using FewBitsRnnArgs = FewBitsRecurrentArgs<kernels::RnnF32>;
template <class Args>
constexpr auto recurrent_kind(const char* name) {
  return step_kind<Args, run_recurrent, touch_recurrent, run_recurrent>(name);
}
inline constexpr auto kGru = recurrent_kind<GruArgs>("gru");
inline constexpr auto kLstm = recurrent_kind<LstmArgs>("lstm");
inline constexpr auto kRnn = recurrent_kind<RnnArgs>("rnn");
inline constexpr auto kSmallGru = recurrent_kind<SmallGruArgs>("small_gru");
inline constexpr auto kSmallLstm = recurrent_kind<SmallLstmArgs>("small_lstm");
inline constexpr auto kFewBitsGru = recurrent_kind<FewBitsGruArgs>("few_bits_gru");
inline constexpr auto kFewBitsLstm = recurrent_kind<FewBitsLstmArgs>("few_bits_lstm");
inline constexpr auto kFewBitsRnn = recurrent_kind<FewBitsRnnArgs>("few_bits_rnn");

}  // namespace rill::ops
