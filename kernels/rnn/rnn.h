#pragma once

#include "kernels/cpu.h"
#include "kernels/rnn/rnn_args.h"

namespace rill::kernels {

/// One implementation of the recurrent loops. Products with W are those of the f32 matrix product
/// of the same tier, a row per lane from 0; every other operation of the formulas rounds once,
/// as separate elementwise operations would: so a loop gives the bits of the graph it stands for.
///
/// Shapes: x_*, y [lanes, steps, hidden] by strides; h, c [lanes, hidden]; any may be 0.
/// Types: f32; no alignment but that of `w`. h, c and scratch overlap nothing else.
/// Accuracy: sigmoid and tanh are those of kernels/math. The same bits however a stream is
/// cut, and for a lane alone.
/// Real-time: yes.
struct RnnF32 {
  const char* name;
  Tier tier;

  /// Run a GRU: r = sigmoid(x_r + h W_r), z = sigmoid(x_z + h W_z),
  /// n = tanh(x_n + r * (h W_n + b_hn)), h = (1 - z) * n + z * h.
  void (*gru)(const GruF32Args& args) noexcept RILL_NONBLOCKING;

  /// Run an LSTM: i, f, o = sigmoid(x + h W), g = tanh(x_g + h W_g), c = f * c + i * g,
  /// h = o * tanh(c).
  void (*lstm)(const LstmF32Args& args) noexcept RILL_NONBLOCKING;

  /// Run a plain recurrent layer: h = tanh(x + h W), or relu, in which a NaN gives 0.
  void (*rnn)(const RnnF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`: that of `matmul_f32(cpu)`,
/// which packs the weights. The result lives for ever.
/// Real-time: no, call it at prepare.
const RnnF32& rnn_f32(Tier cpu);

/// Tell how many floats of scratch a loop with that many gates needs: 3 for a GRU, 4 for an LSTM,
/// 1 for a plain layer.
int64_t rnn_scratch_floats(int64_t gates, int64_t hidden, int64_t lanes = 1);

}  // namespace rill::kernels
