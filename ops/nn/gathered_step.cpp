#include "ops/nn/gathered_step.h"

#include <algorithm>
#include <cstring>

#include "ops/nn/product_parts.h"

namespace rill::ops {
namespace {

using kernels::MatmulF32;
using kernels::MatmulF32Args;

/// The floats of the gathered rows and results.
constexpr int64_t kGatheredFloats = 5120;

/// With this number of rows or more, a single stream fills the tiles of a matmul.
constexpr int64_t kRowsAlone = 8;

void copy(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

/// Return how many streams one matmul takes: their rows, and at least two panels of results, must
/// fit in `kGatheredFloats`.
int64_t streams_at_once(const MatmulF32& kernel, const MatmulF32Args& args, int64_t streams) {
  if (args.m < 1 || args.m >= kRowsAlone || args.accumulate) return 1;
  const int64_t columns = std::min<int64_t>(args.n, 2 * kernel.nr);
  const int64_t fit = kGatheredFloats / (args.m * (args.segments * args.segment_len + columns));
  if (fit < 2) return 1;
  const int64_t groups = (streams + fit - 1) / fit;
  return (streams + groups - 1) / groups;
}

/// Copy the rows of A, without the gaps between their segments.
float* gather_rows(const MatmulF32Args& args, std::span<const StreamRows> streams, float* to) {
  for (const StreamRows& stream : streams) {
    for (int64_t row = 0; row < args.m; ++row) {
      const float* from = stream.a + row * args.lda;
      for (int64_t s = 0; s < args.segments; ++s, from += args.segment_stride) {
        copy(from, args.segment_len, to);
        to += args.segment_len;
      }
    }
  }
  return to;
}

/// Call `visit(stream, row)` for each row of each stream, in the order of the gathered rows.
template <class Visit>
void each_row(std::span<const StreamRows> streams, int64_t rows, const Visit& visit) {
  for (const StreamRows& stream : streams) {
    for (int64_t row = 0; row < rows; ++row) visit(stream, row);
  }
}

/// Compute `part.n` columns of the result from `column`, for the gathered rows. `part.c` holds the
/// results until they are copied to the streams.
void run_columns(const MatmulF32& kernel, const MatmulF32Args& args, int64_t column,
                 std::span<const StreamRows> streams, MatmulF32Args* part) noexcept {
  part->ldc = part->ldr = part->n;
  if (streams[0].residual != nullptr) {
    float* to = part->c;
    part->residual = to;
    each_row(streams, args.m, [&](const StreamRows& stream, int64_t row) {
      copy(stream.residual + row * args.ldr + column, part->n, to);
      to += part->n;
    });
  }
  kernel.run(*part);
  const float* from = part->c;
  each_row(streams, args.m, [&](const StreamRows& stream, int64_t row) {
    copy(from, part->n, stream.c + row * args.ldc + column);
    from += part->n;
  });
}

/// Run all streams as one matmul, a few panels at a time.
void run_as_one(const MatmulF32& kernel, const MatmulF32Args& args,
                std::span<const StreamRows> streams) noexcept {
  alignas(64) float values[kGatheredFloats];
  float* const results = gather_rows(args, streams, values);
  MatmulF32Args whole = args;
  whole.m = args.m * static_cast<int64_t>(streams.size());
  whole.segment_len = whole.lda = args.segments * args.segment_len;
  whole.segments = 1;
  whole.a = values;
  const int64_t fitting = (values + kGatheredFloats - results) / whole.m;
  const int64_t most = std::max<int64_t>(1, fitting / kernel.nr);
  const int64_t panels = (args.n + kernel.nr - 1) / kernel.nr;
  const int64_t panel_bytes = 4 * whole.lda * kernel.nr;
  for (int64_t panel = 0; panel < panels; panel += most) {
    MatmulF32Args part = whole;
    const int64_t count = std::min(most, panels - panel);
    if (count < panels) narrow({panels, kernel.nr, panel_bytes}, panel, count, &part);
    part.c = results;
    run_columns(kernel, args, panel * kernel.nr, streams, &part);
  }
}

}  // namespace

void run_gathered(const MatmulF32& kernel, const MatmulF32Args& args,
                  std::span<const StreamRows> streams) noexcept {
  const auto count = static_cast<int64_t>(streams.size());
  const auto take = static_cast<size_t>(streams_at_once(kernel, args, count));
  while (!streams.empty()) {
    const auto group = streams.first(std::min(take, streams.size()));
    streams = streams.subspan(group.size());
    if (group.size() > 1) {
      run_as_one(kernel, args, group);
      continue;
    }
    MatmulF32Args alone = args;
    alone.a = group[0].a;
    alone.c = group[0].c;
    alone.residual = group[0].residual;
    kernel.run(alone);
  }
}

}  // namespace rill::ops
