#pragma once

#include <cstdint>

namespace rill {

/// The kind of an error. The values mirror `rill_status` of the C ABI.
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
