#include "tests/support/change_plan.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/run/plan_format.h"
#include "plan_file/bytes.h"
#include "plan_file/write.h"

namespace rill::test {
namespace {

using plan_file::Header;
using plan_file::TargetEntry;

// In encoded form: the sign is the lowest bit, so both signs of each extreme are listed.
constexpr uint64_t kExtremes[] = {
    0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 63, 64, 127, 128, 255, 256, 511,
    1U << 15U, 1U << 16U,
    uint64_t{1} << 30U, (uint64_t{1} << 31U) - 1, uint64_t{1} << 31U,
    (uint64_t{1} << 32U) - 1, uint64_t{1} << 32U, (uint64_t{1} << 32U) + 1,
    (uint64_t{1} << 33U) + 2, uint64_t{1} << 34U, uint64_t{1} << 40U,
    uint64_t{1} << 41U, (uint64_t{1} << 41U) + 1,
    uint64_t{1} << 44U, uint64_t{1} << 45U, uint64_t{1} << 51U, uint64_t{1} << 56U,
    uint64_t{1} << 57U, uint64_t{1} << 61U, uint64_t{1} << 62U, uint64_t{1} << 63U,
    (uint64_t{1} << 63U) - 1, (uint64_t{1} << 63U) + 1, UINT64_MAX - 1, UINT64_MAX};

/// A number of a record with its encoded bytes, which are empty once the value changes.
struct Number {
  uint64_t value = 0;
  std::span<const std::byte> written;

  void set(uint64_t other) {
    value = other;
    written = {};
  }
};

/// Texts and fingerprints are parsed as numbers too; unchanged numbers keep their bytes.
std::vector<Number> numbers_of(std::span<const std::byte> record) {
  constexpr size_t kLongest = 10;
  std::vector<Number> out;
  while (!record.empty()) {
    Number number;
    size_t bytes = 0;
    bool more = true;
    while (more && bytes < std::min(kLongest, record.size())) {
      const auto byte = static_cast<uint64_t>(record[bytes]);
      if (bytes < kLongest - 1) number.value |= (byte & 0x7FU) << (7 * bytes);
      more = byte >= 0x80;
      ++bytes;
    }
    number.written = record.first(bytes);
    record = record.subspan(bytes);
    out.push_back(number);
  }
  return out;
}

/// Repeat or drop `few` numbers after a count, and adjust the count by one.
void change_list(std::vector<Number>* numbers, size_t at, size_t few, bool repeats) {
  const size_t first = std::min(at + 1, numbers->size());
  const size_t end = std::min(first + few, numbers->size());
  (*numbers)[at].set((*numbers)[at].value + (repeats ? 1 : UINT64_MAX));
  const auto begin = numbers->begin() + static_cast<std::ptrdiff_t>(first);
  const auto after = numbers->begin() + static_cast<std::ptrdiff_t>(end);
  if (!repeats) {
    numbers->erase(begin, after);
    return;
  }
  const std::vector<Number> entry(begin, after);
  numbers->insert(after, entry.begin(), entry.end());
}

void change(const PlanChange& how, std::vector<Number>* numbers) {
  using Kind = PlanChange::Kind;
  if (numbers->empty()) return;
  const size_t at = how.place % numbers->size();
  const size_t other = (at + 1 + how.reach) % numbers->size();
  const auto place = numbers->begin() + static_cast<std::ptrdiff_t>(at);
  const unsigned bits = how.value / 2 % 64;
  switch (static_cast<Kind>(how.kind % PlanChange::kKinds)) {
    case Kind::kExtreme:
      return place->set(kExtremes[how.value % std::size(kExtremes)]);
    case Kind::kNear:
      return place->set(place->value + static_cast<uint64_t>(how.value % 9) - 4);
    case Kind::kShift:
      return place->set(how.value % 2 == 0 ? place->value << bits : place->value >> bits);
    case Kind::kSwap:
      return std::swap(*place, (*numbers)[other]);
    case Kind::kCopy:
      *place = (*numbers)[other];
      return;
    case Kind::kDrop:
      numbers->erase(place);
      return;
    case Kind::kRepeat: {
      const Number twice = *place;
      numbers->insert(place, twice);
      return;
    }
    case Kind::kDropFew:
      return change_list(numbers, at, how.value % 64, false);
    case Kind::kRepeatFew:
      return change_list(numbers, at, how.value % 64, true);
    case Kind::kConstant:
      return;
  }
}

template <class T>
void put(std::vector<std::byte>* to, size_t at, const T& value) {
  std::memcpy(to->data() + at, &value, sizeof value);
}

/// Read the header and the entry of the first target; false if the file is incomplete.
bool read_head(std::span<const std::byte> file, Header* header, TargetEntry* entry) {
  if (file.size() < sizeof *header + sizeof *entry) return false;
  std::memcpy(header, file.data(), sizeof *header);
  std::memcpy(entry, file.data() + sizeof *header, sizeof *entry);
  const auto size = static_cast<int64_t>(file.size());
  return header->magic == plan_file::kMagic && header->constants >= 0 &&
         header->constants <= size && entry->plan.begin >= 0 && entry->plan.bytes >= 0 &&
         entry->plan.begin <= size && entry->plan.bytes <= size - entry->plan.begin;
}

std::span<const std::byte> record_of(std::span<const std::byte> file, const TargetEntry& entry) {
  return file.subspan(static_cast<size_t>(entry.plan.begin), static_cast<size_t>(entry.plan.bytes));
}

}  // namespace

std::vector<std::byte> changed(std::span<const std::byte> file, std::span<const PlanChange> all) {
  Header header;
  TargetEntry entry;
  if (!read_head(file, &header, &entry)) return {file.begin(), file.end()};
  std::vector<Number> numbers = numbers_of(record_of(file, entry));
  const auto constants = file.subspan(static_cast<size_t>(header.constants));
  std::vector<std::byte> data(constants.begin(), constants.end());
  for (const PlanChange& each : all) {
    const bool of_data = each.kind % PlanChange::kKinds == PlanChange::kKinds - 1;
    if (!of_data) change(each, &numbers);
    if (of_data && !data.empty()) data[each.place % data.size()] = std::byte{each.value};
  }
  std::vector<std::byte> record;
  for (const Number& number : numbers) {
    plan_file::RecordWriter own;
    if (number.written.empty()) own.natural(number.value);
    const std::span<const std::byte> bytes =
        number.written.empty() ? std::span<const std::byte>(own.bytes()) : number.written;
    record.insert(record.end(), bytes.begin(), bytes.end());
  }

  constexpr size_t kBegin = sizeof(Header) + sizeof(TargetEntry);
  const size_t end = kBegin + record.size();
  const size_t first = (end + plan_file::kAlign - 1) / plan_file::kAlign * plan_file::kAlign;
  std::vector<std::byte> out(first + data.size());
  entry.plan = {kBegin, static_cast<int64_t>(record.size())};
  entry.notes = {kBegin, 0};
  header.targets = 1;
  header.constants = static_cast<int64_t>(first);
  header.bytes = static_cast<int64_t>(out.size());
  put(&out, 0, header);
  put(&out, sizeof header, entry);
  std::copy(record.begin(), record.end(), out.begin() + kBegin);
  std::copy(data.begin(), data.end(), out.begin() + static_cast<std::ptrdiff_t>(first));
  plan_file::seal(out);
  return out;
}

size_t numbers_in(std::span<const std::byte> file) {
  Header header;
  TargetEntry entry;
  return read_head(file, &header, &entry) ? numbers_of(record_of(file, entry)).size() : 0;
}

}  // namespace rill::test
