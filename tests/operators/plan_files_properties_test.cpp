// Properties of models in plan files: both readers return exactly the written properties.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <random>

#include "core/exec/property.h"
#include "core/run/plan_format.h"
#include "kernels/target.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/place.h"
#include "plan_file/properties.h"
#include "plan_file/write.h"
#include "tests/property/seeds.h"
#include "tests/support/plan_bases.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

std::string random_text(Random& random) {
  std::string out;
  for (uint64_t i = random() % 12; i > 0; --i) out += static_cast<char>(random() % 255 + 1);
  return out;
}

Property random_property(Random& random) {
  constexpr DType kTypes[] = {DType::kString, DType::kDim,  DType::kF32,  DType::kF64, DType::kI64,
                              DType::kU8,     DType::kBool, DType::kBlob, DType::kF16};
  Property out;
  out.dtype = kTypes[random() % std::size(kTypes)];
  out.text = random_text(random);
  const uint64_t count = out.dtype == DType::kBlob ? 0 : random() % 6;
  for (uint64_t i = 0; i < count; ++i) {
    if (out.dtype == DType::kString || out.dtype == DType::kDim) {
      out.strings.push_back(random_text(random));
    } else if (is_float(out.dtype)) {
      out.floats.push_back(std::bit_cast<double>(random()));
    } else {
      out.ints.push_back(static_cast<int64_t>(random()));
    }
  }
  return out;
}

/// Return some properties with ascending keys.
std::vector<Property> random_properties(Random& random) {
  std::map<std::string, Property> all;
  for (uint64_t i = random() % 8; i > 0; --i) all[random_text(random)] = random_property(random);
  std::vector<Property> out;
  for (auto& [key, property] : all) {
    property.key = key;
    out.push_back(property);
  }
  return out;
}

Result<Bytes> written_with(const std::vector<Property>& properties) {
  const plan_file::TargetPlan each{kernels::target_name(kernels::running_target()), small_plan()};
  plan_file::WriteOptions options;
  options.properties = properties;
  return plan_file::write({&each, 1}, ops::op_table(), options);
}

Result<std::vector<Property>> placed_properties(const Mapped& map) {
  const Runner runner{ops::step_table(), kernels::target_rank, true};
  RILL_ASSIGN(plan_file::OpenedAlone placed, plan_file::place(map.bytes, map.memory, runner));
  return std::move(placed.properties);
}

void expect_same(const std::vector<Property>& expected, const std::vector<Property>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].key, found[i].key);
    EXPECT_EQ(expected[i].dtype, found[i].dtype);
    EXPECT_EQ(expected[i].text, found[i].text);
    EXPECT_EQ(expected[i].strings, found[i].strings);
    EXPECT_EQ(expected[i].ints, found[i].ints);
    ASSERT_EQ(expected[i].floats.size(), found[i].floats.size());
    for (size_t k = 0; k < expected[i].floats.size(); ++k) {
      EXPECT_EQ(std::bit_cast<uint64_t>(expected[i].floats[k]),
                std::bit_cast<uint64_t>(found[i].floats[k]));
    }
  }
}

/// Add another record of properties to a file, between its own records and its constants.
Bytes with_record(const Bytes& file, const Bytes& record) {
  plan_file::Header header;
  std::memcpy(&header, file.data(), sizeof header);
  const auto old = static_cast<size_t>(header.constants);
  const size_t capacity = (record.size() + 63) / 64 * 64;
  Bytes out(file.begin(), file.begin() + header.constants);
  out.insert(out.end(), record.begin(), record.end());
  out.resize(old + capacity);
  out.insert(out.end(), file.begin() + header.constants, file.end());
  header.constants += static_cast<int64_t>(capacity);
  header.bytes = static_cast<int64_t>(out.size());
  std::memcpy(out.data(), &header, sizeof header);
  plan_file::TargetEntry entry;
  std::memcpy(&entry, out.data() + sizeof header, sizeof entry);
  entry.properties = {static_cast<int64_t>(old), static_cast<int64_t>(record.size())};
  std::memcpy(out.data() + sizeof header, &entry, sizeof entry);
  plan_file::seal(out);
  return out;
}

/// Return the record of a file's properties.
Bytes record_in(const Bytes& file) {
  plan_file::TargetEntry entry;
  std::memcpy(&entry, file.data() + sizeof(plan_file::Header), sizeof entry);
  const auto first = file.begin() + entry.properties.begin;
  return {first, first + entry.properties.bytes};
}

TEST(PlanProperties, AreReadUnchanged) {
  const auto [first, count] = seeds_or(1, 300);
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const std::vector<Property> properties = random_properties(random);
    const auto file = written_with(properties);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const Mapped map = mapped(*file);
    const auto opened = plan_file::open(map.bytes, map.memory, known_here());
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    expect_same(properties, opened->properties);
    const auto placed = placed_properties(map);
    ASSERT_TRUE(placed.ok()) << placed.error().to_string();
    expect_same(properties, *placed);
  }
}

// A damaged record with a valid checksum is refused, or read as other properties; both readers
// agree.
TEST(PlanProperties, OfDamagedRecordsAreRefusedOrOthers) {
  const auto base = written_with({});
  ASSERT_TRUE(base.ok());
  const auto [first, count] = seeds_or(1, 2000);
  int64_t refused = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    const auto file = written_with(random_properties(random));
    ASSERT_TRUE(file.ok());
    Bytes record = record_in(*file);
    if (record.empty()) record.push_back(std::byte{1});
    if (random() % 2 == 0) {
      record.resize(random() % record.size());
    } else {
      for (uint64_t i = random() % 3 + 1; i > 0; --i) {
        record[random() % record.size()] = static_cast<std::byte>(random());
      }
    }
    const Mapped map = mapped(with_record(*base, record));
    const auto opened = plan_file::open(map.bytes, map.memory, known_here());
    const auto placed = placed_properties(map);
    ASSERT_EQ(opened.ok(), placed.ok());
    if (opened.ok()) {
      expect_same(opened->properties, *placed);
      continue;
    }
    ++refused;
    EXPECT_EQ(opened.error().code, Code::kParse) << opened.error().to_string();
    EXPECT_EQ(placed.error().code, Code::kParse) << placed.error().to_string();
  }
  EXPECT_GT(refused, count / 4);
}

Bytes bytes_of(std::initializer_list<int> all) {
  Bytes out;
  for (const int each : all) out.push_back(static_cast<std::byte>(each));
  return out;
}

TEST(PlanProperties, HostileRecordsAreRefused) {
  constexpr int kText = static_cast<int>(DType::kString) * 2;  // encoded as numbers are written
  constexpr int kBlob = static_cast<int>(DType::kBlob) * 2;
  const std::pair<Bytes, const char*> kRecords[] = {
      {bytes_of({0, 0}), "after its contents"},
      {bytes_of({0xFF, 0xFF, 0xFF, 0xFF, 0x0F}), "fewer bytes than its counts"},
      {bytes_of({1, 0, kBlob + 2, 0, 0}), "type of a property"},
      {bytes_of({1, 0, kBlob, 0, 1, 0}), "no values"},
      {bytes_of({1, 5, 'a', 'b'}), "truncated"},
      {bytes_of({1, 0, kText, 0, 9, 0}), "fewer bytes than its counts"},
      {bytes_of({2, 1, 'a', kText, 0, 0, 1, 'a', kText, 0, 0}), "sorted by key"},
      {bytes_of({2, 1, 'b', kText, 0, 0, 1, 'a', kText, 0, 0}), "sorted by key"},
      {bytes_of({1, 0, kText, 0, 0}), nullptr},
  };
  const auto base = written_with({});
  ASSERT_TRUE(base.ok());
  for (const auto& [record, why] : kRecords) {
    const Mapped map = mapped(with_record(*base, record));
    const auto opened = plan_file::open(map.bytes, map.memory, known_here());
    ASSERT_EQ(opened.ok(), why == nullptr);
    if (why == nullptr) continue;
    EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().to_string();
  }
}

// Placed outside of the file.
TEST(PlanProperties, OutsideOfTheFileAreRefused) {
  const auto base = written_with({});
  ASSERT_TRUE(base.ok());
  for (const plan_file::Place place :
       {plan_file::Place{-1, 8}, plan_file::Place{0, -1}, plan_file::Place{INT64_MAX, 1},
        plan_file::Place{64, INT64_MAX},
        plan_file::Place{0, static_cast<int64_t>(base->size()) + 1}}) {
    Bytes file = *base;
    plan_file::TargetEntry entry;
    std::memcpy(&entry, file.data() + sizeof(plan_file::Header), sizeof entry);
    entry.properties = place;
    std::memcpy(file.data() + sizeof(plan_file::Header), &entry, sizeof entry);
    plan_file::seal(file);
    const Mapped map = mapped(file);
    EXPECT_FALSE(plan_file::open(map.bytes, map.memory, known_here()).ok());
    EXPECT_FALSE(placed_properties(map).ok());
  }
}

TEST(PlanProperties, BeyondTheLimitsAreRefusedWithTheKey) {
  Property many{"tokens", DType::kString, "", {}, {}, {}};
  many.strings.resize(static_cast<size_t>(plan_file::kMostPropertyValues) + 1);
  const auto refused = written_with({many});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().message.find("tokens"), std::string::npos);
  many.strings.pop_back();
  const auto file = written_with({many});
  ASSERT_TRUE(file.ok());
  const Mapped map = mapped(*file);
  EXPECT_TRUE(plan_file::open(map.bytes, map.memory, known_here()).ok());
}

}  // namespace
}  // namespace rill::test
