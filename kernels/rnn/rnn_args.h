#pragma once

#include <cstdint>

#include "kernels/matmul_packed/matmul_packed_args.h"
#include "kernels/nonblocking.h"

// Separate from rnn.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// A reduced-precision W, which replaces `w`: every block of units is a panel. With `sums`, a
/// single lane reads W packed; several lanes unpack it block by block. With `quantise`, each lane
/// multiplies bytes: W is kInt8.
struct RnnFewBits {
  UpcastPanel upcast = nullptr;  // null: W is f32 or kInt8
  const std::byte* w = nullptr;
  int64_t block_bytes = 0;
  float* wide = nullptr;  // as long as rnn_few_bits_wide_floats says, aligned to 64 bytes
  FewBitsSums sums = nullptr;
  QuantiseRow quantise = nullptr;
};

/// The operands of one lane, which is a stream that runs with others and shares their weights. x
/// and y point to the step that runs first.
struct RnnLane {
  const float* x[4];  // the projections of the gates with their biases; of a small layer, its input
  float* h[2];        // the states, `hidden` floats each: a step reads one and writes the other
  float* c;           // of an LSTM, the cells
  float* y;           // every h, or null
};

/// The number of adjacent vectors of units in the packed W of a simple layer, whose units have one
/// column each. More adjacent columns mean fewer read streams.
constexpr int kRnnBlockVecs = 2;

/// The maximum number of column vectors that a tile reads at once.
constexpr int kRnnTileVecs = 12;

enum class RnnActivation : uint8_t { kTanh, kRelu };

/// Arguments of a recurrent layer over `lanes` streams. x and y hold `hidden` floats a step; a
/// negative stride runs backwards in time.
struct RnnF32Args {
  int64_t steps = 0, hidden = 0;
  int64_t x_stride = 0, y_stride = 0;  // floats between steps
  // [hidden] x [gates * hidden], as rnn_f32_pack writes it. The gates, in x and in columns: r, z, n
  // of a GRU; i, f, g, o of an LSTM; one of a simple layer.
  const float* w = nullptr;
  const float* b_hn = nullptr;                          // of a GRU: `hidden` floats, or null
  RnnActivation activation = RnnActivation::kTanh;      // of a simple layer
  const RnnLane* lane = nullptr;
  int64_t lanes = 1;
  RnnFewBits few_bits = {};
};

/// The maximum number of units, and of inputs, of a small layer.
constexpr int64_t kSmallRnnUnits = 48;

/// Arguments of a small GRU or LSTM, which computes the products with its input itself. Its lanes
/// only have x[0], h[0], c and y.
struct SmallRnnF32Args {
  int64_t steps = 0, inputs = 0, hidden = 0;
  int64_t x_stride = 0, y_stride = 0;  // floats between steps
  const float* w = nullptr;            // as `small_rnn_f32_pack` writes it
  bool has_bias = false;               // of a GRU: b_hn is added
  const RnnLane* lane = nullptr;
  int64_t lanes = 1;
};

#define RILL_KERNEL(needs, suffix, lanes)                                               \
  void gru_f32_##suffix(const RnnF32Args& a) noexcept RILL_NONBLOCKING;                 \
  void lstm_f32_##suffix(const RnnF32Args& a) noexcept RILL_NONBLOCKING;                \
  void rnn_f32_##suffix(const RnnF32Args& a) noexcept RILL_NONBLOCKING;                 \
  void small_gru_f32_##suffix(const SmallRnnF32Args& a) noexcept RILL_NONBLOCKING;      \
  void small_lstm_f32_##suffix(const SmallRnnF32Args& a) noexcept RILL_NONBLOCKING;     \
  void f16_sums_##suffix(const FewBitsRow& row, const FewBitsVector* vectors, int count, \
                         float* sums) noexcept RILL_NONBLOCKING;                        \
  void q8_sums_##suffix(const FewBitsRow& row, const FewBitsVector* vectors, int count, \
                        float* sums) noexcept RILL_NONBLOCKING;
#include "kernels/rnn/kernels.inc"
#undef RILL_KERNEL

}  // namespace rill::kernels
