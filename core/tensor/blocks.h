#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/nonblocking.h"

namespace rill {

/// How the bytes of a tensor are packed in blocks of 32 elements; the dtype of such a tensor is
/// kF32.
enum class BlockFormat : uint8_t { kNone, kQ4_0, kQ8_1 };

/// Return the bytes of a block of 32 elements.
int64_t block_bytes(BlockFormat format) RILL_NONBLOCKING;
/// Dequantise `count` blocks. Real-time: yes.
void write_out_blocks(BlockFormat format, const std::byte* from, int64_t count,
                      float* to) RILL_NONBLOCKING;

}  // namespace rill
