#include "onnx_loader/build/in_f32.h"

namespace rill::onnx {

Result<OutletId> CallInF32::cast(OutletId wire, DType to, const nnef::Naming& naming) {
  const nnef::CallArgument arguments[] = {
      {"input", nullptr, Value(wire)}, {"to", nullptr, Value(std::string(dtype_lower_name(to)))}};
  return builder_.invoke_needed("tract_core_cast", arguments, scope_, naming);
}

Status CallInF32::upcast_one(Value* value) {
  const auto* wire = value->get<OutletId>();
  if (!wire) return {};
  const DType type = scope_.target->graph.fact(*wire).dtype;
  if (!is_float(type)) return {};
  if (!type_) type_ = type;
  const bool narrow = type == DType::kF16 || type == DType::kBF16;
  one_type_ &= narrow;
  if (!narrow) return {};
  const nnef::Naming naming{str_cat(name_, "_wide"), true, false, {}, {}, {}};
  RILL_ASSIGN(*value, as_value(cast(*wire, DType::kF32, naming)));
  return {};
}

Status CallInF32::upcast(std::vector<nnef::CallArgument>* arguments) {
  for (nnef::CallArgument& argument : *arguments) {
    const auto* list = argument.value.get<nnef::List>();
    if (!list) {
      RILL_TRY(upcast_one(&argument.value));
      continue;
    }
    std::vector<Value> wide(list->begin(), list->end());
    for (Value& each : wide) RILL_TRY(upcast_one(&each));
    argument.value = Value(std::move(wide));
  }
  return {};
}

void CallInF32::rename(nnef::Naming* naming) {
  targets_ = naming->targets;
  if (!narrows()) return;
  naming->statement = str_cat(name_, "_in_f32");
  for (std::string& target : naming->targets) target += "_in_f32";
}

Status CallInF32::narrow(std::vector<OutletId>* results) {
  if (!narrows()) return {};
  for (size_t i = 0; i < results->size(); ++i) {
    // Statistics of a normalisation may be f32, like its inputs.
    if (i > 0 && !one_type_) break;
    OutletId& result = (*results)[i];
    if (!result.valid() || scope_.target->graph.fact(result).dtype != DType::kF32) continue;
    const std::string& name = i < targets_.size() && !targets_[i].empty() ? targets_[i] : name_;
    const nnef::Naming naming{name, true, false, {name}, {}, {}};
    RILL_ASSIGN(result, cast(result, *type_, naming));
  }
  return {};
}

}  // namespace rill::onnx
