#include "ops/nn/masked_rows_step.h"

#include "core/run/share.h"

namespace rill::ops {

using kernels::PointwiseArgs;

void run_masked_rows(const MaskedRowsStep& step, const Frame& frame, const Share& share) noexcept {
  PointwiseArgs combine = step.combination;
  kernels::SoftmaxF32Args normalise;
  normalise.n = step.n;
  normalise.x_stride = masked_pitch(step.n);
  normalise.y_stride = step.row[kOut];
  auto* rest = reinterpret_cast<float*>(share.scratch);
  combine.out = rest;
  normalise.x = rest;
  const int64_t most = masked_rows_at_once(step.n);
  rest += most * masked_pitch(step.n);
  const auto turns = [&](int loop) { return step.extent[static_cast<size_t>(loop)]; };
  const auto rows_of = [&](const auto& index, int64_t first, int64_t some) {
    MaskedStrides at{};
    for (size_t side = kX; side < kSides; ++side) {
      at[side] = first * step.row[side];
      for (size_t i = 0; i < static_cast<size_t>(step.loops); ++i) {
        at[side] += index[i] * step.stride[i][side];
      }
    }
    for (int64_t done = 0; done < some; done += most) {
      const int64_t rows = std::min(most, some - done);
      for (size_t side = kX; side <= kMask; ++side) {
        combine.in[side].ptr =
            frame.ptr<float>(step.refs[side]) + at[side] + done * step.row[side];
      }
      combine.extent[kernels::kPointwiseAxes - 2] = rows;
      step.combine(combine, rest);
      normalise.rows = rows;
      normalise.y = frame.ptr<float>(step.refs[kOut]) + at[kOut] + done * step.row[kOut];
      step.normalise(normalise);
    }
  };
  walk_share<kMaxRank>(share, step.loops, turns, step.rows, rows_of);
}

extern const StepKind masked_rows_kind;
const StepKind masked_rows_kind = kMaskedRows;

}  // namespace rill::ops
