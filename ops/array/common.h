#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/graph/nnef.h"
#include "core/graph/op.h"

namespace rill::ops {

/// Return an axis counted from the start; a negative one counts from the end. Errors: kShape.
Result<int64_t> axis_in(int64_t axis, int64_t rank);
/// As above for a list; the result is sorted, without duplicates. Errors: kShape.
Result<std::vector<int64_t>> axes_in(std::span<const int64_t> axes, int64_t rank);

/// Fail unless there are `count` inputs and none is block-quantised; only a few ops read such
/// constants.
Status expect_inputs(FactSpan in, size_t count);
/// As above, but block-quantised constants are allowed.
Status expect_count(FactSpan in, size_t count);

/// Return the value of a block-quantised constant; else null.
TensorPtr blocks_of(const Fact& fact);

/// Return whether the file is from torch_to_nnef, which omits PyTorch's types: then operators
/// follow PyTorch's rules.
bool means_pytorch(const Graph& graph);

/// Read an argument as a wire; a block-quantised constant is dequantised.
Result<OutletId> plain_wire(LoadCtx& ctx, const char* name);
Result<std::vector<OutletId>> plain_wires(LoadCtx& ctx, const char* name);

/// Read an op with one tensor, `input`, and with a field for each other argument. A block-quantised
/// constant is dequantised. A negative `*axis` counts from the end; `axis` may be null.
Result<Value> load_on_input(LoadCtx& ctx, std::shared_ptr<Op> op, int64_t* axis);
template <class T>
Result<Value> load_on_input(LoadCtx& ctx) {
  auto op = draft_op<T>();
  int64_t* axis = nullptr;
  if constexpr (requires { op->axis; }) axis = &op->axis;
  return load_on_input(ctx, std::move(op), axis);
}

/// Return a view broadcast to the extents of `like`.
View stretched(const View& view, const View& like) RILL_NONBLOCKING;

/// Return the elements at index `at` of an axis, with extent 1 there.
Result<Tensor> frame_at(const Tensor& tensor, int axis, int64_t at);

/// Return the tracks of an op whose output axis i is axis `source[i]` of input 0; -1 for a new
/// axis.
std::vector<AxisTrack> tracks_from(std::span<const int64_t> source);

}  // namespace rill::ops
