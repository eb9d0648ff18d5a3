#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/pulse.h"
#include "pulse/pulse.h"

namespace rill::pulse {

/// The largest pulse, in the stream symbol.
constexpr int64_t kMostPulse = int64_t{1} << 31;

/// All that is known of a wire of the whole graph while its nodes are pulsed.
struct KnownWire : PulsedWire {
  bool steady = false;  ///< the same frame at every position
  TensorPtr frame;      ///< that frame of a steady stream, if it is known
  /// Of a value that is known at the end only: how much of the stream symbol must have gone by.
  std::optional<Dim> known_after;
  std::string known_from;              ///< what it is made of, for messages
  std::optional<int64_t> taken_delay;  ///< ... and how late the stream is that it is taken from
  bool poisoned = false;               ///< its node was refused; what depends on it is not judged
  Status refused;                      ///< why nothing may depend on it
};

/// The pulsed graph while it is being made; what an op's streaming rule works on.
class Builder final : public PulseBuilder {
 public:
  Builder(const Graph& whole, const Options& options, Graph* pulsed)
      : PulseBuilder(whole, *pulsed, options.symbol, options.pulse, options.backward_chunks),
        pulsed_(pulsed),
        uses_(whole.count_uses()) {}

  void enter(int node_id);
  /// Whether the rule of the node took care of inputs that are not valid from the start on.
  bool waited() const { return waited_; }
  KnownWire& wire_of(OutletId whole_outlet) { return wires_[whole_outlet]; }
  /// How much of the stream symbol must have gone by until a wire that does not stream is known;
  /// nothing if it always is.
  std::optional<Dim> known_after(OutletId whole_outlet) const;
  /// How far the end of a wire lies ahead of the frames that go by before it is announced, where it
  /// is nearest; at most 0. Errors: kPulse if it comes ever nearer as the stream gets longer.
  Result<int64_t> least_ahead(OutletId wire, const StreamFact& stream) const;
  /// The same where pulses begin at multiples of `unit`, a divisor of the pulse.
  Result<int64_t> least_ahead(OutletId wire, const StreamFact& stream, int64_t unit) const;
  const std::vector<std::string>& approximations() const { return approximations_; }

  Result<int64_t> pulse_of(OutletId pulsed, int axis) const override;
  Result<int64_t> frames_per_pulse(const Dim& length) override;
  int64_t await(int i) override;
  Result<std::vector<OutletId>> add(std::string_view suffix, OpPtr op, WireList inputs) override;
  /// Append the node's own op over wires that do not stream: every step computes the same.
  Result<std::vector<OutletId>> add_still(WireList inputs);
  Result<OutletId> konst(std::string_view suffix, Tensor value) override;
  Result<OutletId> delay(OutletId wire, const StreamFact& stream, int64_t frames,
                         int64_t overlap) override;
  Result<OutletId> mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                        const Tensor& value) override;
  Result<OutletId> hold(OutletId wire, StreamFact* stream) override;
  Result<OutletId> border(OutletId wire, StreamFact* stream, const StreamBorder& border) override;
  Result<OutletId> front(OutletId wire, StreamFact* stream, OutletId frames,
                         int64_t count) override;
  Result<Synced> sync() override;
  Result<TensorPtr> mapped_fill(const Synced& synced, int i, int out_axis) override;
  Result<OutletId> materialise(OutletId wire, StreamFact* stream) override;
  Result<OutletId> window(OutletId wire, StreamFact* stream, const StreamWindow& window) override;
  Status give(int i, OutletId pulsed, PulsedOutput output) override;
  bool is_used(int i) const override {
    return uses_[static_cast<size_t>(node_)][static_cast<size_t>(i)] > 0;
  }
  void begins_at_multiples_of(int64_t unit, int64_t frames) override;
  void settles_at(int64_t position, int64_t frames) override;
  void note_approximation(std::string_view what) override { approximations_.emplace_back(what); }
  Status misfit(std::string cause, int64_t frames, int64_t unit) override;
  /// What pulses have to be multiples of, as far as refusals asked for it: 1 if none did.
  int64_t unit() const { return unit_; }
  /// Where a state may be gone on from: at multiples of this in the stream symbol; before it has
  /// settled, at whole pulses only.
  int64_t begin_unit() const { return begin_unit_; }
  int64_t settled() const { return settled_; }
  /// What borders ask of the lengths of streams: none of these is negative.
  const std::vector<Dim>& needed() const { return needed_; }

  /// Drop the first frames of every pulse.
  Result<OutletId> skip_frames(OutletId wire, const StreamFact& stream, int64_t frames);

 private:
  /// A stream with frames of its own around it, before these are laid out.
  struct Bordered {
    OutletId source;
    StreamFact stream;  ///< of the source
    StreamBorder border;
    int64_t out_delay = 0;  ///< of the wire that has them laid out
  };

  /// A stream with frames in front that do not stream, before these are laid out.
  struct Fronted {
    OutletId source;
    StreamFact stream;  ///< of the source
    OutletId frames;
    int64_t count = 0;
    int64_t out_delay = 0;  ///< of the wire that has them laid out
  };

  Result<int64_t> meeting_delay();
  const KnownWire& input(int i) const override { return wires_.at(source_of(i)); }
  bool can_be_equal(const Dim& a, const Dim& b) const;
  Status check_stride(int64_t frames, int64_t stride);
  Status misfit_of_symbol(std::string cause, int64_t unit);
  std::optional<int64_t> symbol_multiple(int64_t unit, int64_t frames) const;
  Result<OutletId> bordered_window(const Bordered& bordered, StreamFact* stream,
                                   const StreamWindow& window);
  Result<std::optional<OutletId>> fronted_window(const Fronted& fronted, StreamFact* stream,
                                                 const StreamWindow& window);
  Result<OutletId> lay_front(const Fronted& fronted, int64_t history, int64_t shown);
  Result<OutletId> lay_border(const Bordered& bordered, int64_t out_delay, int64_t shown);
  Graph* pulsed_;
  std::vector<std::vector<int>> uses_;
  bool waited_ = false;
  std::map<OutletId, Fronted> fronted_;    ///< by the wire that has them laid out
  std::map<OutletId, Bordered> bordered_;  ///< by the wire that has them laid out
  std::map<OutletId, KnownWire> wires_;
  std::map<std::string, std::vector<OutletId>> seen_;  ///< nodes by what they are, to merge equals
  std::vector<std::string> approximations_;
  std::vector<Dim> needed_;
  int64_t unit_ = 1;
  int64_t begin_unit_ = 1;
  int64_t settled_ = 0;
};

}  // namespace rill::pulse
