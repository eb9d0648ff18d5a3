#include "core/graph/onnx.h"

#include <array>

namespace rill {
namespace {

struct Named {
  std::string_view name;
  std::optional<DType> type;
};

// Indexed by the numbers of TensorProto.DataType in onnx.proto.
constexpr std::array<Named, 29> kTypes = {{
    {"undefined", {}},
    {"float", DType::kF32},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"uint16", DType::kU16},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"string", DType::kString},
    {"bool", DType::kBool},
    {"float16", DType::kF16},
    {"double", DType::kF64},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::kBF16},
    {"float8e4m3fn", {}},
    {"float8e4m3fnuz", {}},
    {"float8e5m2", {}},
    {"float8e5m2fnuz", {}},
    {"uint4", {}},
    {"int4", {}},
    {"float4e2m1", {}},
    {"float8e8m0", {}},
    {"uint2", {}},
    {"int2", {}},
    {"float6e2m3", {}},
    {"float6e3m2", {}},
}};

const Named* named(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(kTypes.size())
             ? &kTypes[static_cast<size_t>(number)]
             : nullptr;
}

}  // namespace

Result<OutletId> OnnxCtx::call1(std::string_view nnef, std::initializer_list<Argument> arguments) {
  RILL_ASSIGN(const Value value, call(nnef, {arguments.begin(), arguments.size()}));
  return to_wire(value);
}

std::optional<DType> onnx_type(int64_t number) {
  const Named* found = named(number);
  return found ? found->type : std::nullopt;
}

std::string_view onnx_type_name(int64_t number) {
  const Named* found = named(number);
  return found ? found->name : "an unknown type number";
}

}  // namespace rill
