#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/pulse.h"
#include "pulse/attention/layout.h"

namespace rill::pulse {

/// A wire of a body of attention, and where its frames lie for one of its readers.
using PlacedWire = std::pair<OutletId, Square>;

/// Return which input of a body a wire is; -1 for other wires.
int input_of(const Graph& body, OutletId outlet);

/// Return where the frames lie in the inputs of a node of a body. Errors: kPulse if it mixes them.
Result<std::vector<Square>> followed_inputs(const PulseBuilder& b, const Graph& body,
                                            const Node& node, Square output);

/// The index of distance 0 among those of the whole run, and its growth from one key to the next.
struct NearestDistance {
  Dim index;
  int64_t step = 1;
  bool operator==(const NearestDistance& other) const = default;
};

/// Pulses the nodes of a body by the rules of their operators. All wires have the queries and keys
/// of one layout, so no wire is delayed or aligned with another.
class PulsedScores final : public PulseBuilder, private ScoresBuilder {
 public:
  struct Input {
    OutletId wire;
    std::optional<StreamFact> stream;
    OutletId front;  ///< keys before the streaming ones, if there are any
  };

  /// `inputs`: the pulsed inputs of the body; `nearest`: of the distances, if there are any.
  PulsedScores(PulseBuilder& around, const Graph& body, const Layout& layout,
               std::map<PlacedWire, Input> inputs, std::optional<NearestDistance> nearest)
      : PulseBuilder(around, body),
        around_(around),
        layout_(layout),
        inputs_(std::move(inputs)),
        nearest_(std::move(nearest)) {}

  /// Return the pulsed form of weights, or of the values that they multiply.
  Result<OutletId> weights(const PlacedWire& wire) { return emit(wire); }
  Result<OutletId> values(const PlacedWire& wire);
  /// Return whether a node normalises over the keys.
  bool normalised() const { return normalised_; }
  /// Set the weights of keys that are not of the stream to 0.
  Result<OutletId> drop_keys(OutletId weights, int column) { return hide(weights, column, true); }

  ScoresBuilder* scores() override { return this; }
  std::vector<Dim> pulsed_shape() const override;
  Result<OutletId> count(int axis, const Dim& start, int64_t step) override;
  Result<OutletId> rows(int axis, const Dim& begin) override;
  Result<std::vector<OutletId>> add(std::string_view suffix, OpPtr op, WireList inputs) override;
  Result<OutletId> konst(std::string_view suffix, Tensor value) override;
  Status give(int i, OutletId pulsed, PulsedOutput output) override;
  Result<int64_t> pulse_of(OutletId pulsed, int axis) const override {
    return around_.pulse_of(pulsed, axis);
  }
  Result<int64_t> frames_per_pulse(const Dim& length) override {
    return around_.frames_per_pulse(length);
  }
  bool proves_of_taken_lengths(const Dim& dim) const override {
    return around_.proves_of_taken_lengths(dim);
  }
  // Attention waits for its inputs, and reads them from their first frames.
  int64_t await(int) override { return 0; }
  int64_t await_frame(int, int64_t) override { return 0; }
  using PulseBuilder::reads_from;
  void reads_from(int, int64_t, int64_t, int64_t) override {}
  void chooses() override {}
  int64_t unread() override { return 0; }
  bool is_used(int) const override { return true; }
  void begins_at_multiples_of(int64_t unit, int64_t frames) override {
    around_.begins_at_multiples_of(unit, frames);
  }
  void settles_at(int64_t position, int64_t frames) override {
    around_.settles_at(position, frames);
  }
  void note_approximation(std::string_view what) override { around_.note_approximation(what); }
  Status misfit(std::string cause, int64_t frames, int64_t unit) override {
    return around_.misfit(std::move(cause), frames, unit);
  }
  // Rules that need frames of other positions find none.
  Result<Synced> sync() override { return mixed(); }
  Result<OutletId> delay(OutletId, const StreamFact&, int64_t, int64_t) override { return mixed(); }
  Result<OutletId> mask(OutletId, StreamFact*, bool, bool, const Tensor&) override {
    return mixed();
  }
  Result<OutletId> hold(OutletId, StreamFact*) override { return mixed(); }
  Result<OutletId> pad_edges(OutletId, StreamFact*, const EdgePadding&) override {
    return mixed();
  }
  Result<OutletId> prefix(OutletId, StreamFact*, OutletId, int64_t,
                          std::vector<int64_t>) override {
    return mixed();
  }
  Result<std::optional<Prefix>> prefix_of(int) override { return mixed(); }
  Result<TensorPtr> mapped_pad_value(const Synced&, int, int) override { return mixed(); }
  Result<OutletId> materialise(OutletId, StreamFact*) override { return mixed(); }
  Result<OutletId> window(OutletId, StreamFact*, const StreamWindow&) override { return mixed(); }

 private:
  Square square() const override { return at_; }
  Result<OutletId> hide_keys(OutletId scores) override;
  Result<OutletId> keep_side(OutletId wire, const Dim& diagonal, bool upper) override;
  Result<OutletId> scores_of_keys(OutletId scores) override;

  const PulsedWire& input(int i) const override {
    return done_.at({source_of(i), inner_[static_cast<size_t>(i)]});
  }
  Status mixed() const;
  Result<OutletId> emit(const PlacedWire& wire);
  Result<OutletId> emit_one(const PlacedWire& wire);
  Result<OutletId> emit_input(const PlacedWire& wire);
  Result<OutletId> by_rule(const PlacedWire& wire);
  ops::PulseRange range(int64_t start, int64_t step, bool row) const;
  Result<OutletId> positions(int64_t start, int64_t step, bool row);
  Result<OutletId> count_distances(const Dim& start, int64_t step);
  Result<OutletId> numbers_of(const std::vector<int64_t>& numbers);
  Result<OutletId> behind_front(OutletId front, int axis, OutletId rest);
  Result<OutletId> hide(OutletId scores, int column, bool weights);

  PulseBuilder& around_;
  const Layout& layout_;
  std::map<PlacedWire, Input> inputs_;
  std::optional<NearestDistance> nearest_;
  std::map<PlacedWire, PulsedWire> done_;
  bool normalised_ = false;
  bool of_values_ = false;  ///< the wires are values, not weights
  // The node whose rule runs:
  Square at_;                   ///< the axes of its output
  std::vector<Square> inner_;   ///< and of its inputs
  std::vector<OutletId> made_;  ///< its pulsed outputs
};

}  // namespace rill::pulse
