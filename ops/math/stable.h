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

/// Replace log or sqrt if it completes log(x + 1), log(exp(x) + 1), log(exp(a) + exp(b)),
/// log(sigmoid(x)) or sqrt(a^2 + b^2).
Status stable_function(UnaryKind kind, Rewrite& rewrite);

/// Replace an operation with the constant operand `second` if it completes exp(x) - 1.
Status stable_difference(BinaryKind kind, double second, Rewrite& rewrite);

/// Replace a sum if it is m + log(exp(a - m) + exp(b - m)) for any m, by log(exp(a) + exp(b)); or
/// if it is the angle of a point: atan(x / y) plus 0, pi or -pi.
Status stable_sum(Rewrite& rewrite);

/// Replace the maximum in m + log(..exp(x - m)..) by a finite one; m is a maximum of x and maybe of
/// other values. Exporters write logsumexp and its running form so. x - m is NaN if both are the
/// same infinity; with a finite m the sum is 0 or infinite, and the result is that infinity.
/// Source: PyTorch, `logsumexp`.
Status stable_shift(Rewrite& rewrite);

/// Replace a difference if it is a - floor(a / b) * b or a - trunc(a / b) * b: large quotients
/// round to wrong whole numbers.
Status stable_rest(Rewrite& rewrite);

/// Replace a selection if it is the angle of a point: exporters write atan2(x, y) as atan(x / y),
/// which is NaN at (0, 0).
Status stable_angle(Rewrite& rewrite);

/// Write log(x + 1) or exp(x) - 1.
Status save_stable(SaveCtx& ctx, UnaryKind kind, const std::string& x);

}  // namespace rill::ops
