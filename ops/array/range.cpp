#include "ops/array/range.h"

#include <cmath>

#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/graph/size_trace.h"
#include "ops/array/cast.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

// The maximum number of elements that a file may request without containing their data.
constexpr int64_t kMaxElements = int64_t{1} << 28;

}  // namespace

Result<Facts> Range::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 0));
  RILL_CHECK(step != 0 && step != INT64_MIN, "step ", step, ": expected another number");
  const Dim distance = step > 0 ? end - start : start - end;
  const auto number = distance.to_int();
  const int64_t stride = std::abs(step);
  if (number) {
    RILL_CHECK(*number != INT64_MIN, "range from ", start, " to ", end, " is out of range");
    // If a stream ends before the start, an open range is empty.
    if (open && *number < 0) return one_fact(Fact::of(DType::kI64, {Dim(0)}));
    const int64_t length = std::abs(*number) / stride + (std::abs(*number) % stride != 0 ? 1 : 0);
    return one_fact(Fact::of(DType::kI64, {Dim(length)}));
  }
  return one_fact(Fact::of(DType::kI64, {ceil_div(distance, stride)}));
}

Course Range::course() const {
  return {.form = Course::Form::kCounted, .begin = &start, .end = &end, .step = step};
}

Status Range::eval(EvalCtx& ctx) const {
  const auto first = start.is_const() ? start.to_int() : ctx.value_of(start);
  if (!first) RILL_NOT_IN_STEPS(return start.as_int().take_status();)
  const View& out = ctx.out[0];
  auto value = static_cast<uint64_t>(*first);
  for (int64_t i = 0; i < out.extent(0); ++i, value += static_cast<uint64_t>(step)) {
    out.as<int64_t>()[i * out.step(0)] = static_cast<int64_t>(value);
  }
  return {};
}

std::optional<SizeRatio> Range::size(const SizeTrace& trace) const {
  return trace.place() ? size_of(start + Dim(step) * *trace.place()) : std::nullopt;
}

Status Range::pulsify(PulseBuilder& b) const {
  // Between scores and values, a range along another axis is the same in every pulse.
  if (b.scores() && !b.scores()->square().has(0)) return Op::pulsify(b);
  RILL_ASSIGN(const OutletId wire, b.count(0, start, step));
  StreamFact stream;
  stream.dim = b.out(0).dim(0);
  b.set(0, wire, stream);
  return {};
}

Status Range::declutter(Rewrite& rewrite) const {
  const auto length = rewrite.out().dim(0).to_int();
  if (open || !start.is_const() || !length || *length > kMaxElements) return {};
  RILL_ASSIGN(Tensor value, Tensor::zeros(DType::kI64, {*length}));
  const View out[] = {value.view()};
  EvalCtx ctx;
  ctx.out = out;
  RILL_TRY(eval(ctx));
  return rewrite.replace({rewrite.konst(rewrite.node().name, std::move(value))});
}

Status Range::save(SaveCtx& ctx) const {
  ctx.need_registry("tract_core");
  const auto distance = (step > 0 ? end - start : start - end).to_int();
  const bool is_empty = open && distance.value_or(0) < 0;
  ctx.assign(str_cat("tract_core_range(", ctx.dim(start), ", ", ctx.dim(is_empty ? start : end),
                     ", ", step, ")"));
  return {};
}

namespace {

/// Count in a float type by repeated addition; its rounding errors are part of the operator's
/// definition.
template <class T>
Result<Tensor> counted(DType dtype, double start, double end, double step) {
  const double length = std::ceil((end - start) / step);
  RILL_CHECK(step != 0.0 && std::isfinite(length) && length <= static_cast<double>(kMaxElements),
             "range from ", start, " to ", end, " by ", step, " has no sensible length");
  RILL_ASSIGN(Tensor out,
              Tensor::zeros(dtype, {static_cast<int64_t>(std::max(length, 0.0))}));
  T value = narrow<T>(static_cast<Wide<T>>(start));
  const auto by = upcast(narrow<T>(static_cast<Wide<T>>(step)));
  for (int64_t i = 0; i < out.volume(); ++i) {
    out.mutable_data<T>()[i] = value;
    value = narrow<T>(upcast(value) + by);
  }
  return out;
}

Result<Value> load_floats(LoadCtx& ctx, const TensorPtr* bounds) {
  double number[3];
  for (int i = 0; i < 3; ++i) {
    RILL_ASSIGN(number[i], element_as_double(*bounds[i], 0));
  }
  const DType dtype = bounds[0]->dtype();
  Result<Tensor> out = fail(Code::kDType, "no range of ", dtype_name(dtype));
  if (dtype == DType::kF16) out = counted<Half>(dtype, number[0], number[1], number[2]);
  if (dtype == DType::kBF16) out = counted<BFloat16>(dtype, number[0], number[1], number[2]);
  if (dtype == DType::kF32) out = counted<float>(dtype, number[0], number[1], number[2]);
  if (dtype == DType::kF64) out = counted<double>(dtype, number[0], number[1], number[2]);
  if (!out.ok()) return out.take_status();
  return as_value(ctx.konst(std::move(out).value()));
}

/// Count between numbers that inputs give.
/// Shapes: start, end and step with one element each -> [`count`], a symbol until they are known.
/// Types: integers of one type, kept. Errors: kShape, kDType; kUnsupported at prepare.
/// Stream: refused.
/// Source: tract, `tract_core_range`.
class OpenRange final : public OpBase<OpenRange> {
 public:
  Dim count;
  std::string_view name() const override { return "Range"; }
  void fields(FieldVisitor& visitor) override { visitor.field("count", count); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 3));
    int64_t bounds[3] = {};
    bool known = true;
    for (size_t i = 0; i < 3; ++i) {
      RILL_CHECK(volume(in[i].shape) == Dim(1), "bound ", in[i], ": expected one number");
      if (!is_int(in[i].dtype) || in[i].dtype != in[0].dtype) {
        return fail(Code::kDType, "bound ", in[i], ": expected integers of one type");
      }
      known &= in[i].konst != nullptr;
      if (!in[i].konst) continue;
      RILL_ASSIGN(bounds[i], element_as_int(*in[i].konst, 0));
    }
    if (!known) return one_fact(Fact::of(in[0].dtype, {count}));
    RILL_ASSIGN(const Facts counted, Range(Dim(bounds[0]), Dim(bounds[1]), bounds[2]).infer({}));
    return one_fact(Fact::of(in[0].dtype, counted[0].shape));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& out = ctx.out[0];
    visit_number(out.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) {
        const auto step = static_cast<uint64_t>(*ctx.in[2].as<const T>());
        auto value = static_cast<uint64_t>(*ctx.in[0].as<const T>());
        for (int64_t i = 0; i < out.extent(0); ++i, value += step) {
          out.as<T>()[i * out.step(0)] = static_cast<T>(value);
        }
      }
    });
    return {};
  }
  Status lower(Lowering&) const override {
    return fail(Code::kUnsupported, "it counts to ", count, ", which the values of inputs decide")
        .hint("Give the bounds as constants, or cut the graph before this operator");
  }
  Status save(SaveCtx& ctx) const override {
    RILL_ASSIGN(const std::string start, ctx.in(0));
    RILL_ASSIGN(const std::string end, ctx.in(1));
    RILL_ASSIGN(const std::string step, ctx.in(2));
    ctx.need_registry("tract_core");
    ctx.assign(str_cat("tract_core_range(", start, ", ", end, ", ", step, ")"));
    return {};
  }
};

Result<Value> load_open(LoadCtx& ctx, std::vector<OutletId> bounds) {
  auto op = draft_op<OpenRange>();
  const std::string symbol = ctx.graph().scope.fresh("range");
  ctx.graph().scope.declare(symbol);
  op->count = Dim::symbol(symbol);
  const DType first = ctx.fact(bounds[0]).dtype;
  const DType dtype = is_int(first) ? first : DType::kI64;
  for (OutletId& bound : bounds) {
    RILL_ASSIGN(bound, cast_to(ctx, bound, dtype));
  }
  return ctx.add_value(std::move(op), std::move(bounds));
}

Result<Value> load_range(LoadCtx& ctx) {
  TensorPtr bounds[3];
  const char* names[] = {"start", "end", "step"};
  std::vector<OutletId> wires;
  bool open = false;
  for (const char* name : names) {
    RILL_ASSIGN(wires.emplace_back(), ctx.wire(name));
    open |= ctx.fact(wires.back()).konst == nullptr;
  }
  if (open) return load_open(ctx, std::move(wires));
  for (int i = 0; i < 3; ++i) {
    const OutletId wire = wires[static_cast<size_t>(i)];
    bounds[i] = ctx.fact(wire).konst;
    if (bounds[i]->volume() != 1) {
      return fail(Code::kUnsupported, names[i], " of a range is ", ctx.fact(wire),
                  ": expected one number");
    }
    if (is_float(bounds[i]->dtype()) != is_float(bounds[0]->dtype())) {
      return fail(Code::kDType, "start, end and step of a range are not of one type: ",
                  dtype_name(bounds[0]->dtype()), " and ", dtype_name(bounds[i]->dtype()));
    }
  }
  if (is_float(bounds[0]->dtype())) return load_floats(ctx, bounds);
  RILL_ASSIGN(const Dim start, element_as_dim(*bounds[0], 0));
  RILL_ASSIGN(const Dim end, element_as_dim(*bounds[1], 0));
  RILL_ASSIGN(const int64_t step, element_as_int(*bounds[2], 0));
  const DType asked = bounds[0]->dtype();
  RILL_ASSIGN(OutletId out, ctx.add1(make_op<Range>(start, end, step), {}));
  if (is_int(asked)) {
    RILL_ASSIGN(out, cast_to(ctx, out, asked));
  }
  return as_value(out);
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_range(start: integer, end: integer, step: integer)"
     " -> (output: tensor<?>);",
     load_range},
};

constexpr OpClass kClasses[] = {op_class<Range>("Range")};

}  // namespace

extern const OpModule range_module;
const OpModule range_module = {"range", kOps, kClasses};

}  // namespace rill::ops
