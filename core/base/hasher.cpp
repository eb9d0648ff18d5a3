#include "core/base/hasher.h"

#include <cstring>

#include "core/base/bits.h"

namespace rill {
namespace {

/// The finaliser of MurmurHash3: every input bit affects every bit of the result.
uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDu;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53u;
  return x ^ (x >> 33);
}

/// Hashes words in four independent chains, for throughput on large weights.
class Lanes {
 public:
  void words(const unsigned char* at) RILL_NONBLOCKING {
    for (size_t i = 0; i < kLanes; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, at + i * sizeof word, sizeof word);
      lane_[i] = rotate_left(lane_[i] + word * 0xC2B2AE3D27D4EB4Fu, 31) * 0x9E3779B185EBCA87u;
    }
  }
  void add_to(Hasher* hash) const RILL_NONBLOCKING {
    for (const uint64_t lane : lane_) hash->number(lane);
  }
  static constexpr size_t kLanes = 4;
  static constexpr size_t kBytes = kLanes * sizeof(uint64_t);

 private:
  std::array<uint64_t, kLanes> lane_{1, 2, 3, 4};
};

}  // namespace

void Hasher::number(uint64_t value) {
  a_ = mixed(a_ ^ value) + 0x9E3779B97F4A7C15u;
  b_ = rotate_left(b_, 29) * 0x9FB21C651E98DF25u ^ mixed(value + b_);
}

void Hasher::bytes(const void* data, size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  if (size >= Lanes::kBytes) {
    Lanes lanes;
    for (; size >= Lanes::kBytes; size -= Lanes::kBytes, at += Lanes::kBytes) lanes.words(at);
    lanes.add_to(this);
  }
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    number(word);
  }
  if (size == 0) return;
  uint64_t word = 0;
  std::memcpy(&word, at, size);
  number(word);
}

Fingerprint Hasher::value() const { return {mixed(a_), mixed(b_ ^ a_)}; }

std::string to_text(const Fingerprint& fingerprint) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint64_t half : fingerprint) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[half >> shift & 15];
  }
  return out;
}

}  // namespace rill
