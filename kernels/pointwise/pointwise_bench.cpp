#include "kernels/pointwise/pointwise.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace rill::kernels {
namespace {

struct Plane {
  int64_t rows, n;
};

/// Time `code` over rows x n; input 1 is a vector along n, or if `per_row` one value per row.
void bench(benchmark::State& state, Plane size, std::vector<PointwiseInstr> code,
           bool broadcast = false, bool per_row = false) {
  const size_t total = static_cast<size_t>(size.rows * size.n);
  std::vector<float> x(total, 0.5f), z(total, 0.25f), y(total);
  std::vector<float> scratch(pointwise_scratch_floats());
  PointwiseArgs args;
  args.extent[2] = size.rows;
  args.extent[3] = size.n;
  args.inputs = 2;
  for (int i = 0; i < 2; ++i) {
    args.in[i].ptr = i == 0 ? x.data() : z.data();
    args.in[i].stride[2] = size.n;
    args.in[i].stride[3] = 1;
  }
  if (broadcast) args.in[1].stride[2] = 0;
  if (per_row) {
    args.in[1].stride[2] = 1;
    args.in[1].stride[3] = 0;
  }
  args.out = y.data();
  args.out_stride[2] = size.n;
  args.out_stride[3] = 1;
  for (const PointwiseInstr& instr : code) args.code[args.code_len++] = instr;
  pointwise_collapse(&args);
  const PointwiseFn run = pointwise_f32();
  for (auto _ : state) {
    run(args, scratch.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * size.rows * size.n);
}

constexpr PointwiseInstr kAddInputs{PointwiseOp::kAdd, 2, 0, 1, 0, PointwiseImm::kNone, 0.0f};
constexpr PointwiseInstr kSigmoidInput{PointwiseOp::kSigmoid, 2,   0, 0, 0,
                                       PointwiseImm::kNone,   0.0f};
constexpr PointwiseInstr kTanhInput{PointwiseOp::kTanh, 2, 0, 0, 0, PointwiseImm::kNone, 0.0f};
constexpr PointwiseInstr kRelu{PointwiseOp::kMax, 2, 0, 0, 0, PointwiseImm::kB, 0.0f};

BENCHMARK_CAPTURE(bench, add_1x1, Plane{1, 1}, {kAddInputs});
BENCHMARK_CAPTURE(bench, add_8x64, Plane{8, 64}, {kAddInputs});
BENCHMARK_CAPTURE(bench, add_64x64, Plane{64, 64}, {kAddInputs});
BENCHMARK_CAPTURE(bench, add_bias_8x64, Plane{8, 64}, {kAddInputs}, true);
BENCHMARK_CAPTURE(bench, add_per_row_8x64, Plane{8, 64}, {kAddInputs}, false, true);
BENCHMARK_CAPTURE(bench, add_per_row_1000x3, Plane{1000, 3}, {kAddInputs}, false, true);
BENCHMARK_CAPTURE(bench, relu_8x64, Plane{8, 64}, {kRelu});
BENCHMARK_CAPTURE(bench, sigmoid_8x96, Plane{8, 96}, {kSigmoidInput});
BENCHMARK_CAPTURE(bench, tanh_4096, Plane{1, 4096}, {kTanhInput});
BENCHMARK_CAPTURE(bench, exp_4096, Plane{1, 4096}, {{PointwiseOp::kExp, 2, 0}});
BENCHMARK_CAPTURE(bench, erf_4096, Plane{1, 4096}, {{PointwiseOp::kErf, 2, 0}});
BENCHMARK_CAPTURE(bench, batch_norm_relu_64x64, Plane{64, 64},
                  {{PointwiseOp::kMul, 2, 0, 1},
                   {PointwiseOp::kAdd, 2, 2, 1},
                   {PointwiseOp::kMax, 2, 2, 0, 0, PointwiseImm::kB, 0.0f}},
                  true);
BENCHMARK_CAPTURE(bench, gate_8x64, Plane{8, 64},
                  {{PointwiseOp::kTanh, 2, 0},
                   {PointwiseOp::kSigmoid, 3, 1},
                   {PointwiseOp::kMul, 2, 2, 3}});

}  // namespace
}  // namespace rill::kernels

BENCHMARK_MAIN();
