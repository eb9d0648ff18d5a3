#pragma once

#include <string>

#include "core/graph/nnef.h"
#include "core/graph/rewrite.h"
#include "ops/math/kinds.h"

// Replaces formulas that lose accuracy near 0, or whose parts overflow, by operators that are
// accurate everywhere. Slices between the parts move upstream of the operator: a stream has no such
// slices, but must match the whole run.

namespace rill::ops {

/// Return whether an operator only moves frames.
bool only_moves(const Op& op);

/// Replace log or sqrt if it completes log(x + 1), log(exp(x) + 1), log(exp(a) + exp(b)),
/// log(sigmoid(x)) or sqrt(a^2 + b^2).
Status stable_function(UnaryKind kind, Rewrite& rewrite);

/// Replace an operation with the constant operand `second` if it completes exp(x) - 1.
Status stable_difference(BinaryKind kind, double second, Rewrite& rewrite);

/// Replace a sum by log(exp(a) + exp(b)) if it is m + log(exp(a - m) + exp(b - m)) for any m.
/// Replace it by atan2(x, y) if it is atan(x / y) plus 0, pi or -pi, by the signs of x and y.
Status stable_sum(Rewrite& rewrite);

/// Replace the maximum in m + log(..exp(x - m)..) by a finite one; m is a maximum of x and maybe of
/// other values. Exporters write logsumexp and its running form in this way. x - m is NaN if both
/// are the same infinity. With a finite m, the sum is 0 or infinite, and the result is that
/// infinity.
/// Source: PyTorch, `logsumexp`.
Status stable_shift(Rewrite& rewrite);

/// Replace a difference if it is a - floor(a / b) * b or a - trunc(a / b) * b, by the remainder of
/// a / b: large quotients would round to wrong integers.
Status stable_rest(Rewrite& rewrite);

/// Replace a selection by atan2(x, y) if it computes that: exporters write atan2(x, y) as
/// atan(x / y) with corrections, and so get NaN at (0, 0).
Status stable_angle(Rewrite& rewrite);

/// Write the formula of log(x + 1) or exp(x) - 1 to NNEF.
Status save_stable(SaveCtx& ctx, UnaryKind kind, const std::string& x);

}  // namespace rill::ops
