#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/run/frames_so_far.h"
#include "core/run/plan.h"

namespace rill::emit_c {

class StepWriter;

/// A kind of step that can be emitted, and the function that writes a step with these arguments.
/// Errors of the function: kUnsupported, without node and remedy, for arguments that cannot be
/// emitted as C.
struct StepText {
  const StepKind* kind = nullptr;
  Status (*write)(const void* args, StepWriter& to) = nullptr;
};

/// Make a `StepText` of a function with typed arguments.
template <class Args, Status (*kWrite)(const Args&, StepWriter&)>
constexpr StepText step_text(const StepKind& kind) {
  return {&kind, [](const void* args, StepWriter& to) {
            return kWrite(*static_cast<const Args*>(args), to);
          }};
}

/// How the kernels of a target compute.
struct Arithmetic {
  bool fused = true;  ///< `mul_add` rounds once
  int lanes = 1;      ///< floats per vector, for sums that are added by lanes
};

/// A plan while its C is written. In all text, '@' stands for the prefix of names.
class StepWriter {
 public:
  StepWriter(const Plan& plan, Arithmetic arithmetic) : plan_(plan), arithmetic_(arithmetic) {}

  const Plan& plan() const { return plan_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }

  /// Return a C expression for the address that is `offset` floats after a place.
  std::string floats(const Ref& ref, int64_t offset = 0);
  /// As above, for an operand. Errors: kUnsupported unless its elements are f32.
  Result<std::string> floats(const PlacedView& operand);
  /// Return the floats of a constant, starting at this place; null if the plan computes them.
  const float* contents(const Ref& ref) const;
  /// Add an array of constants that are aligned to 64 bytes, once; return its name.
  std::string constant(std::span<const float> values);
  /// Add a function, once; return its name. `text` has "@NAME" for it.
  std::string function(const std::string& text);
  /// Return the name of a function of `math_pieces`, for a call; the file will contain it.
  std::string math(std::string_view name);
  /// Add a member of the state, initially zero. Its name must differ between steps: see `number`.
  void member(const std::string& declaration) { members_ += "  " + declaration + "\n"; }
  /// Add a statement to the step, and to the reset of the state.
  void line(const std::string& text) { lines_ += "  " + text + "\n"; }
  void reset_line(const std::string& text) { resets_ += "  " + text + "\n"; }
  /// Return the number of the step that is being written.
  size_t number() const { return number_; }
  /// Return a C expression of type int64_t for the position of the step's first frame, on a wire
  /// with `frames` frames per step.
  std::string position(int64_t frames);
  /// Return a C expression of type int64_t for `FramesSoFar::now`. Errors: kUnsupported.
  Result<std::string> frames_now(const FramesSoFar& frames);
  /// Return a C expression for an extent at the end of the stream, or `unknown` if it has no value.
  /// Errors: kUnsupported for operations without C.
  Result<std::string> extent(const Extent& extent, int64_t unknown);
  /// As above, for any length: `symbol` is a C expression for the stream symbol. Broadcast extents
  /// need `clashes`, which receives a C condition that holds at lengths where they do not fit.
  Result<std::string> extent_at(const Extent& extent, std::string_view symbol,
                                std::vector<std::string>* clashes = nullptr) const;
  /// Add the end of the stream to the state.
  void use_end() { uses_end_ = uses_clock_ = true; }

 private:
  friend class Emitter;

  std::reference_wrapper<const Plan> plan_;
  Arithmetic arithmetic_;
  size_t number_ = 0;
  std::set<uint32_t> used_;                     ///< buffers
  std::vector<std::string> arrays_;             ///< by number, their definitions
  std::map<std::string, std::string> by_text_;  ///< names of constants and functions
  std::string functions_;
  std::set<std::string, std::less<>> math_;
  std::string members_, lines_, resets_;
  std::map<uint32_t, int64_t> arena_;  ///< places of buffers, in floats
  bool uses_clock_ = false;
  bool uses_end_ = false;
};

/// Write a copy of floats between operands of one shape, which lie at these places and do not
/// overlap.
void copy_floats(const PlacedView& from, const std::string& from_at, const PlacedView& to,
                 const std::string& to_at, StepWriter& writer);

/// Return "name + offset" in floats, or the name alone.
std::string plus(const std::string& name, int64_t offset);

/// Nested loops over counts: `for (i0 ...) for (i1 ...)`. An axis of extent 1 gets none.
class Loops {
 public:
  /// Add a loop; return its variable, or "" if the count is 1.
  std::string add(int64_t count);
  /// Return the head of all loops, and the braces that end it.
  const std::string& begin() const { return begin_; }
  std::string end() const { return std::string(depth_, '}'); }

 private:
  std::string begin_;
  size_t depth_ = 0;
  size_t count_ = 0;
};

/// Return " + variable * stride", or "" if the variable is empty or the stride 0.
std::string times(const std::string& variable, int64_t stride);

}  // namespace rill::emit_c
