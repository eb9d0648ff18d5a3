#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/proto_fields.h"
#include "tests/property/generate.h"

// Changes to the values, types and shapes that an ONNX model states.

namespace rill::test {

// Field numbers of onnx.proto that graphs and tensors share.
inline constexpr int kInfoType = 2;
inline constexpr int kTensorName = 8;

/// Change the number, string or list of an AttributeProto.
void change_value(Fields* attribute, Random* random);
/// Change shape, type or values of a TensorProto, and keep the number of values consistent.
void change_tensor(Fields* tensor, Random* random);
/// Change an extent, the rank or the element type of a TypeProto.
void change_type(Fields* type, Random* random);
/// Replace an extent of a TypeProto by the symbol S.
void open_an_extent(Fields* type, Random* random);

/// Return an AttributeProto of an operator's declared type; empty if that is a tensor or a graph.
std::string attribute_of(std::string_view name, std::string_view type, Random* random);
/// Return a TensorProto with the type and shape of a ValueInfoProto; empty if these are not
/// numbers.
std::string tensor_like(const Fields& info, std::string_view name, Random* random);
/// Return a ValueInfoProto with the type and shape of a TensorProto.
std::string info_like(const Fields& tensor, std::string_view name);

}  // namespace rill::test
