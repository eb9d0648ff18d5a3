// f32 matrix products of every tier, as GFLOP/s and as a share of the peak of multiply-adds that
// this program measures first on one core, beside Eigen.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/matmul/eigen_bench.h"
#include "kernels/matmul/matmul.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rill::kernels {
namespace {

constexpr int kLinks = 2000;  // per chain and call
constexpr int kChains = 12;   // enough to hide the latency, few enough for 16 registers

/// Run kChains independent chains of kLinks multiply-adds; returns something that depends on all.
float scalar_chains(float x, float y) {
  float acc[kChains];
  for (int c = 0; c < kChains; ++c) acc[c] = x + float(c);
  for (int i = 0; i < kLinks; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = __builtin_fmaf(acc[c], x, y);
  }
  return acc[0] + acc[kChains - 1];
}

#if defined(__x86_64__)
#define RILL_CHAINS(name, isa, Vector, set1, madd, first)                                       \
  __attribute__((target(isa))) float name(float x, float y) {                                   \
    const Vector vx = set1(x), vy = set1(y);                                                    \
    Vector acc[kChains];                                                                        \
    for (int c = 0; c < kChains; ++c) acc[c] = set1(x + float(c));                              \
    for (int i = 0; i < kLinks; ++i) {                                                          \
      _Pragma("GCC unroll 12") for (int c = 0; c < kChains; ++c) acc[c] = madd(acc[c], vx, vy); \
    }                                                                                           \
    float sum = 0.0f;                                                                           \
    for (int c = 0; c < kChains; ++c) sum += first(acc[c]);                                     \
    return sum;                                                                                 \
  }
#define RILL_MUL_ADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
RILL_CHAINS(sse42_chains, "sse4.2", __m128, _mm_set1_ps, RILL_MUL_ADD, _mm_cvtss_f32)
RILL_CHAINS(avx2_chains, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32)
RILL_CHAINS(avx512_chains, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32)
#undef RILL_CHAINS
#undef RILL_MUL_ADD
#endif

struct Peak {
  float (*run)(float, float);
  int lanes;
};

Peak peak_of(Tier tier) {
#if defined(__x86_64__)
  if (tier == Tier::kAvx512) return {avx512_chains, 16};
  if (tier == Tier::kAvx2) return {avx2_chains, 8};
  if (tier == Tier::kSse42) return {sse42_chains, 4};
#endif
  return {scalar_chains, tier == Tier::kNeon ? 4 : 1};
}

/// Measure the peak of a tier, the best of many short runs. NEON's is taken as 4 times the scalar.
double peak_gflops(Tier tier) {
  const Peak peak = peak_of(tier);
  double best_s = 1e9;
  for (int i = 0; i < 300; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    float sum = peak.run(0.999f, 0.001f);
    const auto end = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(sum);
    best_s = std::min(best_s, std::chrono::duration<double>(end - begin).count());
  }
  return 2.0 * kLinks * kChains * peak.lanes / best_s * 1e-9;
}

struct Shape {
  int64_t m, k, n;
};

constexpr Shape kShapes[] = {{512, 512, 512}, {256, 256, 256}, {1, 96, 288}, {1, 1024, 1024},
                             {4, 320, 128},   {8, 320, 128},   {4, 64, 64},  {8, 96, 96},
                             {16, 64, 192},   {4, 24, 8},      {4, 32, 16},  {1, 64, 32},
                             {100, 96, 33},   {197, 768, 768}};

std::string name_of(Shape s) {
  char text[64];
  std::snprintf(text, sizeof text, "/%dx%dx%d", int(s.m), int(s.k), int(s.n));
  return text;
}

struct Operands {
  explicit Operands(Shape s, int64_t packed)
      : a(size_t(s.m * s.k), 0.5f),
        b(size_t(s.k * s.n), 0.25f),
        c(size_t(s.m * s.n)),
        panels(size_t(packed) + 16) {}
  float* packed() {
    return panels.data() + (64 - reinterpret_cast<uintptr_t>(panels.data()) % 64) % 64 / 4;
  }
  std::vector<float> a, b, c, panels;
};

void report(benchmark::State& state, Shape s, double peak) {
  const double flops = 2.0 * double(s.m * s.k * s.n) * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
  state.counters["%peak"] = benchmark::Counter(flops * 1e-7 / peak, benchmark::Counter::kIsRate);
}

void run_rill(benchmark::State& state, const MatmulF32& kernel, Shape s, double peak) {
  Operands o(s, matmul_f32_packed_floats(kernel, s.k, s.n));
  matmul_f32_pack(kernel, s.k, s.n, o.b.data(), s.n, 1, o.packed());
  MatmulF32Args g;
  g.m = s.m;
  g.n = s.n;
  g.segment_len = g.lda = s.k;
  g.a = o.a.data();
  g.b = o.packed();
  g.c = o.c.data();
  g.ldc = s.n;
  for (auto _ : state) {
    kernel.run(g);
    benchmark::ClobberMemory();
  }
  report(state, s, peak);
}

void run_eigen(benchmark::State& state, Shape s, double peak) {
  Operands o(s, 0);
  for (auto _ : state) {
    eigen_matmul(s.m, s.k, s.n, o.a.data(), o.b.data(), o.c.data());
    benchmark::ClobberMemory();
  }
  report(state, s, peak);
}

void run_pack(benchmark::State& state, const MatmulF32& kernel, bool transposed) {
  const Shape s{1, 512, 512};
  Operands o(s, matmul_f32_packed_floats(kernel, s.k, s.n));
  const int64_t k_stride = transposed ? 1 : s.n, n_stride = transposed ? s.k : 1;
  for (auto _ : state) {
    matmul_f32_pack(kernel, s.k, s.n, o.b.data(), k_stride, n_stride, o.packed());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * s.k * s.n * 4);
}

void register_all() {
  for (Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42, Tier::kScalar}) {
    if (!supports(detected_tier(), tier)) continue;
    const MatmulF32& kernel = matmul_f32(tier);
    const double peak = peak_gflops(tier);
    benchmark::AddCustomContext(std::string("peak GFLOP/s, ") + tier_name(tier),
                                std::to_string(peak));
    for (const Shape s : kShapes) {
      const std::string shape = name_of(s);
      benchmark::RegisterBenchmark((kernel.name + shape).c_str(),
                                   [=, &kernel](auto& state) { run_rill(state, kernel, s, peak); });
      if (tier == detected_tier()) {
        benchmark::RegisterBenchmark(("eigen" + shape).c_str(),
                                     [=](auto& state) { run_eigen(state, s, peak); });
      }
    }
    for (const bool transposed : {false, true}) {
      const std::string name = std::string("pack/") + tier_name(tier) + (transposed ? "/t" : "/n");
      benchmark::RegisterBenchmark(
          name.c_str(), [=, &kernel](auto& state) { run_pack(state, kernel, transposed); });
    }
  }
}

}  // namespace
}  // namespace rill::kernels

int main(int argc, char** argv) {
  rill::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
