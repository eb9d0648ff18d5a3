// Reads ONNX's operators with a length or a position for each entry of the batch.

#include "ops/array/common.h"
#include "ops/math/sequences.h"

namespace rill::ops {
namespace {

Result<Value> reverse_sequence(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId x = f.arg("input");
  Sequences sequences;
  sequences.lengths = f.arg("sequence_lens");
  if (!f.ok()) return f.take_status();
  RILL_ASSIGN(const int64_t time, ctx.integer("time_axis"));
  RILL_ASSIGN(const int64_t batch, ctx.integer("batch_axis"));
  RILL_ASSIGN(sequences.time, axis_in(time, f.rank(x)));
  RILL_ASSIGN(sequences.batch, axis_in(batch, f.rank(x)));
  RILL_CHECK(f.rank(sequences.lengths) == 1, "sequence_lens is ", f.fact(sequences.lengths),
             ": expected a list");
  const Dim frames = f.dim(x, static_cast<int>(sequences.time));
  sequences.lengths = checked_lengths(f, sequences.lengths, frames);
  if (!f.ok()) return f.take_status();
  const OutletId most = f.number(frames, sequences.lengths);
  sequences.lengths = f.binary(BinaryKind::kMin, sequences.lengths, most);
  return f.value(reversed_within(f, x, sequences));
}

/// Write entries into a cache, from the position given for each entry of the batch.
Result<Value> tensor_scatter(OnnxCtx& ctx) {
  Formula f(ctx);
  const OutletId cache = f.arg("past_cache");
  const OutletId update = f.arg("update");
  if (!f.ok()) return f.take_status();
  const int rank = f.rank(cache);
  RILL_ASSIGN(const int64_t written, ctx.integer("axis"));
  RILL_ASSIGN(const int64_t axis, axis_in(written, rank));
  RILL_ASSIGN(const std::string mode, ctx.text("mode"));
  RILL_CHECK(mode == "linear" || mode == "circular", "attribute \"mode\" is ", mode,
             ": expected linear or circular");
  RILL_CHECK(f.rank(update) == rank && axis > 0, "caches ", f.fact(cache), " and ",
             f.fact(update), " along axis ", axis);
  OutletId places = f.range(f.dim(update, static_cast<int>(axis)));
  for (int64_t i = axis + 1; i < rank; ++i) places = f.with_axis(places, f.rank(places));
  if (ctx.given("write_indices")) {
    OutletId first = f.cast(f.arg("write_indices"), DType::kI64);
    while (f.ok() && f.rank(first) < rank) first = f.with_axis(first, f.rank(first));
    places = f.plus(first, places);
  }
  if (mode == "circular") {
    const OutletId size = f.number(f.dim(cache, static_cast<int>(axis)), places);
    places = f.minus(places, f.times(f.over(places, size), size));
  }
  return f.value(f.call("tract_core_scatter_elements",
                        {{"input", Value(cache)},
                         {"indices", Value(f.broadcast(f.leading_axes(places, rank),
                                                       f.fact(update).shape))},
                         {"updates", Value(update)},
                         {"axis", Value(Dim(axis))},
                         {"reduction", Value(std::string("none"))}}));
}

const OnnxOp kOps[] = {
    {"", 10,
     "fragment ReverseSequence(input: tensor<?>, sequence_lens: tensor<integer>, "
     "batch_axis: integer = 1, time_axis: integer = 0) -> (Y: tensor<?>);",
     reverse_sequence},
    {"", 24,
     "fragment TensorScatter(past_cache: tensor<?>, update: tensor<?>, "
     "write_indices: tensor<integer> = false, axis: integer = -2, mode: string = 'linear') "
     "-> (present_cache: tensor<?>);",
     tensor_scatter},
};

}  // namespace

extern const OnnxModule sequences_onnx;
const OnnxModule sequences_onnx = {"sequences", kOps};

}  // namespace rill::ops
