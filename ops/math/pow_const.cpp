#include "ops/math/pow_const.h"

#include <cmath>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"
#include "ops/math/binary.h"

namespace rill::ops {

Result<Facts> PowConst::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (in[0].dtype != DType::kF32 && in[0].dtype != DType::kF16) {
    return fail(Code::kDType, "input ", in[0], ": expected f16 or f32");
  }
  return one_fact(in[0].without_value());
}

Status PowConst::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  visit_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_element<2>({out, x}, [&](const std::array<int64_t, 2>& at) {
      const float power = std::pow(static_cast<float>(x.as<const T>()[at[1]]), exponent);
      out.as<T>()[at[0]] = static_cast<T>(power);
    });
  });
  return {};
}

std::vector<AxisTrack> PowConst::axes(FactSpan in, FactSpan out) const {
  return elementwise_axes(in, out);
}

/// Replace the node by a `Binary` with a constant exponent: that can fuse with its neighbours.
Status PowConst::fuse(Rewrite& rewrite) const {
  const Fact& in = rewrite.in(0);
  if (in.dtype != DType::kF32) return {};
  const std::vector<int64_t> ones(static_cast<size_t>(in.rank()), 1);
  RILL_ASSIGN(Tensor power, Tensor::zeros(DType::kF32, ones));
  power.mutable_data<float>()[0] = exponent;
  const std::string& name = rewrite.node().name;
  const OutletId by = rewrite.konst(str_cat(name, "_exponent"), std::move(power));
  return rewrite.replace_by(make_op<Binary>(BinaryKind::kPow),
                            {rewrite.mapped(rewrite.input(0)), by});
}

Cost PowConst::cost(FactSpan in, FactSpan out) const {
  const Dim count = volume(out[0].shape);
  return {count, Dim(2 * dtype_size(in[0].dtype)) * count};
}

namespace {

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const float exponent, ctx.number("exponent"));
  const DType dtype = ctx.fact(x).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF16) {
    return ctx.add_value(make_op<PowConst>(exponent), {x});
  }
  RILL_ASSIGN(const OutletId by, ctx.konst(Tensor::scalar(exponent), "exponent"));
  return as_value(load_binary(ctx, BinaryKind::kPow, x, by));
}

constexpr NnefOp kOps[] = {
    {"tract_core",
     "fragment tract_core_pow_const(input: tensor<scalar>, exponent: scalar)"
     " -> (output: tensor<scalar>);",
     load},
};

constexpr OpClass kClasses[] = {op_class<PowConst>("PowConst")};

}  // namespace

Status PowConst::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule pow_const_module;
const OpModule pow_const_module = {"pow_const", kOps, kClasses};

}  // namespace rill::ops
