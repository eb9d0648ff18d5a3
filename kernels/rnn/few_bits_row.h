#pragma once

#include "kernels/rnn/rnn_args.h"

namespace rill::kernels {
namespace {

/// Return the states of a lane as a row of `few`; the bytes of kInt8 are written to `few.wide`.
[[gnu::noinline]] inline FewBitsRow few_bits_row(const RnnFewBits& few, const float* h,
                                                 int64_t hidden,
                                                 int64_t columns) RILL_NONBLOCKING {
  FewBitsRow row{h, hidden, columns};
  if (few.quantise != nullptr) {
    auto* const bytes = reinterpret_cast<uint8_t*>(few.wide);
    row.scale = few.quantise({h, 1, hidden, 0}, bytes);
    row.bytes = bytes;
  }
  return row;
}

}  // namespace
}  // namespace rill::kernels
