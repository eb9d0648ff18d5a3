#include "ops/array/pad.h"

#include <algorithm>
#include <cstring>

#include "core/base/search.h"
#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/graph/typed.h"
#include "core/tensor/strided_copy.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/array/extend_stream.h"
#include "ops/array/open_pad.h"
#include "ops/array/pad_step.h"
#include "ops/array/symbolic.h"

namespace rill::ops {
namespace {

constexpr std::string_view kConstant = "constant";
constexpr std::string_view kReplicated = "replicated";
constexpr std::string_view kReflect = "reflect";

/// Return the input index for an output index, given that the input begins at output index
/// `before`.
int64_t source_index(std::string_view mode, int64_t at, int64_t before, int64_t extent) {
  const int64_t i = at - before;
  if (mode == kReplicated) return std::clamp<int64_t>(i, 0, extent - 1);
  if (i < 0) return -i;
  return i < extent ? i : 2 * (extent - 1) - i;
}

/// Return the part of the output that holds the input.
template <class T>
T inner_part(const T& out, const Pads& pads) {
  T inner = out;
  for (size_t i = 0; i < pads.size(); ++i) {
    inner.shape[i] = out.shape[i] - pads[i].first - pads[i].second;
  }
  return inner;
}

int64_t inner_offset(const View& out, const Pads& pads) {
  int64_t offset = 0;
  for (size_t i = 0; i < pads.size(); ++i) offset += pads[i].first * out.stride[i];
  return offset;
}

void eval_mirrored(const Pad& op, const View& x, const View& out) {
  visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    Walker to(out);
    for (int64_t n = out.volume(); n > 0; --n, to.next()) {
      int64_t from = 0;
      for (size_t i = 0; i < op.pads.size(); ++i) {
        from += x.stride[i] * source_index(op.mode, to.index()[i], op.pads[i].first, x.shape[i]);
      }
      out.as<T>()[to.offset()] = x.as<const T>()[from];
    }
  });
}

/// Emit a fill of a box, without its unit axes. Return false if it has too many other axes.
bool emit_fill(Lowering& lowering, const Operand& box, const Tensor& value) {
  FillArgs args{box, 0};
  args.to.rank = 0;
  for (int axis : Lowering::physical_order(box)) {
    if (box.extent(axis) == 1) continue;
    if (args.to.rank == kCopyMaxRank) return false;
    const auto i = static_cast<size_t>(args.to.rank++);
    args.to.shape[i] = box.extent(axis);
    args.to.stride[i] = box.step(axis);
  }
  std::memcpy(&args.value, value.raw(), static_cast<size_t>(dtype_size(value.dtype())));
  lowering.step(kFill, args, {}, {box});
  return true;
}

}  // namespace

Result<Facts> Pad::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  RILL_CHECK(static_cast<int>(pads.size()) == in[0].rank(), "padding ", nnef_text(pads),
             ": expected ", in[0].rank(), " pairs for ", in[0]);
  if (mode != kConstant && mode != kReplicated && mode != kReflect) {
    return fail(Code::kUnsupported, "border \"", mode,
                "\": expected \"constant\", \"replicated\" or \"reflect\"");
  }
  if (!is_plain(in[0].dtype) || !value || value->volume() != 1 || value->dtype() != in[0].dtype) {
    return fail(Code::kDType, "can not pad ", in[0], " with a value of ",
                value ? dtype_name(value->dtype()) : "no type");
  }
  RILL_TRY(expect_type_of("value", *value, in[0]));
  Fact out = in[0].without_value();
  for (size_t i = 0; i < pads.size(); ++i) {
    const auto [before, after] = pads[i];
    RILL_CHECK(before >= 0 && after >= 0, "padding ", nnef_text(pads), ": expected 0 or more");
    const auto extent = out.shape[i].to_int();
    const int64_t most = std::max(before, after);
    if (extent && most > 0 && mode != kConstant) {
      const int64_t needed = mode == kReflect ? most + 1 : 1;
      RILL_CHECK(*extent >= needed, "border \"", mode, "\" of ", most, " on axis ", i, " of ",
                 in[0], " needs an extent of ", needed);
    }
    out.shape[i] = out.shape[i] + Dim(before) + Dim(after);
  }
  return one_fact(std::move(out));
}

Status Pad::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  if (mode != kConstant) {
    if (out.volume() > 0) eval_mirrored(*this, x, out);
    return {};
  }
  const View fill = value->view();
  View every = fill;
  every.rank = out.rank;
  every.shape = out.shape;
  every.stride = {};
  copy_view(every, out);
  View inner = inner_part(out, pads);
  inner.data = static_cast<std::byte*>(out.data) + inner_offset(out, pads) * dtype_size(out.dtype);
  copy_view(x, inner);
  return {};
}

Status Pad::lower(Lowering& lowering) const {
  if (lowering.out_shape(0).rank > kCopyMaxRank) return Op::lower(lowering);
  const Operand out = lowering.make_out(0, Lowering::physical_order(lowering.in(0)));
  if (mode != kConstant) {
    Operand inner = inner_part(out, pads);
    for (int axis = 0; axis < out.rank; ++axis) {
      inner.advance(axis, pads[static_cast<size_t>(axis)].first);
    }
    if (inner.volume() == 0) return {};
    lowering.copy(lowering.in(0), inner);
    BorderArgs args{out, pads, mode == kReflect};
    lowering.step(kBorder, std::move(args), {}, {out});
    return {};
  }
  // Fill slabs before and after each axis, without the parts that earlier axes covered.
  Operand open = out;
  for (int axis = 0; axis < out.rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const auto [before, after] = pads[i];
    Operand slab = open;
    slab.shape[i] = before;
    if (slab.volume() > 0) emit_fill(lowering, slab, *value);
    slab = open;
    slab.shape[i] = after;
    slab.advance(axis, open.shape[i] - after);
    if (slab.volume() > 0) emit_fill(lowering, slab, *value);
    open.shape[i] -= before + after;
    open.advance(axis, before);
  }
  if (open.volume() > 0) lowering.copy(lowering.in(0), open);
  return {};
}

std::vector<AxisTrack> Pad::axes(FactSpan in, FactSpan) const {
  std::vector<AxisTrack> tracks;
  for (int axis = 0; axis < in[0].rank(); ++axis) {
    const auto [before, after] = pads[static_cast<size_t>(axis)];
    if (before == 0 && after == 0) tracks.push_back({{axis}, {axis}});
  }
  return tracks;
}

Status Pad::pulsify(PulseBuilder& b) const {
  const auto found = b.stream(0);
  if (!found) return Op::pulsify(b);
  StreamFact stream = *found;
  const auto on = static_cast<size_t>(stream.axis);
  const auto [before, after] = pads[on];
  if (before == 0 && after == 0) return Op::pulsify(b);
  // The frames after the last one repeat frames that lie anywhere in a short stream.
  const bool repeats = mode != kConstant && after > 0;
  b.reads_from(0, repeats ? 0 : 1, repeats ? 0 : -before);
  OutletId wire = b.wire(0);
  Pads others = pads;
  others[on] = {0, 0};
  const bool other_axes =
      any_of(others, [](const auto& pair) { return pair.first != 0 || pair.second != 0; });
  if (other_axes) {
    if (stream.has_prefix()) {
      RILL_ASSIGN(wire, b.materialise(wire, &stream));
    }
    RILL_ASSIGN(wire, b.add1("other_axes", make_op<Pad>(others, mode, value), {wire}));
  }
  if (mode == kConstant) {
    RILL_ASSIGN(wire, extend_stream(b, wire, &stream, {before, *value, after, *value}));
  } else {
    RILL_ASSIGN(wire, b.pad_edges(wire, &stream, {before, after, mode == kReflect}));
  }
  stream.dim = b.out(0).dim(stream.axis);
  b.set(0, wire, stream);
  return {};
}

OpTraits Pad::traits() const {
  if (mode != kConstant) return {.precision = Precision::kMoves};
  const auto border = element_as_double(*value, 0);
  const bool zero = border.ok() && *border == 0.0;
  return {.moves = zero ? Moves::kAmongZeros : Moves::kAmongOthers,
          .precision = Precision::kMoves};
}

Status Pad::declutter(Rewrite& rewrite) const {
  if (rewrite.in(0).shape == rewrite.out().shape) return rewrite.bypass(rewrite.input(0));
  const auto* first = rewrite.producer_as<Pad>(0);
  if (!first || first->mode != mode || mode != kConstant || !first->value->same_bits(*value)) {
    return {};
  }
  Pads both = pads;
  for (size_t i = 0; i < both.size(); ++i) {
    both[i].first += first->pads[i].first;
    both[i].second += first->pads[i].second;
  }
  return rewrite.replace_by(make_op<Pad>(std::move(both), mode, value),
                            {rewrite.mapped(rewrite.producer(0).inputs[0])});
}

Status Pad::save(SaveCtx& ctx) const {
  RILL_ASSIGN(const std::string x, ctx.in(0));
  RILL_ASSIGN(const double fill, element_as_double(*value, 0));
  const auto number = static_cast<float>(fill);
  const Fact& in = ctx.graph().fact(ctx.node().inputs[0]);
  const auto read = as_type_of(Tensor::scalar(number), in);
  std::string text = nnef_text(number);
  if (!read.ok() || !read->same_bits(*value)) {
    RILL_ASSIGN(text, ctx.literal(*value));
  }
  ctx.assign(str_cat("pad(", x, ", padding = ", nnef_text(pads), ", border = ", nnef_text(mode),
                     ", value = ", text, ")"));
  return {};
}

namespace {

/// Read `value`: a number, or a constant for values that f32 cannot represent.
Result<TensorPtr> fill_of(LoadCtx& ctx) {
  RILL_ASSIGN(const Value given, ctx.value("value"));
  if (const auto* wire = given.get<OutletId>()) {
    const TensorPtr konst = ctx.fact(*wire).konst;
    if (konst && konst->rank() == 0) return konst;
  }
  RILL_ASSIGN(const float number, ctx.number("value"));
  return std::make_shared<const Tensor>(Tensor::scalar(number));
}

/// Pad axes whose amounts are symbolic, and return the other amounts. Nothing if `padding` is not a
/// list of pairs, one per axis.
Result<std::optional<Pads>> pad_by_sizes(LoadCtx& ctx, const std::string& border,
                                         const Tensor& value, OutletId* x) {
  RILL_ASSIGN(const Value written, ctx.value("padding"));
  const auto* list = written.get<std::vector<Value>>();
  if (!list || list->size() != ctx.fact(*x).shape.size()) return std::optional<Pads>();
  std::vector<OpenPads> open;
  Pads out;
  for (const Value& each : *list) {
    const auto* pair = each.get<std::vector<Value>>();
    if (!pair || pair->size() != 2) return std::optional<Pads>();
    const auto before = computed_dim(ctx, (*pair)[0]);
    const auto after = computed_dim(ctx, (*pair)[1]);
    if (!before || !after) return std::optional<Pads>();
    const auto first = before->to_int();
    const auto last = after->to_int();
    const bool known = first && last;
    if (!known) open.push_back({static_cast<int>(out.size()), *before, *after});
    out.emplace_back(known ? *first : 0, known ? *last : 0);
  }
  RILL_ASSIGN(*x, pad_open(ctx, *x, open, border, value));
  return std::optional(std::move(out));
}

Result<Value> load_pad(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(std::string border, ctx.text("border"));
  if (border == "replicate" || border == "edge") border = kReplicated;
  const Fact in = ctx.fact(x);
  RILL_ASSIGN(TensorPtr value, fill_of(ctx));
  RILL_ASSIGN(Tensor fill, as_type_of(*value, in));
  value = std::make_shared<const Tensor>(std::move(fill));
  auto numbers = ctx.pads("padding");
  if (!numbers.ok()) {
    RILL_ASSIGN(auto by_sizes, pad_by_sizes(ctx, border, *value, &x));
    if (by_sizes) numbers = *std::move(by_sizes);
  }
  RILL_ASSIGN(Pads pads, std::move(numbers));
  RILL_ASSIGN(const OutletId out,
              ctx.add1(make_op<Pad>(std::move(pads), std::move(border), std::move(value)), {x}));
  return as_value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment pad(input: tensor<scalar>, padding: (integer, integer)[], border: string ="
     " 'constant', value: scalar = 0.0) -> (output: tensor<scalar>);",
     load_pad},
};

constexpr OpClass kClasses[] = {op_class<Pad>("Pad")};

}  // namespace

extern const OpModule pad_module;
const OpModule pad_module = {"pad", kOps, kClasses};

}  // namespace rill::ops
