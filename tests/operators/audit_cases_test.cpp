// Audits every operator whose case streams: alone, after a slice that cuts both ends, and after a
// shift, each by log-uniform numbers of frames up to 2000. Reports the compared and the refused
// operators.
// RILL_PROPERTY_SEEDS=first:count draws `count` variants of each case from other seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "audit/audit.h"
#include "audit/draw.h"
#include "ops/op_table.h"
#include "pulse/pulse.h"
#include "tests/operators/case.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 1;
constexpr int64_t kMostFrames = 2000;
/// Some cases have long sums, which round differently if a window starts elsewhere.
constexpr double kRounding = 5e-4;

/// Return the axis of an input with extent S; -1 if there is none.
int stream_axis(const Operand& input) {
  const auto axis = std::find(input.shape.begin(), input.shape.end(), "S");
  return axis == input.shape.end() ? -1 : static_cast<int>(axis - input.shape.begin());
}

std::string padding(const Operand& input, int axis, int64_t before, int64_t after) {
  std::string out;
  for (int i = 0; i < static_cast<int>(input.shape.size()); ++i) {
    out += str_cat(i == 0 ? "(" : ", (", i == axis ? before : 0, ", ", i == axis ? after : 0, ")");
  }
  return out;
}

/// Put the case after a slice that cuts both ends, or after a shift. Return nothing if a streaming
/// input has another length than S.
std::optional<Case> after_change(Case a_case, bool shift, audit::Draw* draw) {
  std::string front;
  const int64_t begin = draw->log_in(1, kMostFrames);
  const int64_t end = draw->chance(50) ? 0 : draw->log_in(1, kMostFrames);
  for (Operand& input : a_case.inputs) {
    const int axis = stream_axis(input);
    const bool open = std::any_of(input.shape.begin(), input.shape.end(), [](const auto& extent) {
      return extent.find('S') != std::string::npos;
    });
    if (axis < 0 && open) return std::nullopt;
    if (axis < 0) continue;
    const std::string name = std::exchange(input.name, input.name + "_given");
    const std::string to = shift || end == 0 ? "0" : str_cat("-", end);
    const std::string cut = str_cat("slice(", input.name, ", axes = [", axis, "], begin = [", begin,
                                    "], end = [", to, "])");
    if (!shift) {
      front += str_cat("  ", name, " = ", cut, ";\n");
      continue;
    }
    front += str_cat("  ", name, " = pad(", cut, ", padding = [", padding(input, axis, 0, begin),
                     "], border = 'constant', value = 0.0);\n");
  }
  if (front.empty()) return std::nullopt;
  a_case.statements = front + a_case.statements;
  return a_case;
}

struct Outcome {
  int64_t outputs = 0;
  std::string problem;
};

Outcome audited(const Case& a_case, int64_t pulse, uint64_t seed) {
  Outcome out;
  const auto graph = load_case(a_case);
  if (!graph.ok()) return out;
  pulse::Options options;
  options.pulse = Dim(pulse);
  const auto pulsed = pulse::pulsify(*graph, options);
  if (!pulsed.ok()) return out;
  audit::Options how;
  how.lengths = 14;
  how.seconds = 100;  // the audit ends at its number of lengths
  how.seed = seed;
  how.attention_rounding = kRounding;
  const auto report = audit::audit(*graph, *pulsed, how);
  if (!report.ok()) return out;
  out.outputs = report->outputs;
  if (report->finding) out.problem = report->to_string();
  return out;
}

bool uses(const std::string& text, const std::string& name) {
  return text.find(" " + name + "(") != std::string::npos ||
         text.find("(" + name + "(") != std::string::npos ||
         text.find(" " + name + "<") != std::string::npos;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> out;
  for (const OpModule* module : ops::op_table()) {
    for (const NnefOp& op : module->nnef) {
      const std::string declaration = op.declaration;
      const size_t begin = declaration.find(' ') + 1;
      out.push_back(declaration.substr(begin, declaration.find_first_of("<(", begin) - begin));
    }
  }
  return out;
}

TEST(AuditedCases, StreamTheFramesOfTheWholeRun) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  std::map<std::string, int64_t> compared;  // keyed by the text of the case
  int64_t variants = 0;
  for (const Case& a_case : all_cases()) {
    if (a_case.pulses.empty() || a_case.pulsed) continue;
    for (int64_t seed = first; seed < first + count; ++seed) {
      audit::Draw draw(static_cast<uint64_t>(seed) * 7919 + static_cast<uint64_t>(a_case.line));
      std::vector<Case> all{a_case};
      for (const bool shift : {false, true}) {
        if (auto variant = after_change(a_case, shift, &draw)) all.push_back(std::move(*variant));
      }
      const auto any = draw.in(0, static_cast<int64_t>(a_case.pulses.size()) - 1);
      const int64_t pulse = a_case.pulses[static_cast<size_t>(any)];
      for (const Case& each : all) {
        const Outcome outcome = audited(each, pulse, static_cast<uint64_t>(seed));
        compared[a_case.text()] += outcome.outputs;
        variants += outcome.outputs > 0 ? 1 : 0;
        EXPECT_TRUE(outcome.problem.empty())
            << a_case.file << ":" << a_case.line << ": " << outcome.problem << "\n" << each.text();
      }
    }
  }
  std::vector<std::string> streamed;
  std::vector<std::string> others;
  for (const std::string& name : operator_names()) {
    const bool any = std::any_of(compared.begin(), compared.end(), [&](const auto& each) {
      return each.second > 0 && uses(each.first, name);
    });
    (any ? streamed : others).push_back(name);
  }
  std::printf("%ld variants compared; %zu operators streamed; not streamed: %s\n",
              static_cast<long>(variants), streamed.size(), join(others, " ").c_str());
  EXPECT_GT(variants, 100);
}

}  // namespace
}  // namespace rill::test
