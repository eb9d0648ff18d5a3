#include "core/tensor/blocks.h"

#include <cstring>

#include "core/tensor/dtype.h"

namespace rill {

int64_t block_bytes(BlockFormat format) { return format == BlockFormat::kQ4_0 ? 18 : 36; }

void write_out_blocks(BlockFormat format, const std::byte* from, int64_t count, float* to) {
  const bool q4 = format == BlockFormat::kQ4_0;
  const auto number = [&](int j) { return static_cast<int>(from[j]); };
  for (int64_t block = 0; block < count; ++block, from += block_bytes(format), to += 32) {
    uint16_t half = 0;
    std::memcpy(&half, from, 2);
    const float scale = f32_from_f16(half);
    for (int j = 0; q4 && j < 16; ++j) {
      to[j] = static_cast<float>((number(2 + j) & 15) - 8) * scale;
      to[j + 16] = static_cast<float>((number(2 + j) >> 4) - 8) * scale;
    }
    for (int j = 0; !q4 && j < 32; ++j) {
      to[j] = static_cast<float>(static_cast<int8_t>(number(4 + j))) * scale;
    }
  }
}

}  // namespace rill
