// f32 matmuls of every tier, as GFLOP/s and as a share of the peak of multiply-adds that this
// program measures first on one core, next to Eigen and, if it is installed, oneDNN.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/matmul/eigen_bench.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reach/machine.h"
#ifdef RILL_WITH_ONEDNN
#include "kernels/matmul/onednn_bench.h"
#endif

namespace rill::kernels {
namespace {

struct Shape {
  int64_t m, k, n;
};

constexpr Shape kShapes[] = {{512, 512, 512}, {256, 256, 256}, {1, 96, 288}, {1, 1024, 1024},
                             {4, 320, 128},   {8, 320, 128},   {4, 64, 64},  {8, 96, 96},
                             {16, 64, 192},   {4, 24, 8},      {4, 32, 16},  {1, 64, 32},
                             {100, 96, 33},   {197, 768, 768},
                             {64, 256, 1024}, {256, 64, 64}, {1000, 64, 64}, {1024, 1024, 1024}};

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

#ifdef RILL_WITH_ONEDNN
void run_onednn(benchmark::State& state, OnednnMatmul::Type type, Shape s, double peak) {
  Operands o(s, 0);
  OnednnMatmul product(type, s.m, s.k, s.n, o.a.data(), o.b.data(), o.c.data());
  for (auto _ : state) {
    product.run();
    benchmark::ClobberMemory();
  }
  state.SetLabel(product.name());
  report(state, s, peak);
}
#endif

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
#ifdef RILL_WITH_ONEDNN
        benchmark::RegisterBenchmark(("onednn" + shape).c_str(), [=](auto& state) {
          run_onednn(state, OnednnMatmul::Type::kF32, s, peak);
        });
        benchmark::RegisterBenchmark(("onednn_bf16" + shape).c_str(), [=](auto& state) {
          run_onednn(state, OnednnMatmul::Type::kBf16, s, peak);
        });
#endif
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
