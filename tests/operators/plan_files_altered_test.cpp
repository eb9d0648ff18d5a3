// Plan files that are truncated, altered or made for another use.

#include <gtest/gtest.h>

#include <cstring>

#include "audit/draw.h"
#include "core/exec/plan.h"
#include "core/run/plan_format.h"
#include "kernels/cpu.h"
#include "plan_file/write.h"
#include "tests/operators/side_by_side.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

using Bytes = std::vector<std::byte>;

/// A file of a small stream with a delay, a matmul, and a loop.
Bytes small_file() {
  const auto graph = load_text(document(
      "1, S, 3", "  d = x - tract_core_cast(0.25, to = 'f32');\n  y = tanh(d) * 2.0;\n"));
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  auto streamed = StreamedRun::make(*graph, 2);
  EXPECT_TRUE(streamed.ok()) << streamed.error().to_string();
  return written(streamed->session().plan()).value();
}

std::string message(const Bytes& bytes) {
  const Mapped map = mapped(bytes);
  const auto opened = plan_file::open(map.bytes, map.memory, known_here());
  return opened.ok() ? "" : opened.error().to_string();
}

void put(Bytes* bytes, size_t at, uint32_t value) { std::memcpy(bytes->data() + at, &value, 4); }

TEST(AlteredPlanFiles, AreRefusedWithTheCause) {
  const Bytes good = small_file();
  EXPECT_EQ(message(good), "");
  Bytes bytes = good;
  bytes[0] = std::byte{'R'};
  EXPECT_NE(message(bytes).find("its first bytes are wrong"), std::string::npos) << message(bytes);
  bytes = good;
  put(&bytes, 8, 12);
  EXPECT_NE(message(bytes).find("version 12: this library reads 11"), std::string::npos);
  bytes = good;
  put(&bytes, 12, 0x04030201);
  EXPECT_NE(message(bytes).find("another byte order"), std::string::npos);
  bytes = good;
  bytes.pop_back();
  EXPECT_NE(message(bytes).find("bytes of"), std::string::npos) << message(bytes);
  bytes = good;
  bytes[sizeof(plan_file::Header) + sizeof(plan_file::TargetEntry) + 3] ^= std::byte{1};
  EXPECT_NE(message(bytes).find("checksum"), std::string::npos) << message(bytes);
}

TEST(AlteredPlanFiles, AreForTheCpuThatTheyName) {
  kernels::set_tier_limit(kernels::Tier::kSse42);
  const Bytes sse42 = small_file();
  kernels::set_tier_limit(kernels::Tier::kScalar);
  const std::string refusal = message(sse42);
  kernels::clear_tier_limit();
  if (kernels::detected_tier() == kernels::Tier::kNeon) return;
  EXPECT_NE(refusal.find("a plan for sse42: this CPU and build run scalar"), std::string::npos)
      << refusal;
}

TEST(AlteredPlanFiles, WantAlignedMemory) {
  const Bytes good = small_file();
  Bytes shifted(good.size() + 128);
  const auto start = reinterpret_cast<uintptr_t>(shifted.data());
  std::byte* const at = shifted.data() + (64 - start % 64) + 8;
  std::memcpy(at, good.data(), good.size());
  const auto opened = plan_file::open({at, good.size()}, nullptr, known_here());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::kArg);
  EXPECT_NE(opened.error().message.find("not aligned to 64"), std::string::npos);
}

TEST(AlteredPlanFiles, ThatAreCutAreNeverOpened) {
  const Bytes good = small_file();
  for (size_t length = 0; length < good.size(); ++length) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(message(cut), "") << length;
    try_plan_file(cut);
  }
}

/// The test corrects checksums each time, as an attacker would do.
TEST(AlteredPlanFiles, OfEveryByteStayInsideTheirMemory) {
  const Bytes good = small_file();
  int opened = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const unsigned change : {1U, 2U, 0x80U, 0xFFU, 0x10U}) {
      Bytes bytes = good;
      bytes[at] ^= static_cast<std::byte>(change);
      opened += try_plan_file(bytes) ? 1 : 0;
    }
  }
  EXPECT_GT(opened, 100) << "the checks after the checksum are not reached";
}

TEST(AlteredPlanFiles, OfRandomGraphsStayInsideTheirMemory) {
  int opened = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    const Generated generated = generate(recipe(seed));
    const auto graph = load_text(generated.text);
    ASSERT_TRUE(graph.ok());
    auto streamed = StreamedRun::make(*graph, 2 * generated.pulse_unit);
    if (!streamed.ok()) continue;
    const auto good = written(streamed->session().plan());
    ASSERT_TRUE(good.ok());
    plan_file::Header header;
    std::memcpy(&header, good->data(), sizeof header);
    audit::Draw draw(seed);
    for (int i = 0; i < 60; ++i) {
      Bytes bytes = *good;
      for (int64_t changes = draw.in(1, 3); changes > 0; --changes) {
        const int64_t at = draw.in(sizeof header, header.constants - 1);
        bytes[static_cast<size_t>(at)] = static_cast<std::byte>(draw.in(0, 255));
      }
      opened += try_plan_file(bytes) ? 1 : 0;
    }
  }
  EXPECT_GT(opened, 50);
}

}  // namespace
}  // namespace rill::test
