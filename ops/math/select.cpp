#include "ops/math/select.h"

#include <cmath>
#include <optional>

#include "core/exec/lowering.h"
#include "core/graph/course.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "core/tensor/uniform.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"
#include "ops/math/pointwise.h"
#include "ops/math/select_step.h"
#include "ops/math/stable.h"

namespace rill::ops {

Result<Facts> Select::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 3));
  if (in[0].dtype != DType::kBool) {
    return fail(Code::kDType, "expected a condition of type Bool, found ", in[0]);
  }
  if (in[1].dtype != in[2].dtype || !(in[1].q == in[2].q)) {
    return fail(Code::kDType, "expected two branches of one type, found ", in[1], " and ", in[2]);
  }
  Fact out{in[1].dtype, in[1].q, in[0].shape, {}};
  for (int i = 1; i < 3; ++i) {
    const Fact& fact = in[static_cast<size_t>(i)];
    RILL_CHECK(fact.rank() == out.rank(), "expected inputs of one rank, found ", in[0], ", ", in[1],
               " and ", in[2]);
    for (int axis = 0; axis < out.rank(); ++axis) {
      Dim& extent = out.shape[static_cast<size_t>(axis)];
      extent = broadcast(extent, fact.dim(axis));
      RILL_CHECK(extent.valid(), "extents of axis ", axis, " clash: ", in[0], ", ", in[1], " and ",
                 in[2]);
    }
  }
  return one_fact(std::move(out));
}

Status Select::eval(EvalCtx& ctx) const {
  const View& out = ctx.out[0];
  const View condition = stretched(ctx.in[0], out);
  const View a = stretched(ctx.in[1], out);
  const View b = stretched(ctx.in[2], out);
  if (is_plain(out.dtype)) {
    select_elements(condition, a, b, out);
    return {};
  }
  visit_object(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<4>({out, condition, a, b}, [&](const std::array<int64_t, 4>& at) {
      out.as<T>()[at[0]] = condition.as<const uint8_t>()[at[1]] != 0 ? a.as<const T>()[at[2]]
                                                                     : b.as<const T>()[at[3]];
    });
  });
  return {};
}

Status Select::lower(Lowering& lowering) const {
  if (!is_plain(lowering.in(1).dtype)) return Op::lower(lowering);
  const Operand& condition = lowering.in(0);
  const Operand& a = lowering.in(1);
  const Operand& b = lowering.in(2);
  const Operand out = lowering.make_out(0);
  lowering.step(kSelect,
                {stretched(condition, out), stretched(a, out), stretched(b, out), out},
                {condition, a, b}, {out});
  return {};
}

Course Select::course() const {
  return {.form = Course::Form::kPerElement, .function = Course::Function::kChoice};
}

std::vector<AxisTrack> Select::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

namespace {

/// Return the number that every element of a float constant equals; nothing for other wires.
std::optional<double> uniform_float(const TensorPtr& value) {
  if (!value || !is_float(value->dtype()) || value->volume() == 0 || !is_uniform(value)) {
    return std::nullopt;
  }
  const auto number = element_as_double(*value, 0);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

/// Replace a selection between a wire and a constant by a maximum or a minimum. `x < c ? c : x`
/// keeps a NaN; `x > c ? x : c` replaces a NaN by c.
Status as_limit(Rewrite& rewrite) {
  const std::string_view compare = rewrite.producer(0).op->name();
  const bool below = compare == Binary(BinaryKind::kLt).name();
  if (!below && compare != Binary(BinaryKind::kGt).name()) return {};
  const std::vector<OutletId>& compared = rewrite.producer(0).inputs;
  const bool takes_number = compared[0] == rewrite.input(1);
  if (!takes_number && compared[0] != rewrite.input(2)) return {};
  const Fact& chosen = rewrite.in(takes_number ? 2 : 1);
  const Fact& bound = rewrite.old_graph().fact(compared[1]);
  const auto limit = uniform_float(chosen.konst), other = uniform_float(bound.konst);
  const bool same = limit && other && *limit == *other &&
                    std::signbit(*limit) == std::signbit(*other) && chosen.shape == bound.shape;
  if (!same) return {};
  auto kind = below ? BinaryKind::kMax : BinaryKind::kMin;
  if (takes_number) kind = below ? BinaryKind::kMinNumber : BinaryKind::kMaxNumber;
  return rewrite.replace_by(make_op<Binary>(kind),
                            {rewrite.mapped(compared[0]), rewrite.mapped(compared[1])});
}

}  // namespace

Status Select::declutter(Rewrite& rewrite) const {
  const TensorPtr& condition = rewrite.in(0).konst;
  if (!condition) {
    RILL_TRY(stable_angle(rewrite));
    return rewrite.replacement() ? Status() : as_limit(rewrite);
  }
  if (!is_uniform(condition)) return {};
  const int taken = condition->data<uint8_t>()[0] != 0 ? 1 : 2;
  if (!(rewrite.in(taken).shape == rewrite.out().shape)) return {};
  return rewrite.bypass(rewrite.input(taken));
}

Status Select::fuse(Rewrite& rewrite) const { return fuse_elementwise(rewrite); }

namespace {

Result<Value> load_select(LoadCtx& ctx) {
  RILL_ASSIGN(OutletId condition, plain_wire(ctx, "condition"));
  RILL_ASSIGN(OutletId a, plain_wire(ctx, "true_value"));
  RILL_ASSIGN(OutletId b, plain_wire(ctx, "false_value"));
  RILL_ASSIGN(condition, cast_to(ctx, condition, DType::kBool));
  // Selections of positions mix frame counts and integers.
  const DType types[] = {ctx.fact(a).dtype, ctx.fact(b).dtype};
  if (types[0] == DType::kDim && is_int(types[1])) {
    RILL_ASSIGN(b, cast_to(ctx, b, DType::kDim));
  } else if (types[1] == DType::kDim && is_int(types[0])) {
    RILL_ASSIGN(a, cast_to(ctx, a, DType::kDim));
  } else if (means_pytorch(ctx.graph())) {
    if (is_whole(types[0]) && is_float(types[1])) {
      RILL_ASSIGN(a, cast_to(ctx, a, types[1]));
    } else if (is_whole(types[1]) && is_float(types[0])) {
      RILL_ASSIGN(b, cast_to(ctx, b, types[0]));
    }
  }
  RILL_ASSIGN(const std::vector<OutletId> aligned, align_ranks(ctx, {condition, a, b}));
  return ctx.add_value(make_op<Select>(), aligned);
}

constexpr NnefOp kOps[] = {
    {"tract_nnef",
     "fragment select<?>(condition: tensor<logical>, true_value: tensor<?>,"
     " false_value: tensor<?>) -> (output: tensor<?>);",
     load_select},
};

constexpr OpClass kClasses[] = {op_class<Select>("Select")};

}  // namespace

Status Select::pulsify(PulseBuilder& builder) const {
  builder.chooses();
  return Op::pulsify(builder);
}

Status Select::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule select_module;
const OpModule select_module = {"select", kOps, kClasses};

}  // namespace rill::ops
