#include "kernels/rnn/rnn.h"

#include "kernels/matmul/matmul_args.h"
#include "kernels/rnn/rnn_gates.h"

namespace rill::kernels {
namespace {

using One = math::ScalarLane;

constexpr int64_t kWidestVector = 16;

/// Write all gates of h W to scratch, a row per lane.
template <class Args>
void recurrent_product(const Args& a, int64_t gates) {
  MatmulF32Args g;
  g.m = a.lanes;
  g.n = g.ldc = gates * a.hidden;
  g.segment_len = g.lda = a.hidden;
  g.a = a.h;
  g.b = a.w;
  g.c = a.scratch;
  matmul_f32_scalar(g);
}

/// Call `f(unit, x, y)` with the place of every unit: in states, in projections, and in the output.
template <class Args, class F>
void over_units(const Args& a, int64_t step, F f) {
  for (int64_t lane = 0; lane < a.lanes; ++lane) {
    const int64_t x = step * a.x_stride + lane * a.x_lane;
    const int64_t y = step * a.y_stride + lane * a.y_lane;
    for (int64_t i = 0; i < a.hidden; ++i) f(lane, i, x + i, y + i);
  }
}

constexpr RnnF32 kKernels[] = {
#define RILL_RNN_F32(tier, suffix) \
  {"rnn_f32_" #suffix, tier, gru_f32_##suffix, lstm_f32_##suffix, rnn_f32_##suffix},
#include "kernels/rnn/kernels.inc"
#undef RILL_RNN_F32
};

}  // namespace

void gru_f32_scalar(const GruF32Args& a) noexcept {
  for (int64_t step = 0; step < a.steps; ++step) {
    recurrent_product(a, 3);
    over_units(a, step, [&](int64_t lane, int64_t i, int64_t x, int64_t y) {
      const float* s = a.scratch + lane * 3 * a.hidden + i;
      float* h = a.h + lane * a.hidden + i;
      float n = s[2 * a.hidden];
      if (a.b_hn != nullptr) n = n + a.b_hn[i];
      const GruSums<One> sums{s[0], s[a.hidden], n};
      *h = gru_step<One>(a.x_r[x], a.x_z[x], a.x_n[x], sums, *h).v;
      if (a.y != nullptr) a.y[y] = *h;
    });
  }
}

void lstm_f32_scalar(const LstmF32Args& a) noexcept {
  for (int64_t step = 0; step < a.steps; ++step) {
    recurrent_product(a, 4);
    over_units(a, step, [&](int64_t lane, int64_t i, int64_t x, int64_t y) {
      const float* s = a.scratch + lane * 4 * a.hidden + i;
      const int64_t unit = lane * a.hidden + i;
      const LstmStates<One> next =
          lstm_step<One>(a.x_i[x] + s[0], a.x_f[x] + s[a.hidden], a.x_g[x] + s[2 * a.hidden],
                         a.x_o[x] + s[3 * a.hidden], a.c[unit]);
      a.c[unit] = next.c.v;
      a.h[unit] = next.h.v;
      if (a.y != nullptr) a.y[y] = next.h.v;
    });
  }
}

void rnn_f32_scalar(const RnnF32Args& a) noexcept {
  const bool relu = a.activation == RnnActivation::kRelu;
  for (int64_t step = 0; step < a.steps; ++step) {
    recurrent_product(a, 1);
    over_units(a, step, [&](int64_t lane, int64_t i, int64_t x, int64_t y) {
      const int64_t unit = lane * a.hidden + i;
      a.h[unit] = rnn_step<One>(a.x[x] + a.scratch[unit], relu).v;
      if (a.y != nullptr) a.y[y] = a.h[unit];
    });
  }
}

const RnnF32& rnn_f32(Tier cpu) {
  for (const RnnF32& kernel : kKernels) {
    if (supports(cpu, kernel.tier)) return kernel;
  }
  return kKernels[sizeof kKernels / sizeof kKernels[0] - 1];
}

int64_t rnn_scratch_floats(int64_t gates, int64_t hidden, int64_t lanes) {
  return lanes * gates * hidden + kWidestVector;
}

}  // namespace rill::kernels
