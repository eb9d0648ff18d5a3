#include "kernels/rnn/rnn.h"

#include <cstring>

#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/simd/chains.h"
#include "kernels/int8/sparse.h"
#include "kernels/rnn/few_bits_row.h"
#include "kernels/rnn/rnn_gates.h"

namespace rill::kernels {
namespace {

using One = math::ScalarLane;

/// The products h W of the gates of a unit.
template <int kGates>
struct UnitSums {
  float gate[kGates] = {};
};

/// Compute the products of a unit's gates with an int8 W.
[[gnu::noinline]] void int8_unit_sums(const RnnFewBits& few, const FewBitsRow& row, int64_t unit,
                                      int gates, float* sums) RILL_NONBLOCKING {
  for (int gate = 0; gate < gates; ++gate) {
    const FewBitsVector column{few.w + unit * few.block_bytes, gate};
    few.sums(row, &column, 1, sums + gate);
  }
}

/// Return the products of a unit's gates. `row`: the states of the lane.
template <int kGates>
UnitSums<kGates> unit_sums(const RnnF32Args& a, const FewBitsRow& row, int64_t unit) {
  const RnnFewBits& few = a.few_bits;
  if (few.quantise != nullptr) {
    UnitSums<kGates> sums;
    int8_unit_sums(few, row, unit, kGates, sums.gate);
    return sums;
  }
  const bool wide = few.upcast != nullptr;
  const float* w = wide ? a.few_bits.wide : a.w + unit * a.hidden * kGates;
  UnitSums<kGates> sums;
  add_chains<kGates>(a.hidden, row.h, w, sums.gate);
  return sums;
}

/// Unpack all gates of a unit's W if it has reduced precision.
void place_unit(const RnnF32Args& a, int64_t gates, int64_t unit) {
  const RnnFewBits& few = a.few_bits;
  if (few.upcast == nullptr) return;
  few.upcast(few.w + unit * few.block_bytes, a.hidden, gates, few.wide);
}

/// Run all steps: `f(lane, row, i, x)` returns the next state of unit i of a lane, given the states
/// of the lane as a row and the offset of its projections. Lanes share each unpacked unit; with an
/// int8 W, they run one after another.
template <class F>
void over_steps(const RnnF32Args& a, int64_t gates, F f) {
  const int64_t together = a.few_bits.quantise != nullptr ? 1 : a.lanes;
  for (int64_t step = 0; step < a.steps; ++step) {
    for (int64_t first = 0; first < a.lanes; first += together) {
      const FewBitsRow row = few_bits_row(a.few_bits, a.lane[first].h[0], a.hidden, gates);
      for (int64_t i = 0; i < a.hidden; ++i) {
        place_unit(a, gates, i);
        for (int64_t lane = first; lane < first + together; ++lane) {
          const RnnLane& own = a.lane[lane];
          FewBitsRow states = row;
          states.h = own.h[0];
          own.h[1][i] = f(own, states, i, step * a.x_stride + i);
        }
      }
    }
    for (int64_t lane = 0; lane < a.lanes; ++lane) {
      const RnnLane& own = a.lane[lane];
      for (int64_t i = 0; i < a.hidden; ++i) {
        own.h[0][i] = own.h[1][i];
        if (own.y != nullptr) own.y[step * a.y_stride + i] = own.h[1][i];
      }
    }
  }
}

// One list per loop, so that a program links only the loops that it runs.
#define RILL_KERNEL(needs, suffix, lanes) \
  {{"gru_f32_" #suffix, Tier::needs, lanes}, gru_f32_##suffix},
constexpr GruF32 kGrus[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix, lanes) \
  {{"lstm_f32_" #suffix, Tier::needs, lanes}, lstm_f32_##suffix},
constexpr LstmF32 kLstms[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix, lanes) \
  {{"rnn_f32_" #suffix, Tier::needs, lanes}, rnn_f32_##suffix},
constexpr RnnF32 kRnns[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix, lanes) \
  {{"small_gru_f32_" #suffix, Tier::needs, lanes}, small_gru_f32_##suffix},
constexpr SmallGruF32 kSmallGrus[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

#define RILL_KERNEL(needs, suffix, lanes) \
  {{"small_lstm_f32_" #suffix, Tier::needs, lanes}, small_lstm_f32_##suffix},
constexpr SmallLstmF32 kSmallLstms[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

/// Run all steps of a small layer: `f(lane, unit, x, h, b_hn)` returns the next state of a unit
/// of a lane from the products of its gates with the input and the states.
template <int kGates, class F>
void small_steps(const SmallRnnF32Args& a, F f) {
  for (int64_t lane = 0; lane < a.lanes; ++lane) {
    const RnnLane& own = a.lane[lane];
    float* const h = own.h[0];
    for (int64_t step = 0; step < a.steps; ++step) {
      const float* const x = own.x[0] + step * a.x_stride;
      float next[kSmallRnnUnits];
      const float* w = a.w;
      for (int64_t i = 0; i < a.hidden; ++i) {
        const float b_hn = *w++;
        float from_x[kGates];
        float from_h[kGates] = {};
        for (int gate = 0; gate < kGates; ++gate) from_x[gate] = *w++;
        add_chains<kGates>(a.inputs, x, w, from_x);
        w += a.inputs * kGates;
        add_chains<kGates>(a.hidden, h, w, from_h);
        w += a.hidden * kGates;
        next[i] = f(own, i, from_x, from_h, b_hn);
      }
      for (int64_t i = 0; i < a.hidden; ++i) h[i] = next[i];
      if (own.y == nullptr) continue;
      for (int64_t i = 0; i < a.hidden; ++i) own.y[step * a.y_stride + i] = next[i];
    }
  }
}

}  // namespace

// Never called: scalar loops unpack W.
void f16_sums_scalar(const FewBitsRow&, const FewBitsVector*, int, float*) noexcept {
  __builtin_trap();
}
void q8_sums_scalar(const FewBitsRow&, const FewBitsVector*, int, float*) noexcept {
  __builtin_trap();
}

void small_gru_f32_scalar(const SmallRnnF32Args& a) noexcept {
  small_steps<3>(a, [&](const RnnLane& lane, int64_t unit, const float* x, const float* h,
                        float b_hn) {
    const GruSums<One> sums{h[0], h[1], a.has_bias ? h[2] + b_hn : h[2]};
    return gru_step<One>(x[0], x[1], x[2], sums, lane.h[0][unit]).v;
  });
}

void small_lstm_f32_scalar(const SmallRnnF32Args& a) noexcept {
  small_steps<4>(a, [&](const RnnLane& lane, int64_t unit, const float* x, const float* h, float) {
    const LstmStates<One> next =
        lstm_step<One>(x[0] + h[0], x[1] + h[1], x[2] + h[2], x[3] + h[3], lane.c[unit]);
    lane.c[unit] = next.c.v;
    return next.h.v;
  });
}

void gru_f32_scalar(const RnnF32Args& a) noexcept {
  over_steps(a, 3, [&](const RnnLane& lane, const FewBitsRow& row, int64_t i, int64_t x) {
    const auto [gate] = unit_sums<3>(a, row, i);
    const float n = a.b_hn == nullptr ? gate[2] : gate[2] + a.b_hn[i];
    const GruSums<One> sums{gate[0], gate[1], n};
    return gru_step<One>(lane.x[0][x], lane.x[1][x], lane.x[2][x], sums, lane.h[0][i]).v;
  });
}

void lstm_f32_scalar(const RnnF32Args& a) noexcept {
  over_steps(a, 4, [&](const RnnLane& lane, const FewBitsRow& row, int64_t i, int64_t x) {
    const auto [sum] = unit_sums<4>(a, row, i);
    const LstmStates<One> next = lstm_step<One>(lane.x[0][x] + sum[0], lane.x[1][x] + sum[1],
                                                lane.x[2][x] + sum[2], lane.x[3][x] + sum[3],
                                                lane.c[i]);
    lane.c[i] = next.c.v;
    return next.h.v;
  });
}

void rnn_f32_scalar(const RnnF32Args& a) noexcept {
  const bool relu = a.activation == RnnActivation::kRelu;
  over_steps(a, 1, [&](const RnnLane& lane, const FewBitsRow& row, int64_t i, int64_t x) {
    return rnn_step<One>(lane.x[0][x] + unit_sums<1>(a, row, i).gate[0], relu).v;
  });
}

KernelList<GruF32> kernels_like(const GruF32*) { return kGrus; }
KernelList<LstmF32> kernels_like(const LstmF32*) { return kLstms; }
KernelList<RnnF32> kernels_like(const RnnF32*) { return kRnns; }
KernelList<SmallGruF32> kernels_like(const SmallGruF32*) { return kSmallGrus; }
KernelList<SmallLstmF32> kernels_like(const SmallLstmF32*) { return kSmallLstms; }

const GruF32& gru_f32(Tier cpu) { return KernelList<GruF32>(kGrus).best(cpu); }
const LstmF32& lstm_f32(Tier cpu) { return KernelList<LstmF32>(kLstms).best(cpu); }
const RnnF32& rnn_f32(Tier cpu) { return KernelList<RnnF32>(kRnns).best(cpu); }

namespace {

Tier tier_of_units(Tier cpu, int64_t hidden) {
  return cpu == Tier::kAvx512 && hidden <= 8 ? Tier::kAvx2 : cpu;
}

/// Return the number of units in a block of the packed W.
int64_t units_of(const RnnKernel& kernel, int64_t gates) {
  return gates == 1 && kernel.lanes > 1 ? kRnnBlockVecs * kernel.lanes : kernel.lanes;
}

}  // namespace

const SmallGruF32& small_gru_f32(Tier cpu, int64_t hidden) {
  return KernelList<SmallGruF32>(kSmallGrus).best(tier_of_units(cpu, hidden));
}

const SmallLstmF32& small_lstm_f32(Tier cpu, int64_t hidden) {
  return KernelList<SmallLstmF32>(kSmallLstms).best(tier_of_units(cpu, hidden));
}

int64_t small_rnn_f32_packed_floats(const RnnKernel& kernel, int64_t gates, int64_t inputs,
                                    int64_t hidden) {
  const int64_t blocks = (hidden + kernel.lanes - 1) / kernel.lanes;
  return blocks * kernel.lanes * (1 + gates * (1 + inputs + hidden));
}

void small_rnn_f32_pack(const RnnKernel& kernel, int64_t gates, int64_t inputs, int64_t hidden,
                        const SmallRnnWeights& weights, float* packed) noexcept {
  for (int64_t first = 0; first < hidden; first += kernel.lanes) {
    const auto pack_rows = [&](const float* rows, int64_t count) {
      for (int64_t row = 0; row < count; ++row) {
        for (int64_t unit = first; unit < first + kernel.lanes; ++unit) {
          *packed++ = unit < hidden && rows != nullptr ? rows[row * hidden + unit] : 0.0f;
        }
      }
    };
    pack_rows(weights.b_hn, 1);
    pack_rows(weights.bias, gates);
    pack_rows(weights.input, gates * inputs);
    pack_rows(weights.state, gates * hidden);
  }
}

int64_t rnn_f32_packed_floats(const RnnKernel& kernel, int64_t gates, int64_t hidden) {
  const int64_t units = units_of(kernel, gates);
  return (hidden + units - 1) / units * units * gates * hidden;
}

void rnn_f32_pack(const RnnKernel& kernel, int64_t gates, int64_t hidden, const float* w,
                  float* packed) noexcept {
  const int64_t units = units_of(kernel, gates);
  for (int64_t first = 0; first < hidden; first += units) {
    for (int64_t k = 0; k < hidden; ++k) {
      for (int64_t gate = 0; gate < gates; ++gate) {
        const float* row = w + (k * gates + gate) * hidden;
        for (int64_t unit = first; unit < first + units; ++unit) {
          *packed++ = unit < hidden ? row[unit] : 0.0f;
        }
      }
    }
  }
}

int64_t rnn_few_bits_block_bytes(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                                 int64_t hidden) {
  return packed_panel_bytes(format, hidden, gates * units_of(kernel, gates));
}

int64_t rnn_few_bits_bytes(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                           int64_t hidden) {
  const int64_t units = units_of(kernel, gates);
  return (hidden + units - 1) / units * rnn_few_bits_block_bytes(kernel, format, gates, hidden);
}

void rnn_few_bits_pack(const RnnKernel& kernel, const MatmulPacked& how, int64_t gates,
                       int64_t hidden, const float* packed, std::byte* few) noexcept {
  const PackedFormat format = how.format;
  const int64_t units = units_of(kernel, gates), columns = gates * units;
  std::memset(few, 0, static_cast<size_t>(rnn_few_bits_bytes(kernel, format, gates, hidden)));
  SparseBlocks blocks;
  for (int64_t first = 0; format == PackedFormat::kInt8 && first < hidden; first += units) {
    count_sparse_panel(how, hidden, columns, {packed + first * gates * hidden, columns, 1, columns},
                       &blocks);
  }
  const bool sparse = format == PackedFormat::kInt8 && blocks.pay();
  for (int64_t first = 0; first < hidden; first += units, packed += hidden * columns) {
    if (sparse) pack_sparse_panel(how, hidden, columns, {packed, columns, 1, columns}, few);
    // A dense panel is packed column by column.
    for (int64_t column = 0; !sparse && column < columns; ++column) {
      if (format == PackedFormat::kInt8) {
        int8_column(how, hidden, columns, column, packed + column, columns, few);
      } else {
        packed_column(format, hidden, columns, column, packed + column, columns, few);
      }
    }
    few += rnn_few_bits_block_bytes(kernel, format, gates, hidden);
  }
}

namespace {

struct FewBitsKernel {
  Tier tier;
  FewBitsSums f16, q8;
};

// Separate from the recurrent loops, so that programs without a reduced-precision W do not link
// them.
#define RILL_KERNEL(needs, suffix, lanes) {Tier::needs, f16_sums_##suffix, q8_sums_##suffix},
constexpr FewBitsKernel kFewBits[] = {
#include "kernels/rnn/kernels.inc"
};
#undef RILL_KERNEL

FewBitsSums few_bits_sums(const RnnKernel& kernel, PackedFormat format) RILL_NONBLOCKING {
  for (const FewBitsKernel& each : kFewBits) {
    if (each.tier != kernel.tier || kernel.lanes == 1) continue;
    if (format == PackedFormat::kF16) return each.f16;
    if (format == PackedFormat::kQ8) return each.q8;
  }
  return nullptr;
}

}  // namespace

RnnFewBits rnn_few_bits(const RnnKernel& kernel, const MatmulPacked& how) noexcept {
  RnnFewBits few;
  few.upcast = how.upcast;
  few.quantise = how.quantise;
  few.sums = how.quantise != nullptr ? how.sums : few_bits_sums(kernel, how.format);
  return few;
}

int64_t rnn_few_bits_wide_floats(const RnnKernel& kernel, PackedFormat format, int64_t gates,
                                 int64_t hidden) {
  if (format == PackedFormat::kInt8) return int8_padded(hidden) / 2;
  return hidden * (kernel.lanes == 1 ? gates : kRnnTileVecs * kernel.lanes);
}

}  // namespace rill::kernels
