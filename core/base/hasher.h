#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"

namespace rill {

using Fingerprint = std::array<uint64_t, 2>;

/// Return a fingerprint as 32 hexadecimal digits.
std::string to_text(const Fingerprint& fingerprint);

/// Hashes bytes to 128 bits; not cryptographic, so collisions can be constructed.
class Hasher {
 public:
  void bytes(const void* data, size_t size) RILL_NONBLOCKING;
  void number(uint64_t value) RILL_NONBLOCKING;
  void text(std::string_view text) {
    number(text.size());
    bytes(text.data(), text.size());
  }
  Fingerprint value() const RILL_NONBLOCKING;

 private:
  uint64_t a_ = 0x9E3779B97F4A7C15u;
  uint64_t b_ = 0xC2B2AE3D27D4EB4Fu;
};

}  // namespace rill
