#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/nonblocking.h"
#include "core/graph/graph.h"

namespace rill {

using Fingerprint = std::array<uint64_t, 2>;

/// Tell graphs apart by inputs, outputs, nodes, attributes and values of constants; properties and
/// assertions do not count. Equal graphs give equal fingerprints on every machine.
Fingerprint fingerprint(const Graph& graph);

/// As 32 hexadecimal digits, and back; nothing if the text is something else.
std::string to_text(const Fingerprint& fingerprint);
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

/// Mixes bytes into 128 bits; not made to withstand anyone who wants two inputs to meet.
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
