#pragma once

#include <cstdint>

#include "kernels/matmul_packed/matmul_packed_args.h"
#include "kernels/nonblocking.h"

// Separate from rnn.h so that tier files include only plain data and declarations.

namespace rill::kernels {

/// A vector of columns: its panel and its first column.
struct FewBitsVector {
  const std::byte* panel;
  int64_t first;
};

/// One row of `k` values by panels of `columns` columns.
struct FewBitsRow {
  const float* h;
  int64_t k, columns;
};

/// Compute the sums of `count` vectors of columns, which are upcast in registers; `sums` is aligned
/// to a vector.
using FewBitsSums = void (*)(const FewBitsRow& row, const FewBitsVector* vectors, int count,
                             float* sums) noexcept RILL_NONBLOCKING;

/// A reduced-precision W, which replaces `w`: every block of units is a panel. With `sums`, a
/// single lane reads W packed; several lanes unpack it block by block.
struct RnnFewBits {
  UpcastPanel upcast = nullptr;  // null: W is f32
  const std::byte* w = nullptr;
  int64_t block_bytes = 0;
  float* wide = nullptr;  // as long as rnn_f32_wide_floats says, aligned to 64 bytes
  FewBitsSums sums = nullptr;
};

/// Arguments of a GRU over `lanes` parallel streams, which share the weights. x_r, x_z and x_n
/// point to the first step's input projections with their biases, `hidden` floats a step; a
/// negative stride runs backwards in time.
struct GruF32Args {
  int64_t steps = 0, hidden = 0;
  const float* x_r = nullptr;
  const float* x_z = nullptr;
  const float* x_n = nullptr;
  int64_t x_stride = 0;         // floats between steps
  const float* w = nullptr;     // [hidden] x [3 * hidden], columns r, z, n, as rnn_f32_pack writes
  const float* b_hn = nullptr;  // `hidden` floats, or null
  float* h = nullptr;           // the states, [lanes, hidden]
  float* y = nullptr;           // every h, or null
  int64_t y_stride = 0;         // floats between steps
  float* scratch = nullptr;     // [lanes, hidden]
  int64_t lanes = 1;
  int64_t x_lane = 0, y_lane = 0;  // floats between lanes
  RnnFewBits few_bits = {};
};

/// Arguments of an LSTM over `lanes` streams; see `GruF32Args`.
struct LstmF32Args {
  int64_t steps = 0, hidden = 0;
  const float* x_i = nullptr;
  const float* x_f = nullptr;
  const float* x_g = nullptr;
  const float* x_o = nullptr;
  int64_t x_stride = 0;
  const float* w = nullptr;  // [hidden] x [4 * hidden], columns i, f, g, o
  float* h = nullptr;        // the states, [lanes, hidden] each
  float* c = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  float* scratch = nullptr;  // [lanes, hidden]
  int64_t lanes = 1;
  int64_t x_lane = 0, y_lane = 0;
  RnnFewBits few_bits = {};
};

/// The adjacent vectors of units in the packed W of a simple layer, whose units have one column
/// each; more columns mean fewer read streams.
constexpr int kRnnBlockVecs = 2;

/// The maximum number of column vectors that a tile reads at once.
constexpr int kRnnTileVecs = 12;

enum class RnnActivation : uint8_t { kTanh, kRelu };

/// Arguments of a simple recurrent layer over `lanes` streams; see `GruF32Args`.
struct RnnF32Args {
  int64_t steps = 0, hidden = 0;
  RnnActivation activation = RnnActivation::kTanh;
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* w = nullptr;  // [hidden] x [hidden]
  float* h = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  float* scratch = nullptr;  // [lanes, hidden]
  int64_t lanes = 1;
  int64_t x_lane = 0, y_lane = 0;
  RnnFewBits few_bits = {};
};

/// The maximum number of units, and of inputs, of a small layer.
constexpr int64_t kSmallRnnUnits = 48;

/// Arguments of a small GRU or LSTM, which computes the products with its input itself.
struct SmallRnnF32Args {
  int64_t steps = 0, inputs = 0, hidden = 0;
  const float* x = nullptr;  // [lanes, steps, inputs] by strides
  int64_t x_stride = 0;      // floats between steps
  const float* w = nullptr;  // as `small_rnn_f32_pack` writes it
  bool has_bias = false;     // of a GRU: b_hn is added
  float* h = nullptr;        // the states, [lanes, hidden] each
  float* c = nullptr;        // null for a GRU
  float* y = nullptr;        // every h, or null
  int64_t y_stride = 0;
  int64_t lanes = 1;
  int64_t x_lane = 0, y_lane = 0;
};

#define RILL_KERNEL(needs, suffix, lanes)                                               \
  void gru_f32_##suffix(const GruF32Args& a) noexcept RILL_NONBLOCKING;                 \
  void lstm_f32_##suffix(const LstmF32Args& a) noexcept RILL_NONBLOCKING;               \
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
