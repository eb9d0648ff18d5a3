#include "ops/array/gather_step.h"

#include <algorithm>

#include "ops/array/gather_walk.h"
#include "ops/array/index_at.h"

namespace rill::ops {

void gather_elements(const View& data, const View& indices, int on, const View& out) {
  const auto visit = [](DType dtype, auto&& copy) { visit_plain_size(dtype, copy); };
  const auto index_at = [](const View& view, int64_t at) { return plain_index_at(view, at); };
  gather_along(data, indices, on, out, visit, index_at);
}

void run_gather(const GatherArgs& args, const Frame& frame) noexcept {
  const View out = frame.view(args.out);
  if (out.volume() == 0) return;
  gather_elements(frame.view(args.data), frame.view(args.indices), args.axis, out);
}

void run_blocks(const BlockArgs& args, const Frame& frame) noexcept {
  View indices;
  indices.dtype = args.index_type;
  indices.data = frame.ptr<std::byte>(args.indices);
  const auto* data = frame.ptr<const std::byte>(args.data);
  auto* to = frame.ptr<float>(args.out);
  for (int64_t o = 0; o < args.outer; ++o) {
    for (int64_t i = 0; i < args.count; ++i, to += args.blocks * 32) {
      const int64_t index = wrapped_index(plain_index_at(indices, i), args.extent);
      if (index < 0) {
        std::fill_n(to, args.blocks * 32, 0.0F);
      } else {
        const int64_t first = (o * args.extent + index) * args.blocks;
        write_out_blocks(args.format, data + first * block_bytes(args.format), args.blocks, to);
      }
    }
  }
}

void touch_blocks(const BlockArgs& args, StepTouches& touches) {
  touches.require((args.format == BlockFormat::kQ4_0 || args.format == BlockFormat::kQ8_1) &&
                      is_int(args.index_type),
                  "blocks and indices");
  for (const int64_t count : {args.outer, args.extent, args.count, args.blocks}) {
    touches.within(count, 0, kMostCounted);
  }
  if (!touches.holds()) return;
  const int64_t bytes = block_bytes(args.format);
  const int64_t own = args.blocks * bytes;
  touches.within(own, 0, kMostCounted);
  if (!touches.holds()) return;
  touches.reads(region<std::byte>(args.data)
                    .over(args.outer, args.extent * own)
                    .over(args.extent, own)
                    .over(own));
  PlacedView indices;
  indices.dtype = args.index_type;
  indices.ref = args.indices;
  touches.reads(region(indices).over(args.count));
  const int64_t floats = args.blocks * 32;
  touches.writes(region<float>(args.out)
                     .over(args.outer, args.count * floats)
                     .over(args.count, floats)
                     .over(floats));
}

void touch_gather(const GatherArgs& args, StepTouches& touches) {
  const PlacedView& data = args.data;
  const PlacedView& indices = args.indices;
  const PlacedView& out = args.out;
  touches.has_axis(data, args.axis);
  const bool fits = is_plain(data.dtype) && data.dtype == out.dtype && is_int(indices.dtype) &&
                    checked(data.rank) + indices.rank - 1 == out.rank;
  touches.require(fits, "data, indices and an output of their shapes");
  if (!touches.holds()) return;
  bool same = true;
  for (int axis = 0; axis < out.rank; ++axis) {
    const int into = axis - args.axis;
    const int64_t extent = into < 0              ? data.extent(axis)
                           : into < indices.rank ? indices.extent(into)
                                                 : data.extent(axis - indices.rank + 1);
    same &= out.extent(axis) == extent;
  }
  touches.require(same, "an output of its shape");
  if (!touches.holds()) return;
  touches.reads(data);
  touches.reads(indices);
  touches.writes(out);
}

extern const StepKind gather_kind;
extern const StepKind gather_blocks_kind;
const StepKind gather_kind = kGather;
const StepKind gather_blocks_kind = kGatherBlocks;

}  // namespace rill::ops
