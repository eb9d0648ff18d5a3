#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/dim/scope.h"
#include "core/tensor/tensor.h"

namespace rill::nnef {

/// The property that keeps the numbers of `SymbolScope::taken` in a file. The file's nodes have the
/// counted numbers alone.
inline constexpr std::string_view kTakenKey = "rill.numbers";

/// Return the numbers as texts; nothing if there are none. Numbers with other symbols than those
/// of the file are left out.
std::optional<Tensor> taken_texts(const SymbolScope& scope, const std::set<std::string>& live);

/// Record the numbers of a file. Errors: kParse, naming the property.
Status take_texts(const Tensor& texts, SymbolScope* scope);

}  // namespace rill::nnef
