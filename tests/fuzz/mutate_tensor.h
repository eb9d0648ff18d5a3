#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/proto_fields.h"
#include "tests/property/generate.h"

// Changes to the values, types and shapes that an ONNX model states.

namespace rill::test {

// Numbers of fields in onnx.proto that graphs and tensors share.
inline constexpr int kInfoType = 2;
inline constexpr int kTensorName = 8;

/// Change the number, text or list of an AttributeProto.
void change_value(Fields* attribute, Random* random);
/// Change shape, type or values of a TensorProto, and keep the number of values consistent.
void change_tensor(Fields* tensor, Random* random);
/// Change an extent, the rank or the type of elements of a TypeProto.
void change_type(Fields* type, Random* random);
/// Call an extent of a TypeProto S.
void open_an_extent(Fields* type, Random* random);

/// An AttributeProto of a type that an operator declares; empty if it is a tensor or a graph.
std::string attribute_of(std::string_view name, std::string_view type, Random* random);
/// A TensorProto of the type and shape of a ValueInfoProto; empty if these are not numbers.
std::string tensor_like(const Fields& info, std::string_view name, Random* random);
/// A ValueInfoProto of the type and shape of a TensorProto.
std::string info_like(const Fields& tensor, std::string_view name);

}  // namespace rill::test
