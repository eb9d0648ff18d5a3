#pragma once

#include <optional>

#include "nnef_loader/build/builder.h"

namespace rill::nnef {

/// With `LoadOptions::keep_submodels`, load the call of an operator of several nodes as one node,
/// as in tract's dumps, to show or write it. Nothing for other operators.
Result<std::optional<Value>> whole_call(Builder* builder, const Callee& callee, const Call& call,
                                        Scope& scope, const Naming& naming);

}  // namespace rill::nnef
