#pragma once

#include "core/run/step_fields.h"
#include "core/tensor/blocks.h"

namespace rill::ops {

/// Slices of an axis at indices; zeros for an index out of range.
struct GatherArgs {
  PlacedView data;
  PlacedView indices;
  PlacedView out;
  int axis = 0;
};
RILL_STEP_FIELDS(GatherArgs, data, indices, out, axis)

/// As above for block-quantised constants.
struct BlockArgs {
  BlockFormat format = BlockFormat::kNone;
  Ref data;
  Ref indices;
  Ref out;
  DType index_type = DType::kI64;
  int64_t count = 0;   ///< number of indices
  int64_t extent = 0;  ///< extent of the axis
  int64_t outer = 1;   ///< product of the extents before the axis
  int64_t blocks = 0;  ///< blocks per slice
};

RILL_STEP_FIELDS(BlockArgs, format, data, indices, out, index_type, count, extent, outer, blocks)

/// Gather elements of a plain type; `out` is not empty.
void gather_elements(const View& data, const View& indices, int axis,
                     const View& out) RILL_NONBLOCKING;

void run_gather(const GatherArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void run_blocks(const BlockArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_gather(const GatherArgs& args, StepTouches& touches);
void touch_blocks(const BlockArgs& args, StepTouches& touches);

inline constexpr auto kGather = step_kind<GatherArgs, run_gather, touch_gather>("gather");
inline constexpr auto kGatherBlocks =
    step_kind<BlockArgs, run_blocks, touch_blocks>("gather_blocks");

}  // namespace rill::ops
