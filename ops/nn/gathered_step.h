#pragma once

#include <span>

#include "core/run/plan.h"
#include "kernels/matmul/matmul.h"

namespace rill::ops {

/// The operands of a matmul in one stream; the weights are those of the plan.
struct StreamRows {
  const float* a = nullptr;
  const float* residual = nullptr;  ///< or null
  float* c = nullptr;
};

/// Run a matmul with the same weights for several streams. Their rows are gathered into one matmul
/// if that reads the weights less often. `args`: everything but the operands of the streams.
/// Accuracy: the same bits as a matmul per stream. Real-time: yes; takes 20 KiB of stack.
void run_gathered(const kernels::MatmulF32& kernel, const kernels::MatmulF32Args& args,
                  std::span<const StreamRows> streams) noexcept RILL_NONBLOCKING;

}  // namespace rill::ops
