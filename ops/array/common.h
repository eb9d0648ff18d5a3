#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/graph/nnef.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Count an axis from the start: negative ones count from the end. Errors: kShape.
Result<int64_t> axis_in(int64_t axis, int64_t rank);
/// As above for a list, sorted and each once. Errors: kShape.
Result<std::vector<int64_t>> axes_in(std::span<const int64_t> axes, int64_t rank);

/// Fail unless there are `count` inputs and none is block-quantised, which only a few ops read.
Status expect_inputs(FactSpan in, size_t count);
/// As above, but block-quantised constants are allowed.
Status expect_count(FactSpan in, size_t count);

/// Return the value of a block-quantised constant; else null.
TensorPtr blocks_of(const Fact& fact);

/// Return whether the file is from torch_to_nnef, so that operators follow PyTorch: it omits
/// PyTorch's types.
bool means_pytorch(const Graph& graph);

/// Read an argument as a wire; a block-quantised constant is expanded.
Result<OutletId> plain_wire(LoadCtx& ctx, const char* name);
Result<std::vector<OutletId>> plain_wires(LoadCtx& ctx, const char* name);

/// Read an op on the one tensor `input`, with a field for each other argument: a block-quantised
/// constant is expanded, and where `axis` is not null and negative, it counts from the end.
Result<Value> load_on_input(LoadCtx& ctx, std::shared_ptr<Op> op, int64_t* axis);
template <class T>
Result<Value> load_on_input(LoadCtx& ctx) {
  auto op = draft_op<T>();
  int64_t* axis = nullptr;
  if constexpr (requires { op->axis; }) axis = &op->axis;
  return load_on_input(ctx, std::move(op), axis);
}

/// Return a view with the extents of another one: axes of extent 1 repeat.
View stretched(const View& view, const View& like) RILL_NONBLOCKING;

/// Return the elements at index `at` of an axis, with extent 1 there.
Result<Tensor> frame_at(const Tensor& tensor, int axis, int64_t at);

/// Track every axis of the output to the axis of input 0 that `source` names, -1 for none.
std::vector<AxisTrack> tracks_from(std::span<const int64_t> source);

}  // namespace rill::ops
