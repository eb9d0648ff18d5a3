#include "ops/stream/length.h"

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "ops/stream/length_step.h"

namespace rill::ops {

void PulseLength::fields(FieldVisitor& visitor) { visitor.field("value", value); }

// The stream symbol stays: its value is known only at the end.
OpPtr PulseLength::with_symbol(std::string_view, const Dim&) const { return nullptr; }

Result<Facts> PulseLength::infer(FactSpan) const {
  if (!value || value->dtype() != DType::kDim) return fail(Code::kDType, "value: expected dims");
  Fact out = Fact::of_tensor(value);
  return one_fact(out.without_value());
}

Status PulseLength::eval(EvalCtx&) const {
  return fail(Code::kUnsupported, "the length of a stream is known in a prepared plan only");
}

Status PulseLength::lower(Lowering& lowering) const {
  const auto dims = value->values<Dim>();
  const Operand to = lowering.make_out(0);
  LengthArgs args{{}, to.ref};
  for (const Dim& dim : dims) args.extents.push_back(lowering.extent(dim));
  lowering.step(kLength, std::move(args), {}, {to});
  return {};
}

Status PulseLength::save(SaveCtx& ctx) const {
  const auto dims = value->values<Dim>();
  ctx.need_registry("rill_pulse");
  ctx.assign(str_cat("rill_pulse_length(", ctx.dims({dims.data(), dims.size()}),
                     ", shape = ", nnef_text(std::span<const int64_t>(value->shape())), ")"));
  return {};
}

namespace {

Result<Value> load_length(LoadCtx& ctx) {
  RILL_ASSIGN(const std::vector<Dim> dims, ctx.dims("value"));
  RILL_ASSIGN(const std::vector<int64_t> shape, ctx.integers("shape"));
  RILL_ASSIGN(Tensor value, Tensor::of<Dim>(DType::kDim, shape, dims));
  auto op = draft_op<PulseLength>(std::make_shared<const Tensor>(std::move(value)));
  return ctx.add_value(std::move(op), {});
}

const NnefOp kOps[] = {
    {"rill_pulse",
     "fragment rill_pulse_length<?>(value: integer[], shape: integer[]) -> (output: tensor<?>);",
     load_length}};

}  // namespace

extern const OpModule length_module;
const OpModule length_module = {"length", kOps};

}  // namespace rill::ops
