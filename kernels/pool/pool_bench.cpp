// f32 pools of every tier, in values of the windows per second.

#include "kernels/pool/pool.h"

#include <benchmark/benchmark.h>

#include <string>

#include "kernels/matmul/test_support.h"

namespace rill::kernels {
namespace {

using Run = void (*)(const PoolF32Args&) noexcept;

/// Arguments: frames, channels, taps.
void run(benchmark::State& state, Run pool) {
  const int64_t frames = state.range(0), channels = state.range(1), taps = state.range(2);
  AlignedFloats x((frames + taps) * channels), y(frames * channels);
  PoolF32Args g;
  g.frames = frames;
  g.channels = channels;
  g.taps = taps;
  g.x = x.data();
  g.x_frame_stride = g.x_tap_stride = channels;
  g.y = y.data();
  g.y_frame_stride = channels;
  g.scale = 1.0f / float(taps);
  for (auto _ : state) {
    pool(g);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * frames * channels * taps);
}

void register_all() {
  for (Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kNeon, Tier::kSse42, Tier::kScalar}) {
    if (!supports(detected_tier(), tier)) continue;
    const PoolF32& kernel = pool_f32(tier);
    for (const bool max : {true, false}) {
      const std::string name = std::string(kernel.name) + (max ? "/max" : "/sum");
      const Run pool = max ? kernel.max : kernel.sum;
      benchmark::RegisterBenchmark(name.c_str(), [pool](auto& state) { run(state, pool); })
          ->Args({4, 64, 2})
          ->Args({100, 64, 3})
          ->Args({100, 100, 8});
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
