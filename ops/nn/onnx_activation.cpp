#include "ops/nn/onnx_activation.h"

namespace rill::ops {

Result<std::vector<float>> numbers_of(OnnxCtx& ctx, std::string_view name) {
  std::vector<float> out;
  if (!ctx.given(name)) return out;
  RILL_ASSIGN(const Value list, ctx.value(name));
  const auto* items = list.get<std::vector<Value>>();
  RILL_CHECK(items, "attribute \"", name, "\": expected a list of numbers");
  for (const Value& item : *items) {
    const auto* number = item.get<float>();
    RILL_CHECK(number, "attribute \"", name, "\": expected a list of numbers");
    out.push_back(*number);
  }
  return out;
}

Result<OutletId> activated(Formula& f, OutletId x, std::string_view name,
                           const std::vector<float>& parameters) {
  const auto parameter = [&](size_t i, float otherwise) {
    return f.number(i < parameters.size() ? parameters[i] : otherwise, x);
  };
  const auto limited = [&](OutletId y, OutletId low, OutletId high) {
    return f.binary(BinaryKind::kMin, f.binary(BinaryKind::kMax, y, low), high);
  };
  OutletId out = x;
  if (name == "Relu") {
    out = f.binary(BinaryKind::kMax, x, f.number(0.0, x));
  } else if (name == "Tanh") {
    out = f.unary(UnaryKind::kTanh, x);
  } else if (name == "Sigmoid") {
    out = f.unary(UnaryKind::kSigmoid, x);
  } else if (name == "LeakyRelu") {
    const float alpha = parameters.empty() ? 0.01F : parameters[0];
    out = f.add(make_op<Unary>(UnaryKind::kLeakyRelu, alpha), {x});
  } else if (name == "Clip" && parameters.size() == 2) {
    out = limited(x, parameter(0, 0.0F), parameter(1, 0.0F));
  } else if (name == "HardSigmoid") {
    const OutletId line = f.plus(f.times(x, parameter(0, 0.2F)), parameter(1, 0.5F));
    out = limited(line, f.number(0.0, x), f.number(1.0, x));
  } else if (!name.empty()) {
    return fail(Code::kUnsupported, "attribute \"activation\" is ", name, " with ",
                parameters.size(), " parameters");
  }
  if (!f.ok()) return f.take_status();
  return out;
}

}  // namespace rill::ops
