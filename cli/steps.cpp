#include "cli/steps.h"

#include <charconv>

#include "ops/stream/feedback.h"

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

}  // namespace

void settle_steps(Graph* graph) { ops::describe_steps(graph); }

Status tie_steps(const Args& args, Graph* graph) {
  for (const std::string& text : args.context) {
    RILL_ASSIGN(const Pair pair, parse_pair("--context", text, "INPUT=FRAMES"));
    RILL_ASSIGN(const int64_t frames, parse_frames("--context", text, pair.right));
    RILL_ASSIGN(*graph, ops::with_context(*graph, pair.left, frames));
  }
  for (const std::string& text : args.feedback) {
    RILL_ASSIGN(const Pair pair, parse_pair("--feedback", text, "OUTPUT=INPUT"));
    RILL_ASSIGN(*graph, ops::with_feedback(*graph, pair.left, pair.right));
  }
  if (args.step_frames > 0) {
    RILL_ASSIGN(*graph, ops::with_step_frames(*graph, args.step_frames));
  }
  return {};
}

}  // namespace rill::cli
