#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace rill::nnef {

/// Returns an expression for the broadcast of two extents, for which NNEF has no operator.
using BroadcastText = std::function<std::optional<std::string>(const Dim&)>;

/// Return a dim as an NNEF expression, in parentheses unless it is a number or a symbol. Nothing if
/// NNEF has no load-time expression: for `>=`, `==`, and broadcasts that `broadcast_text` cannot
/// express.
std::optional<std::string> dim_expression(const Dim& dim, const BroadcastText& broadcast_text = {});
/// As above, or a string in the grammar of `parse_dim` if there is no expression. Readers accept
/// such a string for any integer.
std::string dim_text(const Dim& dim);
std::string dims_text(std::span<const Dim> dims);

/// Return a constant of any size as an expression that reads back as the same tensor. Nothing if
/// there is no such expression: for NaN, integers in lists beyond 32 bits, quantised and
/// block-quantised elements.
std::optional<std::string> literal_text(const Tensor& tensor);

/// Return a cast of an expression.
std::string cast_text(std::string_view text, DType to);

/// Return whether `literal_text` of a constant is a bare literal, which may be used in place of a
/// wire.
bool is_bare_literal(const Tensor& tensor);

}  // namespace rill::nnef
