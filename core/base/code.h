#pragma once

#include <cstdint>

namespace rill {

/// What went wrong, in one word. The values mirror `rill_status` of the C ABI.
enum class Code : uint8_t {
  kOk,
  kArg,
  kIo,
  kParse,
  kUnsupported,
  kShape,
  kDType,
  kSymbol,
  kPulse,
  kState,
  kNoMem,
  kAbi,
  kInternal,
};

}  // namespace rill
