#pragma once

#include "kernels/list.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/rnn/rnn_args.h"

namespace rill::kernels {

/// One implementation of the recurrent loops. Products with W have the bits of the f32 matmul of
/// the same tier, chains over ascending k from 0; every other operation of the formulas rounds
/// once, as separate elementwise operations would: so a loop has the bits of the graph that it
/// replaces.
///
/// Shapes: per lane, x and y [steps, hidden] by strides; h and c [hidden]; any may be 0.
/// Types: f32; no alignment but that of `w`. h and c overlap nothing else.
/// Accuracy: sigmoid and tanh are those of kernels/math. The same bits for any division of a stream
/// into steps, and for a lane alone.
/// Real-time: yes.
struct RnnKernel {
  const char* name;
  Tier tier;
  int lanes;  // floats per vector
};

/// A GRU: r = sigmoid(x_r + h W_r), z = sigmoid(x_z + h W_z), n = tanh(x_n + r * (h W_n + b_hn)),
/// h = (1 - z) * n + z * h.
struct GruF32 : RnnKernel {
  void (*run)(const RnnF32Args& args) noexcept RILL_NONBLOCKING;
};

/// An LSTM: i, f, o = sigmoid(x + h W), g = tanh(x_g + h W_g), c = f * c + i * g, h = o * tanh(c).
struct LstmF32 : RnnKernel {
  void (*run)(const RnnF32Args& args) noexcept RILL_NONBLOCKING;
};

/// A simple recurrent layer: h = tanh(x + h W), or relu, which propagates NaN.
struct RnnF32 : RnnKernel {
  void (*run)(const RnnF32Args& args) noexcept RILL_NONBLOCKING;
};

/// A GRU or LSTM of at most `kSmallRnnUnits` units and inputs. One loop over the steps also
/// computes the products with the input, each a chain over the inputs that starts from the bias. It
/// has the bits of the matmul and the recurrent loop of its tier.
struct SmallGruF32 : RnnKernel {
  void (*run)(const SmallRnnF32Args& args) noexcept RILL_NONBLOCKING;
};
struct SmallLstmF32 : RnnKernel {
  void (*run)(const SmallRnnF32Args& args) noexcept RILL_NONBLOCKING;
};

/// Choose the best implementation for a CPU whose best tier is `cpu`: all loops of a tier read
/// vectors of the same length. The result has static lifetime.
/// Real-time: no, call it at prepare.
const GruF32& gru_f32(Tier cpu);
const LstmF32& lstm_f32(Tier cpu);
const RnnF32& rnn_f32(Tier cpu);

/// As above, for a small layer. If 256 bits hold all units, AVX2 is chosen for its shorter latency.
const SmallGruF32& small_gru_f32(Tier cpu, int64_t hidden);
const SmallLstmF32& small_lstm_f32(Tier cpu, int64_t hidden);

/// Return all kernels of a family in this build; the argument only selects the family.
KernelList<GruF32> kernels_like(const GruF32*);
KernelList<LstmF32> kernels_like(const LstmF32*);
KernelList<RnnF32> kernels_like(const RnnF32*);
KernelList<SmallGruF32> kernels_like(const SmallGruF32*);
KernelList<SmallLstmF32> kernels_like(const SmallLstmF32*);

/// Return how many floats `rnn_f32_pack` writes: whole blocks.
int64_t rnn_f32_packed_floats(const RnnKernel& kernel, int64_t gates, int64_t hidden);

/// Pack W into [ceil(hidden / units)][hidden][gates][units]: all weights that a block of units
/// reads in a step are contiguous, for all gates. Units past the last are zero. A block is a
/// vector, or `kRnnBlockVecs` of them in a layer of one gate.
/// Shapes: W [hidden, gates * hidden], row-major: 3 gates for a GRU, 4 for an LSTM, 1 for a plain
/// layer.
/// Types: f32; `packed` is aligned to 64 bytes.
/// Real-time: yes.
void rnn_f32_pack(const RnnKernel& kernel, int64_t gates, int64_t hidden, const float* w,
                  float* packed) noexcept RILL_NONBLOCKING;

/// The weights of a small layer: rows by input or unit, columns by gate and unit.
struct SmallRnnWeights {
  const float* bias;   // [gates, hidden]
  const float* input;  // [inputs, gates, hidden]
  const float* state;  // [hidden, gates, hidden]
  const float* b_hn;   // [hidden], or null
};

/// Return how many floats `small_rnn_f32_pack` writes: whole vectors of units.
int64_t small_rnn_f32_packed_floats(const RnnKernel& kernel, int64_t gates, int64_t inputs,
                                    int64_t hidden);

/// Pack the weights of a small layer into [ceil(hidden / lanes)][rows][lanes]: for each vector
/// b_hn, then per gate the bias, the filters of the input and those of the state.
/// Types: f32; `packed` is aligned to 64 bytes. Real-time: yes.
void small_rnn_f32_pack(const RnnKernel& kernel, int64_t gates, int64_t inputs, int64_t hidden,
                        const SmallRnnWeights& weights, float* packed) noexcept RILL_NONBLOCKING;

/// Return how many bytes `rnn_few_bits_pack` writes for a block of units: a panel of all gates.
int64_t rnn_few_bits_block_bytes(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                                 int64_t hidden);
/// The same for all blocks.
int64_t rnn_few_bits_bytes(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                           int64_t hidden);

/// Round a W that `rnn_f32_pack` packed to reduced precision, by `packed_column` or `int8_column`.
/// Real-time: yes.
void rnn_few_bits_pack(const RnnKernel& kernel, const MatmulPacked& how, int64_t gates,
                       int64_t hidden, const float* packed,
                       std::byte* few) noexcept RILL_NONBLOCKING;

/// Return the functions that read a reduced-precision W in the format of `how`; the caller sets W
/// and its memory. For kInt8, the tier of `how` must be that of the loops.
RnnFewBits rnn_few_bits(const RnnKernel& kernel, const MatmulPacked& how) noexcept RILL_NONBLOCKING;

/// Return the floats of memory for a layer with a reduced-precision W: the weights that it unpacks
/// at once, or the states of a lane as bytes.
int64_t rnn_few_bits_wide_floats(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                                 int64_t hidden);

}  // namespace rill::kernels
