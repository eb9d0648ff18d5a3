// f32 recurrent loops of every tier: time per step, next to that of its matrix-vector product.

#include "kernels/rnn/rnn.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/matmul/matmul.h"

namespace rill::kernels {
namespace {

constexpr int64_t kSteps = 8;

enum class Kind { kGru, kLstm, kProduct };

/// Argument: the hidden size. A product is that of a GRU.
void run(benchmark::State& state, Tier tier, Kind kind) {
  const int64_t hidden = state.range(0), gates = kind == Kind::kLstm ? 4 : 3, n = gates * hidden;
  const MatmulF32& matmul = matmul_f32(tier);
  const RnnF32& kernel = rnn_f32(tier);
  std::vector<float> x(static_cast<size_t>(kSteps * n), 0.5f);
  std::vector<float> y(static_cast<size_t>(kSteps * hidden));
  std::vector<float> h(static_cast<size_t>(hidden)), c(static_cast<size_t>(hidden));
  std::vector<float> scratch(static_cast<size_t>(n));
  std::vector<float> b(size_t(hidden * n), 0.01f);
  const int64_t floats = kind == Kind::kProduct ? matmul_f32_packed_floats(matmul, hidden, n)
                                                : rnn_f32_packed_floats(kernel, gates, hidden);
  std::vector<float> panels(size_t(floats) + 16);
  float* w = panels.data() + (64 - reinterpret_cast<uintptr_t>(panels.data()) % 64) % 64 / 4;
  if (kind == Kind::kProduct) {
    matmul_f32_pack(matmul, hidden, n, b.data(), n, 1, w);
  } else {
    rnn_f32_pack(kernel, gates, hidden, b.data(), w);
  }
  RnnLane lane{{}, {h.data(), scratch.data()}, c.data(), y.data()};
  for (int64_t gate = 0; gate < gates; ++gate) lane.x[gate] = x.data() + gate * hidden;
  RnnF32Args layer;
  layer.steps = kSteps;
  layer.hidden = hidden;
  layer.x_stride = n;
  layer.y_stride = hidden;
  layer.w = w;
  if (kind == Kind::kGru) layer.b_hn = h.data();
  layer.lane = &lane;
  MatmulF32Args product;
  product.m = 1;
  product.n = n;
  product.segment_len = hidden;
  product.a = h.data();
  product.b = w;
  product.c = scratch.data();
  for (auto _ : state) {
    if (kind == Kind::kGru) gru_f32(tier).run(layer);
    if (kind == Kind::kLstm) lstm_f32(tier).run(layer);
    for (int64_t step = 0; kind == Kind::kProduct && step < kSteps; ++step) matmul.run(product);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * double(kSteps * hidden * n) * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
  state.SetItemsProcessed(state.iterations() * kSteps);
}

void register_all() {
  for (Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42, Tier::kScalar}) {
    if (!supports(detected_tier(), tier)) continue;
    const std::string name = rnn_f32(tier).name;
    const auto add = [&](const char* kind_name, Kind kind) {
      benchmark::RegisterBenchmark((name + kind_name).c_str(),
                                   [=](auto& state) { run(state, tier, kind); })
          ->Arg(32)
          ->Arg(96)
          ->Arg(128);
    };
    add("/gru", Kind::kGru);
    add("/product", Kind::kProduct);
    add("/lstm", Kind::kLstm);
  }
}

}  // namespace
}  // namespace rill::kernels

int main(int argc, char** argv) {
  rill::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
