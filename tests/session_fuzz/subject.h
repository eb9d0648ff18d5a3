#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {

/// An input or output of a plan.
struct Port {
  std::string name;
  rill_dtype dtype = RILL_F32;
  std::vector<int64_t> shape;  ///< in a plan that streams: the shape of one pulse
  int axis = -1;               ///< the streaming axis; -1: none
  int64_t early = 0;           ///< frames past the end that steps may output before they know it
};

/// The inputs and expected outputs of the whole run of one length.
struct Whole {
  int64_t length = 0;
  bool defined = false;    ///< whether the model is defined for that length
  bool too_short = false;  ///< all frames are borders, so nothing is compared
  // Whether ends at that length were accepted or refused. Both must never occur.
  std::atomic<bool> accepted = false;
  std::atomic<bool> refused = false;
  std::vector<Array> inputs;
  std::vector<Array> outputs;
};

/// A plan with one pulse.
struct Pulsed {
  PlanPtr plan;
  std::string name;  ///< pulse and tier, for messages
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  bool late_end = false;  ///< whether the end may be announced a step after the last frames
};

/// The kernels of a subject's plans: the best ones, the reference ones, or a mix of both, whose
/// last bits differ.
enum class Tiers { kBest, kPlain, kMixed };

/// A model with plans of several pulses and tiers, and its whole runs.
class Subject {
 public:
  /// Return a model of tests/models; null if it cannot stream on this machine.
  static std::unique_ptr<Subject> of_model(const ModelFolder& folder, Tiers tiers, uint64_t seed);
  /// Return a graph of this text with symbol S; pulses are multiples of `unit`. Null if it has no
  /// pulse.
  static std::unique_ptr<Subject> of_text(const std::string& name, const std::string& text,
                                          int64_t unit, Tiers tiers, uint64_t seed);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }  ///< empty for a model
  const std::vector<Pulsed>& plans() const { return plans_; }
  /// Return whether some plans have reference kernels.
  bool has_plain() const { return tiers_ != Tiers::kBest; }
  /// Return the whole run at a value of the stream symbol; cached. Thread: any, if all plans have
  /// the best kernels.
  Whole& whole(int64_t length);
  /// Draw a length, log-uniform up to several of the longest pulses.
  int64_t draw_length(uint64_t dice) const;
  /// Return the first difference of two arrays; empty if there is none. Bit for bit unless tiers
  /// are mixed.
  std::string difference(const Array& found, const Array& want) const;

 private:
  Subject(std::string name, ModelPtr model, std::string symbol, Tiers tiers, uint64_t seed)
      : name_(std::move(name)),
        model_(std::move(model)),
        symbol_(std::move(symbol)),
        tiers_(tiers),
        seed_(seed) {}
  void add_plan(int64_t pulse, const char* tier);
  bool add_plans(const std::vector<int64_t>& pulses);

  std::string name_;
  std::string text_;
  ModelPtr model_;
  std::string symbol_;
  Tiers tiers_;
  uint64_t seed_;
  Arrays given_;  ///< values for inputs that are not floats
  std::vector<Pulsed> plans_;
  int64_t longest_pulse_ = 1;
  std::mutex wholes_mutex_;
  std::map<int64_t, Whole> wholes_;
};

}  // namespace rill::test
