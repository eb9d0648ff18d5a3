// Matmuls with weights of 32, 16, 8 and 4 bits and int8 GEMM, alternating: GB/s of weights read,
// next to the rate at which this program reads memory on one core.

#include <benchmark/benchmark.h>

#include <iterator>
#include <string>
#include <vector>

#include "kernels/int8/int8.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/reach/machine.h"

namespace rill::kernels {
namespace {

struct Shape {
  int64_t m, k, n;
};

constexpr Shape kShapes[] = {{1, 96, 288},      {1, 4096, 4096},  {4, 4096, 4096},
                             {1, 16384, 16384}, {8, 4096, 4096}, {64, 1024, 1024},
                             {64, 4096, 4096},  {512, 512, 512}};

/// Weights of matmuls with few rows: each is measured with every number of rows below.
constexpr int64_t kWeights[][2] = {
    {256, 256}, {1024, 1024}, {1024, 4096}, {1024, 4112}, {4112, 1024}};
constexpr int64_t kRows[] = {1, 2, 4, 8, 14, 16, 32, 64};

std::vector<Shape> all_shapes() {
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  for (const auto& [k, n] : kWeights) {
    for (const int64_t m : kRows) shapes.push_back({m, k, n});
  }
  return shapes;
}

std::byte* aligned(std::vector<std::byte>* bytes) {
  return bytes->data() + (64 - reinterpret_cast<uintptr_t>(bytes->data()) % 64) % 64;
}

template <class Run>
void measure(benchmark::State& state, Shape s, int64_t bytes, Run run) {
  std::vector<float> a(size_t(s.m * s.k), 0.5f), c(size_t(s.m * s.n));
  MatmulF32Args g;
  g.m = s.m;
  g.n = s.n;
  g.segment_len = g.lda = s.k;
  g.a = a.data();
  g.c = c.data();
  g.ldc = s.n;
  for (auto _ : state) {
    run(g);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  const double flops = 2.0 * double(s.m * s.k * s.n) * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
}

void run_f32(benchmark::State& state, Tier tier, Shape s) {
  const MatmulF32& kernel = matmul_f32(tier);
  const int64_t bytes = matmul_f32_packed_floats(kernel, s.k, s.n) * 4;
  std::vector<std::byte> b(size_t(bytes) + 64);
  measure(state, s, bytes, [&](MatmulF32Args& g) {
    g.b = reinterpret_cast<const float*>(aligned(&b));
    kernel.run(g);
  });
}

void run_packed(benchmark::State& state, Tier tier, PackedFormat format, Shape s) {
  const MatmulPacked& kernel = matmul_packed(tier, format);
  const int64_t bytes = matmul_packed_bytes(kernel, s.k, s.n);
  std::vector<std::byte> b(size_t(bytes) + 64);
  MatmulF32Args shape;
  shape.m = s.m;
  shape.n = s.n;
  shape.segment_len = s.k;
  const int64_t floats = matmul_packed_scratch_floats(kernel, shape);
  std::vector<std::byte> scratch(size_t(floats) * 4 + 64);
  measure(state, s, bytes, [&](MatmulF32Args& g) {
    kernel.run({g, aligned(&b), reinterpret_cast<float*>(aligned(&scratch))});
  });
}

void run_int8(benchmark::State& state, Tier tier, bool dot, Shape s) {
  const MatmulInt8& kernel = matmul_int8(tier, dot);
  const int64_t bytes = matmul_int8_bytes(kernel, s.k, s.n);
  std::vector<std::byte> b(size_t(bytes) + 64);
  std::vector<std::byte> scratch(size_t(matmul_int8_scratch_bytes(kernel, s.m, s.k)) + 64);
  std::vector<uint8_t> a(size_t(s.m * s.k), 3);
  std::vector<int32_t> start(size_t(s.n)), c(size_t(s.m * s.n));
  MatmulInt8Args g;
  g.segment_len = g.lda = s.k;
  g.a = a.data();
  g.b = reinterpret_cast<const int8_t*>(aligned(&b));
  g.start = start.data();
  g.c = c.data();
  g.ldc = s.n;
  g.scratch = reinterpret_cast<uint8_t*>(aligned(&scratch));
  measure(state, s, bytes, [&](const MatmulF32Args& shape) {
    g.m = shape.m;
    g.n = shape.n;
    kernel.run(g);
  });
  state.SetLabel(kernel.name);
}

void register_all() {
  for (const Level& level : measure_machine().levels) {
    benchmark::AddCustomContext(std::string("GB/s, ") + level.name, std::to_string(level.gbytes));
  }
  for (Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42}) {
    if (!supports(detected_tier(), tier)) continue;
    for (const Shape s : all_shapes()) {
      const std::string name = std::string("/") + tier_name(tier) + "/" + std::to_string(s.m) +
                               "x" + std::to_string(s.k) + "x" + std::to_string(s.n);
      benchmark::RegisterBenchmark(("f32" + name).c_str(),
                                   [=](auto& state) { run_f32(state, tier, s); });
      benchmark::RegisterBenchmark(("f16" + name).c_str(), [=](auto& state) {
        run_packed(state, tier, PackedFormat::kF16, s);
      });
      for (const bool dot : {true, false}) {
        benchmark::RegisterBenchmark(((dot ? "int8" : "int8_without_dot") + name).c_str(),
                                     [=](auto& state) { run_int8(state, tier, dot, s); });
      }
      benchmark::RegisterBenchmark(("q8" + name).c_str(), [=](auto& state) {
        run_packed(state, tier, PackedFormat::kQ8, s);
      });
      benchmark::RegisterBenchmark(("q4" + name).c_str(), [=](auto& state) {
        run_packed(state, tier, PackedFormat::kQ4, s);
      });
      benchmark::RegisterBenchmark(("q4_0" + name).c_str(), [=](auto& state) {
        run_packed(state, tier, PackedFormat::kQ4_0, s);
      });
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
