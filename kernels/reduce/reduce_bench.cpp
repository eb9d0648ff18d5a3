#include "kernels/reduce/reduce.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rill::kernels {
namespace {

/// Sum the middle axis of a dense [outer, reduced, inner].
void sum(benchmark::State& state) {
  ReduceF32Args a;
  a.outer = state.range(0);
  a.reduced = state.range(1);
  a.inner = state.range(2);
  std::vector<float> x(static_cast<size_t>(a.outer * a.reduced * a.inner), 0.5f);
  std::vector<float> y(static_cast<size_t>(a.outer * a.inner));
  a.x = x.data();
  a.x_outer = a.reduced * a.inner;
  a.x_reduced = a.inner;
  a.x_inner = 1;
  a.y = y.data();
  a.y_outer = a.inner;
  a.y_inner = 1;
  const ReduceF32Fn run = reduce_f32();
  for (auto _ : state) {
    run(a);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(sum)
    ->ArgNames({"outer", "reduced", "inner"})
    ->Args({8, 64, 1})
    ->Args({1, 4096, 1})
    ->Args({1, 100, 64})
    ->Args({64, 8, 12});

}  // namespace
}  // namespace rill::kernels

BENCHMARK_MAIN();
