#include "kernels/rnn/rnn.h"

#include "kernels/matmul/matmul_args.h"
#include "kernels/rnn/rnn_gates.h"

namespace rill::kernels {
namespace {

using One = math::ScalarLane;

constexpr int64_t kWidestVector = 16;

/// Write all gates of h W to scratch.
void recurrent_product(int64_t hidden, int64_t gates, const float* h, const float* w,
                       float* scratch) {
  MatmulF32Args g;
  g.m = 1;
  g.n = gates * hidden;
  g.segment_len = hidden;
  g.a = h;
  g.b = w;
  g.c = scratch;
  matmul_f32_scalar(g);
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
    recurrent_product(a.hidden, 3, a.h, a.w, a.scratch);
    const int64_t x = step * a.x_stride;
    for (int64_t i = 0; i < a.hidden; ++i) {
      float n = a.scratch[2 * a.hidden + i];
      if (a.b_hn != nullptr) n = n + a.b_hn[i];
      const GruSums<One> sums{a.scratch[i], a.scratch[a.hidden + i], n};
      a.h[i] = gru_step<One>(a.x_r[x + i], a.x_z[x + i], a.x_n[x + i], sums, a.h[i]).v;
      if (a.y != nullptr) a.y[step * a.y_stride + i] = a.h[i];
    }
  }
}

void lstm_f32_scalar(const LstmF32Args& a) noexcept {
  for (int64_t step = 0; step < a.steps; ++step) {
    recurrent_product(a.hidden, 4, a.h, a.w, a.scratch);
    const int64_t x = step * a.x_stride;
    for (int64_t u = 0; u < a.hidden; ++u) {
      const float* s = a.scratch + u;
      const LstmStates<One> next =
          lstm_step<One>(a.x_i[x + u] + s[0], a.x_f[x + u] + s[a.hidden],
                         a.x_g[x + u] + s[2 * a.hidden], a.x_o[x + u] + s[3 * a.hidden], a.c[u]);
      a.c[u] = next.c.v;
      a.h[u] = next.h.v;
      if (a.y != nullptr) a.y[step * a.y_stride + u] = a.h[u];
    }
  }
}

void rnn_f32_scalar(const RnnF32Args& a) noexcept {
  for (int64_t step = 0; step < a.steps; ++step) {
    recurrent_product(a.hidden, 1, a.h, a.w, a.scratch);
    const float* x = a.x + step * a.x_stride;
    for (int64_t i = 0; i < a.hidden; ++i) {
      a.h[i] = rnn_step<One>(x[i] + a.scratch[i], a.activation == RnnActivation::kRelu).v;
      if (a.y != nullptr) a.y[step * a.y_stride + i] = a.h[i];
    }
  }
}

const RnnF32& rnn_f32(Tier cpu) {
  for (const RnnF32& kernel : kKernels) {
    if (supports(cpu, kernel.tier)) return kernel;
  }
  return kKernels[sizeof kKernels / sizeof kKernels[0] - 1];
}

int64_t rnn_scratch_floats(int64_t gates, int64_t hidden) { return gates * hidden + kWidestVector; }

}  // namespace rill::kernels
