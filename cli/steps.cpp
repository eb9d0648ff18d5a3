#include "cli/steps.h"

#include <charconv>

#include "pulse/feedback.h"

namespace rill::cli {
namespace {

struct Pair {
  std::string left;
  std::string right;
};

Result<Pair> parse_pair(std::string_view option, const std::string& text,
                        std::string_view expected) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(Code::kArg, option, " ", text, ": expected ", expected);
  }
  return Pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<int64_t> parse_frames(std::string_view option, const std::string& text,
                             const std::string& number) {
  int64_t frames = 0;
  const char* end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, frames);
  if (read.ec == std::errc() && read.ptr == end && frames > 0) return frames;
  return fail(Code::kArg, option, " ", text, ": expected a number of frames");
}

/// Return a name without the parts that distinguish a state from the next one.
std::string stem(std::string_view name) {
  std::string out;
  for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  constexpr std::string_view kBefore[] = {"new_", "next_", "prev_",  "past_",   "present_",
                                          "in_",  "out_",  "input_", "output_", "final_"};
  constexpr std::string_view kBehind[] = {"_next", "_prev", "_new", "_out", "_in", "out",
                                          "in",    "_n",    "_0",   "0",    "n"};
  constexpr std::string_view kWithin[] = {"_in_", "_out_", "_new_", "_next_", "_prev_"};
  for (const std::string_view word : kWithin) {
    const size_t at = out.find(word);
    if (at == std::string::npos || at == 0) continue;
    out.replace(at, word.size(), "_");
    break;
  }
  for (const std::string_view word : kBefore) {
    if (out.size() > word.size() && out.starts_with(word)) {
      out.erase(0, word.size());
      break;
    }
  }
  for (const std::string_view word : kBehind) {
    if (out.size() <= word.size() || !out.ends_with(word)) continue;
    out.resize(out.size() - word.size());
    break;
  }
  return out;
}

/// Return whether one value may become the other: where both have numbers, these are the same.
bool may_be_same(const Fact& a, const Fact& b) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    const auto left = a.dim(axis).to_int();
    const auto right = b.dim(axis).to_int();
    if (left && right && *left != *right) return false;
  }
  return true;
}

/// Return the input whose next value an output seems to be; empty if there is none.
std::string state_of(const Graph& graph, size_t output) {
  std::vector<std::string> by_fact;
  // The first input is the signal.
  for (size_t i = 1; i < graph.inputs.size(); ++i) {
    if (!may_be_same(graph.fact(graph.inputs[i]), graph.fact(graph.outputs[output]))) continue;
    by_fact.push_back(graph.input_name(i));
    if (stem(graph.output_names[output]) == stem(graph.input_name(i))) return by_fact.back();
  }
  return by_fact.size() == 1 ? by_fact[0] : std::string();
}

}  // namespace

std::string likely_feedback(const Graph& graph) {
  std::string out;
  for (size_t output = 1; output < graph.outputs.size(); ++output) {
    const std::string input = state_of(graph, output);
    if (input.empty()) continue;
    out += str_cat(out.empty() ? "" : " ", "--feedback ", graph.output_names[output], "=", input);
  }
  return out;
}

void settle_steps(Graph* graph) { pulse::describe_steps(graph); }

Status tie_steps(const Args& args, Graph* graph) {
  for (const std::string& text : args.streaming.context) {
    RILL_ASSIGN(const Pair pair, parse_pair("--context", text, "INPUT=FRAMES"));
    RILL_ASSIGN(const int64_t frames, parse_frames("--context", text, pair.right));
    RILL_ASSIGN(*graph, pulse::with_context(*graph, pair.left, frames));
  }
  for (const std::string& text : args.streaming.feedback) {
    RILL_ASSIGN(const Pair pair, parse_pair("--feedback", text, "OUTPUT=INPUT"));
    RILL_ASSIGN(*graph, pulse::with_feedback(*graph, pair.left, pair.right));
  }
  if (args.stream.step_frames > 0) {
    RILL_ASSIGN(*graph, pulse::with_step_frames(*graph, args.stream.step_frames));
  }
  return {};
}

}  // namespace rill::cli
