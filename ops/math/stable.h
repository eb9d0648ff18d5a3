#pragma once

#include <string>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/math/kinds.h"

// Replaces formulas that are accurate only near 0, or whose parts overflow, by operators that are
// accurate everywhere. Slices between the parts move upstream of the operator, because a stream has
// no such slices but must match the whole run.

namespace rill::ops {

/// Return whether an operator only moves frames.
bool only_moves(const Op& op);

/// Recognise log(x + 1), log(exp(x) + 1), log(exp(a) + exp(b)), log(sigmoid(x)) and sqrt(a^2 + b^2)
/// behind the node of a function.
Status stable_function(UnaryKind kind, Rewrite& rewrite);

/// Recognise exp(x) - 1 behind the node of an operation whose second operand is this number.
Status stable_difference(BinaryKind kind, double second, Rewrite& rewrite);

/// Recognise m + log(exp(a - m) + exp(b - m)) behind the node of a sum: log(exp(a) + exp(b)),
/// whatever m is; and the angle of a point, atan(x / y) + 0, pi or -pi.
Status stable_sum(Rewrite& rewrite);

/// Recognise m + log(..exp(x - m)..) behind the node of a sum, m a maximum of x and maybe others,
/// as logsumexp and its running form are written out. x - m is NaN where both are one infinity; the
/// differences are taken from a finite number there, so that the sum is 0 or infinite, and the
/// result that infinity. Source: PyTorch, `logsumexp`.
Status stable_shift(Rewrite& rewrite);

/// Recognise a - floor(a / b) * b and a - trunc(a / b) * b behind the node of a difference, whose
/// quotients round to other whole numbers where they are large.
Status stable_rest(Rewrite& rewrite);

/// Recognise the angle of a point behind the node of a selection, as exporters write atan2(x, y) by
/// atan(x / y), which is NaN at (0, 0).
Status stable_angle(Rewrite& rewrite);

/// Write log(x + 1) or exp(x) - 1.
Status save_stable(SaveCtx& ctx, UnaryKind kind, const std::string& x);

}  // namespace rill::ops
