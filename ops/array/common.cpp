#include "ops/array/common.h"

#include <algorithm>
#include <cstring>

#include "core/base/sorted.h"
#include "core/tensor/small.h"
#include "ops/array/axis_argument.h"

namespace rill::ops {

Result<int64_t> axis_in(int64_t axis, int64_t rank) {
  const int64_t counted = axis < 0 && axis >= -rank ? axis + rank : axis;
  RILL_CHECK(counted >= 0 && counted < rank, "no axis ", axis, " in rank ", rank);
  return counted;
}

Result<int64_t> axis_argument(LoadCtx& ctx, int64_t rank) {
  RILL_ASSIGN(const int64_t axis, ctx.integer("axis"));
  return axis_in(axis, rank);
}

Result<std::vector<int64_t>> axes_in(std::span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t axis : axes) {
    RILL_ASSIGN(const int64_t counted, axis_in(axis, rank));
    out.push_back(counted);
  }
  sort_list(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool means_pytorch(const Graph& graph) {
  return graph.properties.contains("torch_to_nnef_version");
}

TensorPtr blocks_of(const Fact& fact) {
  return fact.konst && fact.konst->block_format() != BlockFormat::kNone ? fact.konst : nullptr;
}

Status expect_count(FactSpan in, size_t count) {
  RILL_CHECK(in.size() == count, "expected ", counted(count, "input"), ", found ", in.size());
  return {};
}

Status expect_inputs(FactSpan in, size_t count) {
  RILL_TRY(expect_count(in, count));
  for (const Fact& fact : in) {
    if (blocks_of(fact)) {
      return fail(Code::kDType, "a block-quantised constant, ", fact,
                  ", can not be read element by element");
    }
  }
  return {};
}

namespace {

Result<OutletId> expanded(LoadCtx& ctx, OutletId wire) {
  const TensorPtr blocks = blocks_of(ctx.fact(wire));
  if (!blocks) return wire;
  RILL_ASSIGN(Tensor dense, dequantised(*blocks));
  return ctx.konst(std::move(dense), "dense");
}

}  // namespace

Result<OutletId> plain_wire(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(const OutletId wire, ctx.wire(name));
  return expanded(ctx, wire);
}

Result<std::vector<OutletId>> plain_wires(LoadCtx& ctx, const char* name) {
  RILL_ASSIGN(std::vector<OutletId> wires, ctx.wires(name));
  for (OutletId& wire : wires) {
    RILL_ASSIGN(wire, expanded(ctx, wire));
  }
  return wires;
}

Result<Value> load_on_input(LoadCtx& ctx, std::shared_ptr<Op> op, int64_t* axis) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_TRY(ctx.all_fields(*op));
  if (axis) {
    RILL_ASSIGN(*axis, axis_in(*axis, ctx.fact(x).rank()));
  }
  RILL_ASSIGN(const std::vector<OutletId> out, ctx.add(std::move(op), {x}));
  return Value::of_wires(out);
}

View stretched(const View& view, const View& like) {
  View out = view;
  for (int axis = 0; axis < like.rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (view.shape[i] == 1 && like.shape[i] != 1) out.stride[i] = 0;
    out.shape[i] = like.shape[i];
  }
  return out;
}

Result<Tensor> frame_at(const Tensor& tensor, int axis, int64_t at) {
  std::vector<int64_t> shape = tensor.shape();
  shape[static_cast<size_t>(axis)] = 1;
  RILL_ASSIGN(Tensor out, Tensor::zeros(tensor.dtype(), std::move(shape), tensor.qparams()));
  if (out.empty()) return out;
  View from = tensor.view();
  const int64_t size = tensor.size_bytes() / tensor.volume();
  from.shape[static_cast<size_t>(axis)] = 1;
  from.data = static_cast<std::byte*>(from.data) + at * from.step(axis) * size;
  copy_view(from, out.view());
  return out;
}

std::vector<AxisTrack> tracks_from(std::span<const int64_t> source) {
  std::vector<AxisTrack> tracks;
  for (size_t axis = 0; axis < source.size(); ++axis) {
    if (source[axis] < 0) continue;
    tracks.push_back({{static_cast<int>(source[axis])}, {static_cast<int>(axis)}});
  }
  return tracks;
}

}  // namespace rill::ops
