#include "core/graph/nnef.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

bool holds_bits(DType type) {
  return is_plain(type) && !is_quantised(type) && type != DType::kBlob;
}

/// Reinterpret the bits of each element as another type of the same size.
/// Shapes: any, kept.
/// Types: bool, integers and floats; to bool, any nonzero byte becomes true. Errors: kDType.
/// Stream: pointwise.
/// Source: ONNX, `BitCast`.
class BitCast final : public OpBase<BitCast> {
 public:
  DType to = DType::kF32;

  std::string_view name() const override { return "BitCast"; }
  void fields(FieldVisitor& visitor) override { visitor.field("to", to); }
  Result<Facts> infer(FactSpan in) const override {
    RILL_TRY(expect_inputs(in, 1));
    const DType from = in[0].dtype;
    if (!holds_bits(from) || !holds_bits(to) || dtype_size(from) != dtype_size(to)) {
      return fail(Code::kDType, "input ", in[0], " as ", dtype_name(to),
                  ": expected two types of numbers of the same size");
    }
    return one_fact(Fact::of(to, in[0].shape));
  }
  Status eval(EvalCtx& ctx) const override {
    const View& x = ctx.in[0];
    const View& y = ctx.out[0];
    visit_plain_size(to, [&](auto tag) {
      using T = decltype(tag);
      for_each_element<2>({x, y}, [&](const std::array<int64_t, 2>& at) {
        const T bits = x.as<const T>()[at[0]];
        y.as<T>()[at[1]] = to == DType::kBool ? static_cast<T>(bits != T{}) : bits;
      });
    });
    return {};
  }
  std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const override {
    return elementwise_axes(in, out);
  }
  Status save(SaveCtx& ctx) const override;
};

Result<Value> load(LoadCtx& ctx) {
  RILL_ASSIGN(const OutletId x, plain_wire(ctx, "input"));
  RILL_ASSIGN(const std::string name, ctx.text("to"));
  const auto type = dtype_from_name(name);
  if (!type) return fail(Code::kDType, "no type \"", name, "\"");
  auto op = draft_op<BitCast>();
  op->to = *type;
  return ctx.add_value(std::move(op), {x});
}

constexpr NnefOp kOps[] = {
    {"rill_onnx",
     "fragment rill_onnx_bit_cast(input: tensor<?>, to: string) -> (output: tensor<?>);", load},
};

constexpr OpClass kClasses[] = {op_class<BitCast>("BitCast")};

}  // namespace

Status BitCast::save(SaveCtx& ctx) const {
  return ctx.assign_declared(kOps[0], {{"to", nnef_text(dtype_lower_name(to))}});
}

extern const OpModule bit_cast_module;
const OpModule bit_cast_module = {"bit_cast", kOps, kClasses};

}  // namespace rill::ops
