#include "kernels/softmax/softmax.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rill::kernels {
namespace {

void softmax(benchmark::State& state) {
  const int64_t rows = state.range(0), n = state.range(1);
  std::vector<float> x(static_cast<size_t>(rows * n), 0.5f), y = x;
  const SoftmaxF32Args args{rows, n, x.data(), n, y.data(), n, state.range(2) != 0};
  const SoftmaxF32Fn run = softmax_f32();
  for (auto _ : state) {
    run(args);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(softmax)
    ->ArgNames({"rows", "n", "log"})
    ->Args({4, 12, 0})
    ->Args({4, 12, 1})
    ->Args({8, 64, 0})
    ->Args({64, 64, 0})
    ->Args({1, 4096, 1});

}  // namespace
}  // namespace rill::kernels

BENCHMARK_MAIN();
