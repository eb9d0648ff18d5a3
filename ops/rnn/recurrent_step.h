#pragma once

#include <optional>

#include "core/run/frames_so_far.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/rnn/rnn.h"

namespace rill::ops {

enum class RecurrentCell : int64_t { kGru, kLstm, kTanh, kRelu };

struct RecurrentArgs {
  RecurrentCell cell = RecurrentCell::kGru;
  const kernels::RnnF32* kernel = nullptr;
  const kernels::MatmulPacked* few_bits = nullptr;  ///< how W is kept; null: as f32
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
  int64_t block_bytes = 0;  ///< of W of few bits, for a block of units
  Ref wide;                 ///< for W of few bits, written out
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

RILL_STEP_FIELDS(RecurrentArgs, cell, kernel, few_bits, steps, hidden, lanes, skip, limit,
                 backward, reset_every_turn, has_bias, x, x_step, x_lane, weights, block_bytes,
                 wide, bias, first_h, first_c, first_h_lane, first_c_lane, state, scratch, y,
                 has_y, y_step, y_lane, last_h, last_c, has_last_h, has_last_c, last_h_lane,
                 last_c_lane)

constexpr int64_t kRecurrentHeaderFloats = 16;  // the counter, and alignment of what follows

void run_recurrent(const RecurrentArgs& layer, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_recurrent(const RecurrentArgs& layer, StepTouches& touches);

inline constexpr auto kRecurrent =
    step_kind<RecurrentArgs, run_recurrent, touch_recurrent>("recurrent");

}  // namespace rill::ops
