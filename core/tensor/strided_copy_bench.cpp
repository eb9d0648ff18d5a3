#include "core/tensor/strided_copy.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rill {
namespace {

void transpose_f32(benchmark::State& state) {
  const int64_t rows = state.range(0), columns = state.range(1);
  std::vector<float> x(static_cast<size_t>(rows * columns), 1.0f), y = x;
  const int64_t extent[] = {columns, rows}, from[] = {1, columns}, to[] = {rows, 1};
  for (auto _ : state) {
    copy_strided(4, 2, extent, x.data(), from, y.data(), to);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * columns * 8);
}
BENCHMARK(transpose_f32)->Args({8, 64})->Args({64, 64})->Args({512, 512});

void rows_f32(benchmark::State& state) {
  const int64_t rows = state.range(0), columns = state.range(1);
  std::vector<float> x(static_cast<size_t>(rows * columns * 2), 1.0f), y = x;
  const int64_t extent[] = {rows, columns}, from[] = {2 * columns, 1}, to[] = {columns, 1};
  for (auto _ : state) {
    copy_strided(4, 2, extent, x.data(), from, y.data(), to);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * columns * 8);
}
BENCHMARK(rows_f32)->Args({1, 16})->Args({8, 64})->Args({64, 256});

}  // namespace
}  // namespace rill

BENCHMARK_MAIN();
