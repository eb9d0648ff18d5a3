#include "cli/steps.h"

#include <charconv>

#include "pulse/feedback.h"
#include "pulse/state_parts.h"

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

Result<int64_t> parse_number(std::string_view option, const std::string& text,
                             const std::string& number, int64_t least, std::string_view expected) {
  int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value >= least) return value;
  return fail(Code::kArg, option, " ", text, ": expected ", expected);
}

/// Return a name without the parts that distinguish a state from its next value.
std::string stem(std::string_view name) {
  std::string out;
  for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  constexpr std::string_view kPrefixes[] = {"new_", "next_", "prev_",  "past_",   "present_",
                                            "in_",  "out_",  "input_", "output_", "final_"};
  constexpr std::string_view kSuffixes[] = {"_next", "_prev", "_new", "_out", "_in", "out",
                                            "in",    "_n",    "_0",   "0",    "n"};
  constexpr std::string_view kInfixes[] = {"_in_", "_out_", "_new_", "_next_", "_prev_"};
  for (const std::string_view word : kInfixes) {
    const size_t at = out.find(word);
    if (at == std::string::npos || at == 0) continue;
    out.replace(at, word.size(), "_");
    break;
  }
  for (const std::string_view word : kPrefixes) {
    if (out.size() > word.size() && out.starts_with(word)) {
      out.erase(0, word.size());
      break;
    }
  }
  for (const std::string_view word : kSuffixes) {
    if (out.size() <= word.size() || !out.ends_with(word)) continue;
    out.resize(out.size() - word.size());
    break;
  }
  return out;
}

/// Return whether one value may become the other: extents that are numbers in both are equal.
bool may_be_same(const Fact& a, const Fact& b) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    const auto left = a.dim(axis).to_int();
    const auto right = b.dim(axis).to_int();
    if (left && right && *left != *right) return false;
  }
  return true;
}

/// An input or output that may be a state, or a part of one.
struct Value {
  std::string name;
  Fact fact;
  bool taken = false;
};

/// Proposes states for inputs; the first input and the first output are the signal.
class LikelyStates {
 public:
  explicit LikelyStates(const Graph& graph) {
    for (size_t i = 1; i < graph.inputs.size(); ++i) {
      inputs_.push_back({graph.input_name(i), graph.fact(graph.inputs[i]).without_value()});
    }
    for (size_t i = 1; i < graph.outputs.size(); ++i) {
      outputs_.push_back({graph.output_names[i], graph.fact(graph.outputs[i]).without_value()});
    }
  }

  std::vector<LikelyState> find() {
    for (Value& output : outputs_) {
      if (Value* input = state_of(output)) propose(&output, input);
    }
    for (Value& output : outputs_) stack(&output, &inputs_, true);
    for (Value& input : inputs_) stack(&input, &outputs_, false);
    return std::move(found_);
  }

 private:
  void propose(Value* output, Value* input) {
    output->taken = input->taken = true;
    found_.push_back({output->name, input->name, output->fact, input->fact, false});
  }

  /// Return the input whose next value an output seems to be: by its name, or as the only input
  /// with a matching shape.
  Value* state_of(const Value& output) {
    Value* same = nullptr;
    Value* alike = nullptr;
    int count = 0;
    int count_alike = 0;
    for (Value& input : inputs_) {
      if (input.taken) continue;
      const bool is_same = may_be_same(input.fact, output.fact);
      if (!is_same && !becomes(output.fact, input.fact)) continue;
      if (stem(output.name) == stem(input.name)) return &input;
      (is_same ? same : alike) = &input;
      ++(is_same ? count : count_alike);
    }
    if (count > 0) return count == 1 ? same : nullptr;
    return count_alike == 1 ? alike : nullptr;
  }

  static bool becomes(const Fact& gives, const Fact& takes) {
    return gives.dtype == takes.dtype && pulse::state_shape(gives.shape, takes.shape).ok();
  }

  /// How another value is part of a value: concatenated, stacked, or reshaped.
  enum class Join : uint8_t { kConcat, kStack, kOther };

  static bool joins(Join join, const Fact& part, size_t axis, const Fact& other, bool splits) {
    if (join == Join::kConcat) return part.same_type(other);
    Fact without = part;
    without.shape.erase(without.shape.begin() + static_cast<ptrdiff_t>(axis));
    if (join == Join::kStack) return part.shape[axis] == Dim(1) && without.same_type(other);
    return splits ? becomes(part, other) : becomes(other, part);
  }

  /// Return the extents on `axis` of consecutive `parts`, starting at `first`, that make up a
  /// value. Empty if they do not make up the whole value.
  static std::vector<int64_t> extents(const Value& whole, size_t axis, Join join,
                                      const std::vector<Value>& parts, size_t first, bool splits) {
    std::vector<int64_t> out;
    int64_t left = whole.fact.shape[axis].to_int().value_or(0);
    for (size_t i = first; left > 0 && i < parts.size() && !parts[i].taken; ++i) {
      std::vector<Dim> tried = parts[i].fact.shape;
      tried.emplace_back(1);
      const size_t before = out.size();
      for (const Dim& extent : tried) {
        Fact part = whole.fact;
        part.shape[axis] = extent;
        const bool fits = extent.is_const() && *extent.to_int() <= left &&
                          joins(join, part, axis, parts[i].fact, splits);
        if (!fits) continue;
        out.push_back(*extent.to_int());
        left -= out.back();
        break;
      }
      if (out.size() == before) break;
    }
    if (left != 0 || out.size() < 2) out.clear();
    return out;
  }

  /// Propose parts of a remaining value, if consecutive other values make it up.
  void stack(Value* whole, std::vector<Value>* parts, bool splits) {
    if (whole->taken) return;
    std::vector<int64_t> best;
    size_t first = 0;
    size_t axis = 0;
    bool on_another_axis = false;
    for (const Join join : {Join::kConcat, Join::kStack, Join::kOther}) {
      for (size_t on = 0; on < whole->fact.shape.size(); ++on) {
        for (size_t from = 0; from < parts->size(); ++from) {
          auto found = extents(*whole, on, join, *parts, from, splits);
          if (found.empty()) continue;
          if (!best.empty() && from != first) return;
          on_another_axis = !best.empty();
          if (on_another_axis) continue;
          best = std::move(found);
          first = from;
          axis = on;
        }
      }
      if (!best.empty()) break;
    }
    const size_t before = found_.size();
    propose_parts(whole, axis, best, parts->data() + first, splits);
    for (size_t i = before; i < found_.size(); ++i) found_[i].on_another_axis = on_another_axis;
  }

  void propose_parts(Value* whole, size_t axis, const std::vector<int64_t>& extents, Value* others,
                     bool splits) {
    int64_t begin = 0;
    for (size_t i = 0; i < extents.size(); ++i) {
      pulse::StatePart part{whole->name, std::vector<pulse::IndexRange>(axis + 1)};
      part.ranges[axis] = {begin, begin + extents[i]};
      begin += extents[i];
      Value piece{part.text(), whole->fact};
      piece.fact.shape[axis] = extents[i];
      propose(splits ? &piece : others + i, splits ? others + i : &piece);
      whole->taken = true;
    }
  }

  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<LikelyState> found_;
};

}  // namespace

std::vector<LikelyState> likely_states(const Graph& graph) { return LikelyStates(graph).find(); }

void settle_steps(Graph* graph) { pulse::describe_steps(graph); }

Status tie_steps(const CommonOptions& common, Graph* graph) {
  for (const std::string& text : common.streaming.feedback) {
    RILL_ASSIGN(const Pair pair, parse_pair("--feedback", text, "OUTPUT=INPUT"));
    RILL_ASSIGN(*graph, pulse::with_feedback(*graph, pair.left, pair.right));
  }
  std::vector<pulse::FrameAxis> axes;
  for (const std::string& text : common.streaming.frames) {
    RILL_ASSIGN(const Pair pair, parse_pair("--frames", text, "NAME=AXIS"));
    RILL_ASSIGN(const int64_t axis, parse_number("--frames", text, pair.right, 0, "an axis"));
    axes.push_back({pair.left, axis});
  }
  if (!axes.empty()) {
    RILL_ASSIGN(*graph, pulse::with_frames(*graph, axes));
  }
  for (const std::string& text : common.streaming.context) {
    RILL_ASSIGN(const Pair pair, parse_pair("--context", text, "INPUT=FRAMES"));
    RILL_ASSIGN(const int64_t frames,
                parse_number("--context", text, pair.right, 1, "a number of frames"));
    RILL_ASSIGN(*graph, pulse::with_context(*graph, pair.left, frames));
  }
  if (common.demands.step_frames > 0) {
    RILL_ASSIGN(*graph, pulse::with_step_frames(*graph, common.demands.step_frames));
  }
  return {};
}

}  // namespace rill::cli
