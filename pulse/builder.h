#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/pulse.h"
#include "pulse/pulse.h"

namespace rill::pulse {

/// A wire of the whole graph as it is in the pulsed one.
struct PulsedWire {
  OutletId outlet;
  std::optional<StreamFact> stream;
  bool poisoned = false;  ///< its node was refused; what depends on it is not judged
  Status refused;         ///< why nothing may depend on it
};

/// The pulsed graph while it is being made; what an op's streaming rule works on.
class Builder final : public PulseBuilder {
 public:
  Builder(const Graph& whole, const Options& options, Graph* pulsed)
      : whole_(whole), options_(options), pulsed_(pulsed) {}

  void enter(int node_id);
  PulsedWire& wire_of(OutletId whole_outlet) { return wires_[whole_outlet]; }
  const std::vector<std::string>& approximations() const { return approximations_; }

  const Node& node() const override { return whole_.node(node_); }
  const Fact& in(int i) const override { return whole_.fact(input(i)); }
  const Fact& out(int i) const override { return node().outputs[static_cast<size_t>(i)]; }
  std::string_view symbol() const override { return options_.symbol; }
  std::optional<StreamFact> stream(int i) const override { return wires_.at(input(i)).stream; }
  OutletId wire(int i) const override { return wires_.at(input(i)).outlet; }
  const Fact& fact(OutletId pulsed) const override { return pulsed_->fact(pulsed); }
  Result<int64_t> pulse_of(OutletId pulsed, int axis) const override;
  Dim pulsed(const Dim& dim) const override {
    return dim.substitute(options_.symbol, options_.pulse);
  }
  Result<std::vector<OutletId>> add(std::string_view suffix, OpPtr op,
                                    std::vector<OutletId> inputs) override;
  Result<OutletId> konst(std::string_view suffix, Tensor value) override;
  Result<OutletId> delay(OutletId wire, const StreamFact& stream, int64_t frames,
                         int64_t overlap) override;
  Result<OutletId> mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                        const Tensor& value) override;
  Result<Synced> sync() override;
  Result<TensorPtr> mapped_fill(const Synced& synced, int i, int out_axis) override;
  Result<OutletId> materialise(OutletId wire, StreamFact* stream) override;
  Result<OutletId> window(OutletId wire, StreamFact* stream, const StreamWindow& window) override;
  void set(int i, OutletId pulsed, std::optional<StreamFact> stream) override;
  void set_refused(int i, Status why) override;
  void note_approximation(std::string_view what) override { approximations_.emplace_back(what); }
  bool backward_chunks() const override { return options_.backward_chunks; }
  Status refusal(std::string cause, std::string_view way_out) const override;

  /// Delay a wire until its end is announced before its frames after the end go by: nothing
  /// where that holds already.
  Result<OutletId> hold(OutletId wire, StreamFact* stream);
  /// Drop the first frames of every pulse.
  Result<OutletId> skip_frames(OutletId wire, const StreamFact& stream, int64_t frames);

 private:
  bool can_be_equal(const Dim& a, const Dim& b) const;
  OutletId input(int i) const { return node().inputs[static_cast<size_t>(i)]; }

  const Graph& whole_;
  const Options& options_;
  Graph* pulsed_;
  int node_ = -1;
  std::map<OutletId, PulsedWire> wires_;
  std::map<std::string, std::vector<OutletId>> seen_;  ///< nodes by what they are, to merge equals
  std::vector<std::string> approximations_;
};

}  // namespace rill::pulse
