#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/nnef.h"
#include "nnef_loader/syntax/ast.h"

namespace rill::nnef {

using List = std::vector<Value>;

/// Describe a value for messages: "a number", "the computed wire \"x\"".
std::string value_text(const Value& value, const Graph& graph);
/// Count a value and, if it is a list, all values nested in it.
int64_t leaf_count(const Value& value);

/// Read a number as written. Errors: kParse for integers beyond 64 bits.
Result<Value> value_of(const NumberLiteral& literal);

/// Convert a value. Constant wires convert, and a list of one converts as its element. Errors:
/// kDType for a value of another kind; kSymbol for symbols in place of a number; kUnsupported for a
/// wire that is computed at run time.
Result<Dim> dim_of(const Value& value, const Graph& graph);
Result<int64_t> integer_of(const Value& value, const Graph& graph);
Result<float> number_of(const Value& value, const Graph& graph);
Result<bool> boolean_of(const Value& value, const Graph& graph);
Result<std::string> text_of(const Value& value, const Graph& graph);

/// Return the elements of a list or of a constant of rank 1; any other value is its only element.
Result<List> elements_of(const Value& value, const Graph& graph);
/// Return element `index` of a list or of a constant of rank 1.
Result<Value> element_of(const Value& value, int64_t index, const Graph& graph);

/// Make a constant. Integers become i64, dims with symbols TDim, floats f32, integers among floats
/// f32; lists stack along a new first axis. Nothing if a wire in it is not a constant.
/// Errors: kShape for ragged lists and ranks over 8; kDType for mixtures that have no common type.
Result<std::optional<Tensor>> constant_of(const Value& value, const Graph& graph);

/// An element type with its quantization.
struct NamedType {
  DType dtype = DType::kF32;
  QParams q;
};
/// Parse an element type: `f32`, `TDim`, `QU8(Z:128 S:0.01)`. Errors: kUnsupported.
Result<NamedType> type_from_text(std::string_view text);

}  // namespace rill::nnef
