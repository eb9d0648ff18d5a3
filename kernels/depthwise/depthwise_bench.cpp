// f32 depthwise convolutions of every tier, in GFLOP/s.

#include "kernels/depthwise/depthwise.h"

#include <benchmark/benchmark.h>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

/// Arguments: frames, channels, taps.
void run(benchmark::State& state, const DepthwiseF32& kernel) {
  const int64_t frames = state.range(0), channels = state.range(1), taps = state.range(2);
  AlignedFloats x((frames + taps) * channels), w(taps * channels), bias(channels),
      y(frames * channels);
  DepthwiseF32Args g;
  g.frames = frames;
  g.channels = channels;
  g.taps = taps;
  g.x = x.data();
  g.x_frame_stride = g.x_tap_stride = channels;
  g.w = w.data();
  g.bias = bias.data();
  g.y = y.data();
  g.y_frame_stride = channels;
  g.clip = true;
  g.hi = 6.0f;
  for (auto _ : state) {
    kernel.run(g);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * double(frames * channels * taps) * double(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
}

void register_all() {
  for (Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42, Tier::kScalar}) {
    if (!supports(detected_tier(), tier)) continue;
    const DepthwiseF32& kernel = depthwise_f32(tier);
    benchmark::RegisterBenchmark(kernel.name, [&kernel](auto& state) { run(state, kernel); })
        ->Args({1, 64, 5})
        ->Args({4, 64, 13})
        ->Args({8, 128, 13})
        ->Args({100, 64, 9})
        ->Args({100, 100, 3})
        ->Args({1000, 128, 13});
  }
}

}  // namespace
}  // namespace rill::kernels

int main(int argc, char** argv) {
  rill::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
