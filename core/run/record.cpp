#include "core/run/record.h"

#include <cstring>

namespace rill {

uint64_t Record::long_natural() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) {
      fail("it is truncated");
      return 0;
    }
    const auto byte = static_cast<uint64_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    value |= (byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number is too long");
  return 0;
}

int64_t Record::number(int64_t least, int64_t most, const char* field) {
  const int64_t value = number();
  if (value >= least && value <= most) return value;
  fail("a number is out of its range", field);
  return least;
}

double Record::real() {
  const uint64_t bits = __builtin_bswap64(natural());
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::string_view Record::text() {
  const uint64_t size = natural();
  if (size > bytes_.size()) {
    fail("it is truncated within a name");
    return {};
  }
  const auto* const begin = reinterpret_cast<const char*>(bytes_.data());
  bytes_ = bytes_.subspan(static_cast<size_t>(size));
  return {begin, static_cast<size_t>(size)};
}

uint64_t Record::raw() {
  uint64_t value = 0;
  if (bytes_.size() < sizeof value) {
    fail("it is truncated");
    return 0;
  }
  std::memcpy(&value, bytes_.data(), sizeof value);
  bytes_ = bytes_.subspan(sizeof value);
  return value;
}

int64_t Record::count(int64_t most) {
  const auto value = static_cast<int64_t>(natural());
  if (value >= 0 && value <= most && static_cast<uint64_t>(value) <= bytes_.size()) return value;
  fail("it has fewer bytes than its counts need");
  return 0;
}

}  // namespace rill
