#include "ops/math/lengths.h"

#include <limits>

#include "core/exec/lowering.h"
#include "core/graph/nnef.h"
#include "core/graph/pulse.h"
#include "ops/array/common.h"
#include "ops/array/elements.h"

namespace rill::ops {
namespace {

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

}  // namespace

Result<Facts> Lengths::infer(FactSpan in) const {
  RILL_TRY(expect_inputs(in, 1));
  if (!is_int(in[0].dtype)) return fail(Code::kDType, "expected integers, found ", in[0]);
  const auto most = frames.to_int();
  for (int64_t i = 0; most && in[0].konst && i < in[0].konst->volume(); ++i) {
    RILL_ASSIGN(const int64_t length, element_as_int(*in[0].konst, i));
    RILL_CHECK(length >= 0 && length <= *most, "a sequence of ", counted(length, "frame"),
               " on an axis of ", *most);
  }
  return one_fact(in[0].without_value());
}

std::optional<NumberRange> Lengths::indices(int, FactSpan) const {
  return NumberRange{0, frames.to_int().value_or(kEndless)};
}

Status Lengths::eval(EvalCtx& ctx) const {
  copy_view(ctx.in[0], ctx.out[0]);
  return {};
}

Status Lengths::pulsify(PulseBuilder& b) const {
  if (!frames.mentions(b.symbol())) return Op::pulsify(b);
  if (b.stream(0)) return Lengths(Dim(kEndless)).Op::pulsify(b);
  return b.give(0, b.wire(0), {PulsedOutput::Still{b.await(0), 0, 0}});
}

Status Lengths::lower(Lowering& lowering) const {
  lowering.set_out(0, lowering.in(0));
  return {};
}

namespace {

constexpr NnefOp kOps[] = {
    {"rill_onnx",
     "fragment rill_onnx_lengths(input: tensor<integer>, frames: integer)"
     " -> (output: tensor<integer>);",
     load_on_input<Lengths>},
};

constexpr OpClass kClasses[] = {op_class<Lengths>("Lengths")};

}  // namespace

Status Lengths::save(SaveCtx& ctx) const { return ctx.assign_declared(kOps[0]); }

extern const OpModule lengths_module;
const OpModule lengths_module = {"lengths", kOps, kClasses};

}  // namespace rill::ops
