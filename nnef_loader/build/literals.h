#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace rill::nnef {

/// Gives an expression for the broadcast of two extents, which NNEF has no operator for.
using BroadcastText = std::function<std::optional<std::string>(const Dim&)>;

/// Spell a dim as an expression of NNEF, in parentheses unless it is a number or a symbol. Nothing
/// where NNEF has none that is known at load time: for `>=`, `==`, and broadcasts that
/// `broadcast_text` does not know.
std::optional<std::string> dim_expression(const Dim& dim, const BroadcastText& broadcast_text = {});
/// The same, and a string in the grammar of `parse_dim` where there is no expression. Readers take
/// such a string wherever they take an integer.
std::string dim_text(const Dim& dim);
std::string dims_text(std::span<const Dim> dims);

/// Spell a constant as an expression that reads back as the same tensor, whatever its size. Nothing
/// if there is no such expression: for NaN, integers in lists beyond 32 bits, quantised and
/// block-quantised elements.
std::optional<std::string> literal_text(const Tensor& tensor);

/// Spell a cast of an expression.
std::string cast_text(std::string_view text, DType to);

/// Return whether the text of that constant is a bare literal, for use in place of a wire.
bool is_bare_literal(const Tensor& tensor);

}  // namespace rill::nnef
