#include "ops/math/reduce.h"

#include <cmath>
#include <limits>

#include "core/base/search.h"
#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/not_defined.h"
#include "ops/math/binary.h"
#include "ops/math/extreme.h"
#include "ops/math/integers.h"
#include "ops/math/kind_names.h"
#include "ops/math/reduce_lower.h"
#include "ops/math/tally.h"
#include "ops/math/whole.h"

namespace rill::ops {
namespace {

constexpr KindNames kNames[] = {
    {"Reduce<Sum>", "sum_reduce", "tract_nnef"},
    {"Reduce<Prod>", "tract_core_product_reduce", "tract_core"},
    {"Reduce<Min>", "min_reduce", "tract_nnef"},
    {"Reduce<Max>", "max_reduce", "tract_nnef"},
    {"Reduce<ArgMin>", "argmin_reduce", "tract_nnef"},
    {"Reduce<ArgMax>", "argmax_reduce", "tract_nnef"},
    {"Reduce<Any>", "any_reduce", "tract_nnef"},
    {"Reduce<All>", "all_reduce", "tract_nnef"},
};

const KindNames& names_of(ReduceKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool supports(ReduceKind kind, DType t) {
  if (kind == ReduceKind::kAny || kind == ReduceKind::kAll) return t == DType::kBool;
  if (kind == ReduceKind::kProduct && t == DType::kDim) return true;
  if (is_quantised(t)) return kind != ReduceKind::kSum && kind != ReduceKind::kProduct;
  return is_number(t);
}

/// The axes of a reduction: `outer` has the kept axes of the input, `out` those of the output, and
/// `inner` the reduced axes in order.
struct Split {
  View outer;
  View out;
  View inner;
};

Split split_axes(const View& x, const View& out, std::span<const int64_t> reduced) {
  Split split{x, out, x};
  split.outer.rank = split.out.rank = split.inner.rank = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const bool inner = contains(reduced, axis);
    View& part = inner ? split.inner : split.outer;
    const auto at = static_cast<size_t>(part.rank++);
    part.shape[at] = x.shape[i];
    part.stride[at] = x.stride[i];
    if (inner) continue;
    split.out.shape[at] = x.shape[i];
    split.out.stride[at] = out.stride[i];
    ++split.out.rank;
  }
  return split;
}

/// The identity of max or min: the lowest or highest value of the type.
template <class T>
Wide<T> end_of(bool highest) {
  if constexpr (std::is_integral_v<T>) {
    return highest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  } else {
    return highest ? std::numeric_limits<Wide<T>>::infinity()
                   : -std::numeric_limits<Wide<T>>::infinity();
  }
}

/// The type of accumulators: f64 for f32 and f16, because tests use this implementation as their
/// reference.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<Wide<T>>, double, Wide<T>>;

template <class T>
Sum<T> combined(ReduceKind kind, const T* x, const View& inner) {
  Sum<T> total = kind == ReduceKind::kProduct ? Sum<T>(1) : Sum<T>(0);
  for_each_element<1>({inner}, [&](const std::array<int64_t, 1>& at) {
    const auto v = static_cast<Sum<T>>(upcast(x[at[0]]));
    if constexpr (std::is_integral_v<Sum<T>>) {
      const auto op = kind == ReduceKind::kProduct ? BinaryKind::kMul : BinaryKind::kAdd;
      total = integer_binary(op, total, v, 64);
    } else if (kind == ReduceKind::kProduct) {
      total *= v;
    } else {
      total += v;
    }
  });
  return total;
}

template <class W>
struct Extreme {
  W value;
  int64_t index;
};

template <class T>
Extreme<Wide<T>> extreme(bool largest, bool last, const T* x, const View& inner) {
  using W = Wide<T>;
  Extreme<W> best{end_of<T>(!largest), 0};
  bool found = false;
  int64_t n = 0;
  for_each_element<1>({inner}, [&](const std::array<int64_t, 1>& at) {
    const W v = upcast(x[at[0]]);
    const bool equal = is_as_good(v, best.value) && (!found || last);
    if (equal || is_better(largest, v, best.value)) {
      best = {v, n};
      found = true;
    }
    ++n;
  });
  return best;
}

template <class T>
void reduce_numbers(const Reduce& op, const View& x, const View& out) {
  const Split split = split_axes(x, out, op.reduced);
  for_each_element<2>({split.out, split.outer}, [&](const std::array<int64_t, 2>& at) {
    const T* from = x.as<const T>() + at[1];
    if (op.kind_of == ReduceKind::kSum || op.kind_of == ReduceKind::kProduct) {
      const Sum<T> total = combined(op.kind_of, from, split.inner);
      out.as<T>()[at[0]] = narrow<T>(static_cast<Wide<T>>(total));
      return;
    }
    const bool largest = op.kind_of == ReduceKind::kMax || op.kind_of == ReduceKind::kArgMax;
    const auto best = extreme(largest, op.last, from, split.inner);
    if (is_arg(op.kind_of)) {
      out.as<int64_t>()[at[0]] = best.index;
    } else {
      out.as<T>()[at[0]] = narrow<T>(best.value);
    }
  });
}

void reduce_bools(const Reduce& op, const View& x, const View& out) {
  const Split split = split_axes(x, out, op.reduced);
  const bool any = op.kind_of == ReduceKind::kAny;
  for_each_element<2>({split.out, split.outer}, [&](const std::array<int64_t, 2>& at) {
    bool truth = !any;
    for_each_element<1>({split.inner}, [&](const std::array<int64_t, 1>& in) {
      const bool v = x.as<const uint8_t>()[at[1] + in[0]] != 0;
      truth = any ? truth || v : truth && v;
    });
    out.as<uint8_t>()[at[0]] = truth ? 1 : 0;
  });
}

Status reduce_dims(const Reduce& op, const View& x, const View& out) {
  const Split split = split_axes(x, out, op.reduced);
  Status status;
  for_each_element<2>({split.out, split.outer}, [&](const std::array<int64_t, 2>& at) {
    Dim product = 1;
    for_each_element<1>({split.inner}, [&](const std::array<int64_t, 1>& in) {
      product *= x.as<const Dim>()[at[1] + in[0]];
    });
    if (!product.valid()) status = fail(Code::kSymbol, "a product of dims is out of range");
    out.as<Dim>()[at[0]] = std::move(product);
  });
  return status;
}

}  // namespace

std::string_view Reduce::name() const { return names_of(kind_of).name; }

void Reduce::fields(FieldVisitor& visitor) {
  axis_field(visitor, "axes", reduced);
  if (is_arg(kind_of)) visitor.field("last", last);
}

void Reduce::all_fields(FieldVisitor& visitor) {
  enum_field(visitor, "kind", ReduceKind::kAll, kind_of);
  axis_field(visitor, "axes", reduced);
  visitor.field("last", last);
}

Status reduce_axes(std::span<const int64_t> axes, Fact* out) {
  const Fact in = *out;
  int64_t before = -1;
  for (const int64_t axis : axes) {
    RILL_CHECK(axis > before && axis < in.rank(), "no axis ", axis, " in ", in);
    before = axis;
    out->shape[static_cast<size_t>(axis)] = Dim(1);
  }
  return {};
}

Result<Facts> Reduce::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (!supports(kind_of, in[0].dtype)) {
    return not_defined_for(in[0]);
  }
  Fact out = in[0].without_value();
  if (is_arg(kind_of)) out = Fact::of(DType::kI64, out.shape);
  RILL_TRY(reduce_axes(reduced, &out));
  return one_fact(std::move(out));
}

Status Reduce::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  if (x.dtype == DType::kDim) {
    RILL_NOT_IN_STEPS(return reduce_dims(*this, x, out);)
  }
  if (x.dtype == DType::kBool) {
    reduce_bools(*this, x, out);
    return {};
  }
  visit_number(stored_type(x.dtype),
               [&](auto tag) { reduce_numbers<decltype(tag)>(*this, x, out); });
  return {};
}

Status Reduce::fuse(Rewrite& rewrite) const {
  if (is_arg(kind_of)) return {};
  return fuse_as_f32(*this, rewrite);
}

Status Reduce::lower(Lowering& lowering) const {
  RILL_ASSIGN(const bool done, lower_reduce(*this, lowering));
  return done ? Status() : Op::lower(lowering);
}

Course Reduce::course() const {
  const auto function = kind_of == ReduceKind::kSum   ? Course::Function::kAdd
                        : kind_of == ReduceKind::kMax ? Course::Function::kMax
                        : is_arg(kind_of)             ? Course::Function::kPlace
                                                      : Course::Function::kOther;
  return {.form = Course::Form::kReduced, .function = function, .axes = reduced};
}

std::vector<AxisTrack> Reduce::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    const bool gone = contains(reduced, axis);
    if (!gone) tracks.push_back({{axis}, {axis}});
  }
  return tracks;
}

namespace {

/// Make the reduction over a stream. Kernels compute sums, products and extremes of f32; the stream
/// must keep their order.
OpPtr over_stream(const Reduce& reduce, const Fact& in, const StreamFact& stream) {
  if (in.dtype == DType::kF32 && !is_arg(reduce.kind_of)) {
    return reduce_stream(reduce.kind_of, reduce.reduced, in.rank(), stream);
  }
  auto op = draft_op<PulseTally>();
  op->kind = static_cast<int64_t>(reduce.kind_of);
  op->reduced = reduce.reduced;
  op->last = reduce.last;
  op->delay = stream.delay;
  op->length = stream.dim;
  return op;
}

}  // namespace

Status Reduce::pulsify(PulseBuilder& b) const {
  const auto stream = b.stream(0);
  const bool whole = stream && contains(reduced, stream->axis);
  if (!whole) return Op::pulsify(b);
  const DType type = b.in(0).dtype;
  const bool known = is_number(type) || type == DType::kBool;
  if (!known || reduced[0] != stream->axis) {
    return b.refuse(
        "Reduce over windows of frames, by a pool, or in the app; or reduce numbers, with the "
        "streaming axis before the other reduced ones",
        "reduces streaming axis ", stream->axis, ": every output needs the whole stream");
  }
  StreamFact own = *stream;
  RILL_ASSIGN(OutletId x, b.materialise(b.wire(0), &own));
  RILL_ASSIGN(x, b.hold(x, &own));
  RILL_ASSIGN(const OutletId out, b.add1(over_stream(*this, b.in(0), own), {x}));
  return b.give(0, out, {PulsedOutput::AtEnd{x, own}});
}

/// Reduce axes of fixed extents that precede a symbolic one first, so that a stream along the
/// symbolic axis reduces each frame on arrival.
Status Reduce::split(Rewrite& rewrite) const {
  std::vector<int64_t> fixed;
  std::vector<int64_t> open;
  for (const int64_t axis : reduced) {
    const bool number = rewrite.in(0).dim(static_cast<int>(axis)).is_const();
    (number ? fixed : open).push_back(axis);
  }
  if (open.empty() || open[0] == reduced[0]) return {};
  RILL_ASSIGN(const OutletId frames,
              rewrite.wire1(rewrite.node().name, make_op<Reduce>(kind_of, std::move(fixed)),
                            {rewrite.mapped(rewrite.input(0))}));
  return rewrite.replace_by(make_op<Reduce>(kind_of, std::move(open)), {frames});
}

Status Reduce::declutter(Rewrite& rewrite) const {
  if (is_arg(kind_of)) return {};
  const bool same = all_of(
      reduced, [&](int64_t axis) { return rewrite.in(0).dim(static_cast<int>(axis)) == Dim(1); });
  // A sum changes even a single element: -0 becomes 0, and a step flushes a denormal. The node
  // stays, so that a stream of one frame has the same bits.
  const bool alters = is_float(rewrite.in(0).dtype) && !reduced.empty();
  return same && !alters ? rewrite.bypass(rewrite.input(0)) : split(rewrite);
}

Result<OutletId> load_mean(LoadCtx& ctx, OutletId sum, const Dim& count, std::string_view suffix) {
  const DType type = ctx.fact(sum).dtype;
  // f16 and bf16 may not represent the sum or the count.
  const bool narrow = is_reduced_float(type);
  const DType wide = narrow ? DType::kF32 : type;
  RILL_ASSIGN(OutletId by, ctx.konst(Tensor::scalar(Dim(count)), "count"));
  RILL_ASSIGN(by, cast_to(ctx, by, wide));
  RILL_ASSIGN(sum, cast_to(ctx, sum, wide));
  if (!narrow) return load_binary(ctx, BinaryKind::kDiv, sum, by, suffix);
  RILL_ASSIGN(const OutletId mean, load_binary(ctx, BinaryKind::kDiv, sum, by, "in_f32"));
  return ctx.add1(cast_at_end(type), {mean}, suffix);
}

Cost Reduce::cost(FactSpan in, FactSpan) const {
  const Dim count = volume(in[0].shape);
  return {count, Dim(dtype_size(in[0].dtype)) * count};
}

Status Reduce::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  std::string form = names_of(kind_of).nnef;
  std::string_view registry = names_of(kind_of).registry;
  if (last) {
    form = kind_of == ReduceKind::kArgMax ? "tract_core_argmax_reduce_last"
                                          : "tract_core_argmin_reduce_last";
    registry = "tract_core";
  }
  if (registry != "tract_nnef") ctx.need_registry(registry);
  ctx.assign(str_cat(form, "(", x, ", axes = ", nnef_text(reduced), ")"));
  return {};
}

namespace {

Result<Reduce> reduce_of(LoadCtx& ctx, ReduceKind kind, OutletId x, bool last) {
  RILL_ASSIGN(const std::vector<int64_t> written, ctx.integers("axes"));
  RILL_ASSIGN(std::vector<int64_t> axes, axes_in(written, ctx.fact(x).rank()));
  return Reduce(kind, std::move(axes), last);
}

Result<Value> load_kind(LoadCtx& ctx, ReduceKind kind, bool last) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const Reduce op, reduce_of(ctx, kind, x, last));
  return ctx.add_value(make_op<Reduce>(op), {x});
}

template <ReduceKind kKind, bool kLast = false>
Result<Value> load(LoadCtx& ctx) {
  return load_kind(ctx, kKind, kLast);
}

Result<Value> load_sum(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const bool normalize, ctx.boolean("normalize"));
  RILL_ASSIGN(const Reduce op, reduce_of(ctx, ReduceKind::kSum, x, false));
  if (!normalize) {
    return ctx.add_value(make_op<Reduce>(op), {x});
  }
  Dim count = 1;
  for (const int64_t axis : op.reduced) count *= ctx.fact(x).dim(static_cast<int>(axis));
  RILL_ASSIGN(const OutletId sum, ctx.add1(make_op<Reduce>(op), {x}, "sum"));
  return as_value(load_mean(ctx, sum, count));
}

#define RILL_REDUCE(registry, name, type, ...)                                            \
  {registry,                                                                              \
   "fragment " name "(input: tensor<?>, axes: integer[]) -> (output: tensor<" type ">);", \
   load<__VA_ARGS__>}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment sum_reduce(input: tensor<scalar>, axes: integer[], normalize: logical = false)"
     " -> (output: tensor<scalar>);",
     load_sum},
    RILL_REDUCE("tract_nnef", "max_reduce", "?", ReduceKind::kMax),
    RILL_REDUCE("tract_nnef", "min_reduce", "?", ReduceKind::kMin),
    RILL_REDUCE("tract_nnef", "argmax_reduce", "integer", ReduceKind::kArgMax),
    RILL_REDUCE("tract_nnef", "argmin_reduce", "integer", ReduceKind::kArgMin),
    RILL_REDUCE("tract_nnef", "any_reduce", "logical", ReduceKind::kAny),
    RILL_REDUCE("tract_nnef", "all_reduce", "logical", ReduceKind::kAll),
    RILL_REDUCE("tract_core", "tract_core_product_reduce", "?", ReduceKind::kProduct),
    RILL_REDUCE("tract_core", "tract_core_argmax_reduce_last", "integer", ReduceKind::kArgMax,
                true),
    RILL_REDUCE("tract_core", "tract_core_argmin_reduce_last", "integer", ReduceKind::kArgMin,
                true),
};

constexpr OpClass kClasses[] = {op_class<Reduce>("Reduce")};

}  // namespace

extern const OpModule reduce_module;
const OpModule reduce_module = {"reduce", kOps, kClasses};

}  // namespace rill::ops
