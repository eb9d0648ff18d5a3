#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/graph/pulse.h"
#include "pulse/attention/attention.h"
#include "pulse/lengths.h"
#include "pulse/report.h"
#include "pulse/unread.h"

namespace rill::pulse {

/// All that is known of a wire of the whole graph while its nodes are pulsed.
struct KnownWire : PulsedWire {
  bool steady = false;  ///< the same frame at every position
  TensorPtr frame;      ///< that frame of a steady stream, if it is known
  /// For a value known only at the end: the stream symbol must reach this first.
  std::optional<Dim> known_after;
  std::string known_from;              ///< its source, for messages
  /// The delay of its source stream. For a stream whose first frames are computed separately: the
  /// delay of the other frames.
  std::optional<int64_t> taken_delay;
  /// For frames that a node stores as they arrive: the position of the first one, and frames per
  /// pulse.
  int64_t position = 0;
  int64_t pulse = 0;
  /// How many leading frames of the wire were dropped; nothing if other frames replace them.
  std::optional<int64_t> cut = 0;
  bool poisoned = false;               ///< its node was refused; dependent nodes are not judged
  Status refused;                      ///< why nothing may depend on it
};

/// The maximum number of first frames that are tracked one by one. Longer prefixes are laid out
/// immediately.
constexpr int64_t kMostKnown = int64_t{1} << 14;

/// Return the least history >= `least` with which windows begin at multiples of the stride.
constexpr int64_t aligned_history(int64_t least, int64_t delay, int64_t stride) {
  const int64_t phase = ((delay + least) % stride + stride) % stride;
  return least + (phase == 0 ? 0 : stride - phase);
}

/// A pulsed graph under construction: the interface of ops' streaming rules.
class Builder final : public PulseBuilder {
 public:
  /// `unread`: for every node, the number of leading output frames that have no reader.
  /// `attention`: that of the graph.
  Builder(const Graph& whole, const AllAttention& attention, const Options& options, Graph* pulsed,
          std::vector<int64_t> unread)
      : PulseBuilder(whole, *pulsed, options.symbol, options.pulse, options.backward_chunks),
        pulsed_(pulsed),
        attention_(attention),
        uses_(whole.count_uses()),
        taken_lengths_(scope_of_taken_lengths(whole, attention)),
        unread_(std::move(unread)) {}

  void enter(int node_id);
  /// Return whether the node's rule handled inputs that are not valid from the start.
  bool waited() const { return waited_; }
  KnownWire& wire_of(OutletId whole_outlet) { return wires_[whole_outlet]; }
  const KnownWire& known(OutletId whole_outlet) const { return wires_.at(whole_outlet); }
  /// Return the value that the stream symbol must reach before a wire that does not stream is
  /// known; nothing if it is known from the start.
  std::optional<Dim> known_after(OutletId whole_outlet) const;
  /// Return the minimum, over all lengths, of the end of a wire minus its frames that have passed
  /// when the end is announced; at most 0. Errors: kPulse if that falls without bound as the stream
  /// grows.
  Result<int64_t> least_ahead(OutletId wire, const StreamFact& stream) const;
  /// As above, for pulses that begin at multiples of `unit`, a divisor of the pulse.
  Result<int64_t> least_ahead(OutletId wire, const StreamFact& stream, int64_t unit) const;
  /// Return whether streams of whole pulses may announce their end after the last step: no operator
  /// reads the end of a wire that ends earlier. Outputs drop the frames after their ends.
  bool late_end() const { return late_end_; }
  const std::vector<std::string>& approximations() const { return approximations_; }
  /// Return the declared reads: the first frames that nodes read of their inputs.
  const std::vector<Read>& reads() const { return reads_; }
  /// Return the nodes whose input 0 chooses between the others.
  const std::set<int>& choices() const { return choices_; }
  /// Return the nodes whose rules asked how many of their leading frames have no reader.
  const std::set<int>& asked() const { return asked_; }

  Result<int64_t> pulse_of(OutletId pulsed, int axis) const override;
  Result<int64_t> frames_per_pulse(const Dim& length) override;
  Result<OutletId> count(int axis, const Dim& start, int64_t step) override;
  Result<OutletId> rows(int axis, const Dim& begin) override;
  int64_t await(int i) override { return await_wire(source_of(i)); }
  /// As `await`, for a static wire of the whole graph.
  int64_t await_wire(OutletId whole_outlet);
  int64_t await_frame(int i, int64_t frame) override;
  bool proves_of_taken_lengths(const Dim& dim) const override {
    return taken_lengths_.proves_non_negative(dim);
  }
  using PulseBuilder::reads_from;
  void reads_from(int i, int64_t stride, int64_t offset, int64_t divisor) override {
    reads_.push_back({node_, i, stride, offset, divisor});
  }
  void chooses() override { choices_.insert(node_); }
  int64_t unread() override;
  Result<std::vector<OutletId>> add(std::string_view suffix, OpPtr op, WireList inputs) override;
  /// Append the node's own op over wires that do not stream: every step computes the same.
  Result<std::vector<OutletId>> add_still(WireList inputs);
  Result<OutletId> konst(std::string_view suffix, Tensor value) override;
  Result<OutletId> delay(OutletId wire, const StreamFact& stream, int64_t frames,
                         int64_t overlap) override;
  Result<OutletId> mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                        const Tensor& value) override;
  Result<OutletId> hold(OutletId wire, StreamFact* stream) override;
  Result<OutletId> pad_edges(OutletId wire, StreamFact* stream,
                             const EdgePadding& padding) override;
  Result<OutletId> prefix(OutletId wire, StreamFact* stream, OutletId frames, int64_t count,
                          std::vector<int64_t> known) override;
  Result<Synced> sync() override;
  Result<std::optional<Prefix>> prefix_of(int i) override { return prefix_of_wire(source_of(i)); }
  /// As `prefix_of`, for a wire of the whole graph.
  Result<std::optional<Prefix>> prefix_of_wire(OutletId whole_outlet);
  Result<TensorPtr> mapped_pad_value(const Synced& synced, int i, int out_axis) override;
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
  /// Return the unit that refusals require of pulses; 1 if none did.
  int64_t unit() const { return unit_; }
  /// Return the unit, in the stream symbol, of the positions at which a state may be continued.
  /// Until the state has settled, only whole pulses will do.
  int64_t begin_unit() const { return begin_unit_; }
  int64_t settled() const { return settled_; }
  /// Return expressions that edge padding requires to be non-negative for every length of the
  /// stream.
  const std::vector<Dim>& needed() const { return needed_; }

  /// Drop the first frames of every pulse.
  Result<OutletId> skip_frames(OutletId wire, const StreamFact& stream, int64_t frames);

 private:
  /// A wire, or a slice of one, with the source of its layout: it can be laid out again with
  /// another delay and history.
  struct Source {
    enum class Kind { kPlain, kEdgePadded, kPrefixed, kWaiting };
    OutletId wire;
    StreamFact stream;  ///< of the wire in its present layout
    Kind kind = Kind::kPlain;
    int64_t skipped = 0;  ///< leading frames that are cut off
  };

  /// A stream padded with its own frames, before the padding is laid out.
  struct EdgePadded {
    Source source;
    StreamFact stream;  ///< of the source, if none of its frames waits
    EdgePadding padding;
    int64_t held = 0;                 ///< frames to wait until the end is known
    std::vector<int64_t> known = {};  ///< positions from which the first frames are valid
    int64_t out_delay = 0;            ///< of the wire with the padding laid out

    /// Return the delay if no frame waits for another one.
    int64_t delay() const { return stream.delay + held - padding.before; }
  };

  /// A stream with static prefix frames, before layout.
  struct Prefixed {
    OutletId source;
    StreamFact stream;  ///< of the source
    OutletId frames;
    int64_t count = 0;
    std::vector<int64_t> known = {};  ///< positions from which the prefix is valid; empty: from 0
    int64_t out_delay = 0;            ///< of the wire with the prefix laid out

    /// Return the delay of the joined stream without its laid-out first frames.
    int64_t virtual_delay() const { return stream.delay - count; }
  };

  /// The result of an op that works frame by frame on several wires, or on the windows of one wire.
  /// Its first frames wait for values that arrive later than the frames after them.
  struct Waiting {
    struct Part {
      OutletId wire;
      std::optional<Source> source;  ///< if it streams
    };
    std::vector<Part> parts;
    std::vector<OutletId> wires;  ///< the parts, aligned at `out_delay`
    OpPtr op;
    int slot = 0;
    int axis = 0;
    int64_t delay = 0;           ///< the delay if no frame waits
    std::vector<int64_t> known;  ///< positions from which the first frames are valid
    bool rising = false;  ///< a later frame may become valid later
    int64_t settled = 0;         ///< no frame that is read becomes valid after this position
    int64_t out_delay = 0;
    std::optional<StreamWindow> window;  ///< of the first part
    int64_t laid = 0;                    ///< delay of its laid-out frames, if none waits
  };

  /// How a window reads its laid-out frames.
  struct Layout {
    int64_t delay = 0;  ///< of the frames, if none waits
    int64_t history = 0;
    int64_t out_delay = 0;
  };

  /// The current node's results for the leading frames alone, which precede its results for the
  /// stream.
  struct Early {
    int64_t count = 0;
    std::vector<OutletId> inputs;    ///< the node's inputs for these frames
    std::optional<OutletId> laid;    ///< or: the input that `frames` replace
    OutletId frames;
    int64_t cut = 0;                 ///< number of first output frames to drop
  };

  /// Return the entry of `from` for an input, or for the wire of which the input is a slice; null
  /// if there is none. A slice begins `stream.delay - out_delay` frames later.
  template <class T>
  const T* laid(const std::map<OutletId, T>& from, OutletId wire, const StreamFact& stream) const {
    const auto found = from.find(wire);
    if (found == from.end()) return nullptr;
    const auto cut = cut_of(wire, stream.delay);
    return cut && found->second.out_delay + *cut == stream.delay ? &found->second : nullptr;
  }
  std::optional<int64_t> cut_of(OutletId wire, std::optional<int64_t> delay) const;
  std::optional<int64_t> cut_by_node(OutletId made) const;

  /// Return whether the node's rule has declared so far that it works frame by frame.
  bool is_by_frame() const { return !reads_.empty() && reads_.back().node == node_; }
  /// Return how many leading frames of the inputs need not be aligned.
  int64_t unread_of_inputs() { return is_by_frame() ? unread() : 0; }
  Result<int64_t> meeting_delay();
  OpPtr bound_op() const;
  Result<std::optional<TensorPtr>> pad_value_of_windows(OutletId wire, const StreamFact& stream,
                                                        const StreamWindow& window,
                                                        const TensorPtr& frame) const;
  Result<int64_t> history_of(OutletId wire, StreamFact* stream, const StreamWindow& window,
                             const TensorPtr& pad_value);
  const KnownWire& input(int i) const override { return wires_.at(source_of(i)); }
  /// Return the wires of the whole graph from which the node's pulsed form is made.
  const std::vector<OutletId>& sources() const { return attention_.inputs_of(whole_, node_); }
  bool can_be_equal(const Dim& a, const Dim& b) const;
  Status check_stride(int64_t frames, int64_t stride);
  Status misfit_of_symbol(std::string cause, int64_t unit);
  std::optional<int64_t> symbol_multiple(int64_t unit, int64_t frames) const;
  Source laid_source(OutletId wire, const StreamFact& stream) const;
  int64_t delay_of(const Source& source) const;
  std::vector<int64_t> known_of(const Source& source) const;
  int64_t settled_of(const Source& source) const;
  Result<OutletId> lay(const Source& source, int64_t out_delay, int64_t shown);
  Result<OutletId> lay_waiting(const Waiting& waiting, int64_t out_delay, int64_t shown);
  Result<OutletId> repeat(const Waiting& waiting, int64_t out_delay, int64_t shown);
  Result<Layout> layout_of(const Source& source, const StreamFact& stream,
                           const StreamWindow& window);
  Result<OutletId> lay_for(const Source& source, const StreamWindow& window, int64_t laid_delay,
                           int64_t history, int64_t shown);
  void note_windows(const Source& source, const StreamWindow& window, const Layout& layout,
                    OutletId laid_out);
  Result<std::optional<OutletId>> laid_window(OutletId wire, StreamFact* stream,
                                              const StreamWindow& window);
  std::optional<Waiting> meeting_parts(int64_t latest);
  void note_waiting(OutletId made, const StreamFact& stream);
  bool works_on_any_count(const Waiting& waiting, const Node& made) const;
  Result<int64_t> slack_of(OutletId wire, const StreamFact& stream);
  Result<int64_t> least_ahead(OutletId wire, const StreamFact& stream, int64_t unit,
                              bool late) const;
  void read_end(OutletId wire, const StreamFact& stream);
  Result<std::optional<OutletId>> prefixed_window(const Prefixed& prefixed, StreamFact* stream,
                                                  const StreamWindow& window);
  int64_t earliest_delay(OutletId wire, const StreamFact& stream);
  Result<std::optional<Prefixed>> padded_prefix(OutletId wire, StreamFact stream,
                                                const StreamWindow& window);
  Result<OutletId> with_delay(OutletId wire, const StreamFact& stream, int64_t frames);
  Result<OutletId> cut_prefix(const Prefixed& prefixed, int64_t begin, int64_t end);
  std::optional<int64_t> prefix_delay() const;
  Result<std::optional<OutletId>> prefix_frames(int i, int64_t count);
  Result<bool> begin_early(int64_t delay);
  Result<OutletId> first_frames(OutletId made);
  void skip_prefix(KnownWire* wire) const;
  Status give_prefixed(KnownWire* wire, OutletId frames, int64_t count);
  Result<OutletId> lay_prefix(const Prefixed& prefixed, int64_t history, int64_t shown);
  bool drops_unread(OutletId wire) const;
  Result<EdgePadded> edge_padded(const Source& source, const EdgePadding& padding, int64_t pulse);
  Result<OutletId> lay_edge_padding(const EdgePadded& edge_padded, int64_t out_delay,
                                    int64_t shown);
  Graph* pulsed_;
  const AllAttention& attention_;
  std::vector<std::vector<int>> uses_;
  SymbolScope taken_lengths_;
  std::vector<int64_t> unread_;
  std::vector<Read> reads_;
  std::set<int> choices_;
  std::set<int> asked_;
  bool waited_ = false;
  std::optional<Early> early_;
  std::map<OutletId, Prefixed> prefixed_;       ///< by the wire with the prefix laid out
  std::map<OutletId, EdgePadded> edge_padded_;  ///< by the wire with the padding laid out
  std::map<OutletId, Waiting> waiting_;    ///< by the wire that waits
  std::optional<Waiting> meeting_;         ///< the wires that the current node aligns
  std::map<OutletId, KnownWire> wires_;
  /// Nodes by operator and inputs, to merge equal ones. Keys may hold addresses of tensors, which
  /// the operator keeps alive.
  std::map<std::string, std::pair<OpPtr, std::vector<OutletId>>> seen_;
  std::vector<std::string> approximations_;
  std::vector<Dim> needed_;
  int64_t unit_ = 1;
  int64_t begin_unit_ = 1;
  int64_t settled_ = 0;
  bool late_end_ = true;
  bool knows_ends_ = false;  ///< the node noted the ends that its operators read
};

}  // namespace rill::pulse
