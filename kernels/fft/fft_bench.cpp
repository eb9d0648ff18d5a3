#include "kernels/fft/fft.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rill::kernels {
namespace {

void complex_fft(benchmark::State& state) {
  const int64_t n = state.range(0);
  std::vector<float> tables(fft_tables_floats(n, FftKind::kComplex));
  FftPlan plan;
  fft_init(&plan, n, FftKind::kComplex, tables.data());
  std::vector<float> scratch(fft_scratch_floats(plan)), re(static_cast<size_t>(n), 1.0f);
  std::vector<float> im = re, yr = re, yi = re;
  for (auto _ : state) {
    fft_execute(plan, re.data(), im.data(), yr.data(), yi.data(), false, scratch.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(complex_fft)->Arg(64)->Arg(256)->Arg(400)->Arg(512)->Arg(1009)->Arg(1024);

void real_fft(benchmark::State& state) {
  const int64_t n = state.range(0), bins = n / 2 + 1;
  std::vector<float> tables(fft_tables_floats(n, FftKind::kReal));
  FftPlan plan;
  fft_init(&plan, n, FftKind::kReal, tables.data());
  std::vector<float> scratch(fft_scratch_floats(plan)), x(static_cast<size_t>(n), 1.0f);
  std::vector<float> window = x, yr(static_cast<size_t>(bins)), yi = yr;
  for (auto _ : state) {
    rfft_execute(plan, x.data(), window.data(), yr.data(), yi.data(), bins, scratch.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(real_fft)->Arg(160)->Arg(256)->Arg(400)->Arg(512)->Arg(1024);

}  // namespace
}  // namespace rill::kernels

BENCHMARK_MAIN();
