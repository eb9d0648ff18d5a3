#include "cli/args.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "cli/dump.h"

namespace rill::cli {
namespace {

ParsedArgs parse(std::vector<const char*> words, Flavor flavor = Flavor::kRill) {
  words.insert(words.begin(), "rill");
  return parse_args(static_cast<int>(words.size()), words.data(), flavor);
}

const DumpOptions& dump_options(const ParsedArgs& parsed) {
  return static_cast<const DumpCommand&>(*parsed.command).options();
}

TEST(Args, GlobalOptionsMayPrecedeOrFollowTheModel) {
  const ParsedArgs before = parse({"--nnef-tract-core", "-O", "m.tgz", "run"});
  const ParsedArgs after = parse({"m.tgz", "--nnef-tract-core", "-O", "run"});
  for (const ParsedArgs* each : {&before, &after}) {
    const ParsedArgs& parsed = *each;
    ASSERT_FALSE(parsed.done);
    EXPECT_EQ(parsed.common.file, "m.tgz");
    EXPECT_TRUE(parsed.common.model.optimize);
    EXPECT_EQ(parsed.command->facts().name, std::string("run"));
  }
}

TEST(Args, WithoutASubcommandItDumps) {
  const ParsedArgs parsed = parse({"m.tgz"});
  ASSERT_FALSE(parsed.done);
  EXPECT_EQ(parsed.command->facts().name, std::string("dump"));
}

TEST(Args, SetBelongsToTheSideOnWhichItIsWritten) {
  const ParsedArgs parsed =
      parse({"m.tgz", "--set", "B=2", "--set=S=3", "run", "--set", "C=4", "-R"});
  ASSERT_FALSE(parsed.done);
  EXPECT_EQ(parsed.common.model.set, (std::vector<std::string>{"B=2", "S=3"}));
  EXPECT_EQ(parsed.common.values.run_set, std::vector<std::string>{"C=4"});
  EXPECT_TRUE(parsed.common.values.allow_random);
}

TEST(Args, OptionsOfTheModelMayFollowTheSubcommand) {
  const ParsedArgs parsed = parse({"m.tgz", "run", "-O", "--pulse", "8", "-R"});
  ASSERT_FALSE(parsed.done);
  EXPECT_TRUE(parsed.common.model.optimize);
  EXPECT_EQ(parsed.common.streaming.pulse, "8");
  EXPECT_EQ(parsed.command->facts().name, std::string("run"));
  // In tract's command line, such options after the subcommand are errors.
  EXPECT_EQ(parse({"m.tgz", "dump", "-v"}, Flavor::kTract).exit_status, 2);
  EXPECT_EQ(parse({"m.tgz", "run", "-O"}, Flavor::kTract).exit_status, 2);
}

TEST(Args, NumbersThat64BitsDoNotHoldAreRefused) {
  const char* const numbers[] = {"9223372036854775808", "99999999999999999999",
                                 "-9223372036854775809"};
  for (const char* number : numbers) {
    const ParsedArgs parsed = parse({"m.rill", "--max-step-work", number, "inspect"});
    EXPECT_TRUE(parsed.done) << number;
    EXPECT_EQ(parsed.exit_status, 2) << number;
  }
  const ParsedArgs most = parse({"m.rill", "--max-step-work", "9223372036854775807", "inspect"});
  ASSERT_FALSE(most.done);
  EXPECT_EQ(most.common.limits.plan.max_step_work, INT64_MAX);
}

TEST(Args, OptionsBeforeAnotherValueTakeOneValueEach) {
  const ParsedArgs parsed = parse({"-i", "1,S,16,f32", "m.tgz", "--pulse", "8", "dump", "-q"});
  ASSERT_FALSE(parsed.done);
  EXPECT_EQ(parsed.common.model.input_facts, std::vector<std::string>{"1,S,16,f32"});
  EXPECT_EQ(parsed.common.file, "m.tgz");
  EXPECT_EQ(parsed.common.streaming.pulse, "8");
  EXPECT_TRUE(dump_options(parsed).view.quiet);
}

TEST(Args, OpCountsTakeTwoValues) {
  const ParsedArgs parsed =
      parse({"m.tgz", "dump", "--assert-op-count", "Scan", "1", "--assert-op-count", "Tanh", "2"});
  ASSERT_FALSE(parsed.done);
  EXPECT_EQ(dump_options(parsed).checks.assert_op_counts,
            (std::vector<std::string>{"Scan", "1", "Tanh", "2"}));
}

TEST(Args, AliasesMeanTheSame) {
  const ParsedArgs parsed = parse({"m", "run", "--input-from-npz", "a.npz",
                                   "--input-from-bundle=b.npz", "--save-outputs-npz", "o.npz"});
  ASSERT_FALSE(parsed.done);
  EXPECT_EQ(parsed.common.values.input_bundles, (std::vector<std::string>{"a.npz", "b.npz"}));
  EXPECT_EQ(parsed.common.values.save_outputs, "o.npz");
}

TEST(Args, UnknownAndRefusedOptionsAreUsageErrors) {
  EXPECT_EQ(parse({"m", "--frobnicate"}).exit_status, 2);
  EXPECT_EQ(parse({"m", "--cuda", "dump"}).exit_status, 2);
  EXPECT_EQ(parse({"m", "compare", "--twice", "--pbdir", "d"}).exit_status, 2);
  EXPECT_EQ(parse({"m", "run", "--approx", "roughly"}).exit_status, 2);
  EXPECT_EQ(parse({"m", "compare"}).exit_status, 2);
  EXPECT_EQ(parse({"m", "bench", "--max-loops", "many"}).exit_status, 2);
}

TEST(Args, OnlyRillHasStream) {
  EXPECT_FALSE(parse({"m", "--pulse", "S=8", "stream"}).done);
  EXPECT_EQ(parse({"m", "--pulse", "S=8", "stream"}, Flavor::kTract).exit_status, 2);
}

TEST(Args, VersionNeedsNoModel) {
  const ParsedArgs parsed = parse({"--version"}, Flavor::kTract);
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.exit_status, 0);
}

TEST(Args, AnUnknownCpuTierIsAUsageError) {
  setenv("RILL_CPU", "z80", 1);
  EXPECT_EQ(parse({"m", "dump"}).exit_status, 2);
  unsetenv("RILL_CPU");
  EXPECT_FALSE(parse({"m", "dump"}).done);
}

}  // namespace
}  // namespace rill::cli
