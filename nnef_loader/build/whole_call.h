#pragma once

#include <optional>

#include "nnef_loader/build/builder.h"

namespace rill::nnef {

/// Leave the call of an operator that stands for many nodes as one node, which tract's dumps show,
/// to be shown or written; where `LoadOptions::keep_submodels` asks for it. Nothing for other
/// operators.
Result<std::optional<Value>> whole_call(Builder* builder, const Callee& callee, const Call& call,
                                        Scope& scope, const Naming& naming);

}  // namespace rill::nnef
