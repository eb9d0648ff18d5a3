#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/square.h"

namespace rill {

/// How a wire streams. Position n of the wire holds logical frame n - delay.
///
/// The delay is signed. If it is negative, the first -delay logical frames are virtual: the wire
/// does not carry them. Each is the constant frame `pad_value` (zeros if null), and a reader that
/// needs these frames puts them into its initial history.
struct StreamFact {
  int axis = 0;
  Dim dim;            ///< logical frames of the whole stream, in the stream symbol
  int64_t delay = 0;  ///< frames of this wire
  TensorPtr pad_value;  ///< extent 1 on the axis, or rank 0; used only if delay < 0
  /// The axes of queries, keys and distances of a wire between the scores of attention and the
  /// values; `axis` is one of them.
  Square square = {};

  bool has_prefix() const { return delay < 0; }
  /// Return the axes of frames: queries, keys and distances, or only `axis`; -1 for missing ones.
  std::array<int, 3> axes() const {
    if (square == Square{}) return {axis, -1, -1};
    return {square.row, square.column, square.distance};
  }
};

/// A window that slides along the stream, as in convolution, pooling and STFT.
struct StreamWindow {
  int64_t kernel = 1;  ///< frames from the first tap to the last, (taps - 1) * dilation + 1
  int64_t stride = 1;
  int64_t dilation = 1;  ///< frames from one tap to the next
  int64_t before = 0;    ///< padding
  int64_t after = 0;
  Tensor pad_value;  ///< a number
  /// Frame n of every output depends on window n alone.
  bool frame_by_window = false;
  int64_t unread = 0;  ///< leading windows that no one reads
  int64_t rate = 1;    ///< frames that each window gives
  int64_t cut = 0;     ///< leading frames of the first window that the output omits
  /// A window of padding alone gives the same result as a window of frames equal to the padding.
  bool padding_is_frames = false;
};

/// Frames that repeat at the ends of a stream: the edge frame, or frames mirrored at the edge.
struct EdgePadding {
  int64_t before = 0;
  int64_t after = 0;
  bool reflect = false;
};

/// The pulsed form of a wire of the whole graph.
struct PulsedWire {
  OutletId outlet;
  std::optional<StreamFact> stream;  ///< nothing if the wire is static
  int64_t ready = 0;                 ///< for a static wire: the first pulse at which it is valid
};

/// The pulsed form of a node's output.
struct PulsedOutput {
  struct Still {
    int64_t ready;  ///< the first pulse at which it is valid
    /// For a node that stores frames of a stream: the position of the first stored frame, and the
    /// frames per pulse.
    int64_t position;
    int64_t pulse;
  };
  struct Streams {
    StreamFact stream;
    /// The first frames, at least -stream.delay of them, if they are real and not virtual.
    std::optional<OutletId> first;
  };
  /// The same frame at every position, even before the start, so that any delay is valid.
  struct Steady {
    StreamFact stream;
    TensorPtr frame;  ///< null if it is unknown
  };
  /// A value that is known once a wire of the pulsed graph has carried the whole stream.
  struct AtEnd {
    OutletId of;
    StreamFact stream;
  };
  /// An output that cannot stream: nodes that read it fail with `why`.
  struct Refused {
    Status why;
  };
  std::variant<Still, Streams, Steady, AtEnd, Refused> what;
};

/// Services for rules of nodes between the scores of attention and the values. Wires there have
/// separate axes for queries, keys, and distances of keys from queries. Before any rule runs,
/// `Op::axes` and `Op::course` have traced these axes upstream from the product with the values.
class ScoresBuilder {
 public:
  /// Return the axes of output 0.
  virtual Square square() const = 0;
  /// Set the scores of keys outside the stream to minus infinity.
  virtual Result<OutletId> hide_keys(OutletId scores) = 0;
  /// Keep the elements on one side of a diagonal of queries and keys, and set the others to 0.
  virtual Result<OutletId> keep_side(OutletId wire, const Dim& diagonal, bool upper) = 0;
  /// Convert scores of queries against distances to scores of queries against keys.
  virtual Result<OutletId> scores_of_keys(OutletId scores) = 0;

 protected:
  ~ScoresBuilder() = default;
};

/// The interface of `pulse` to an op's streaming rule: the op's inputs in the whole graph and in
/// the pulsed graph.
class PulseBuilder {
 public:
  virtual ~PulseBuilder() = default;
  PulseBuilder(const PulseBuilder&) = delete;
  PulseBuilder& operator=(const PulseBuilder&) = delete;

  const Node& node() const { return whole_.node(node_); }            ///< in the whole graph
  const Fact& in(int i) const { return whole_.fact(source_of(i)); }  ///< in the whole graph
  /// Return the fact of output i in the whole graph.
  const Fact& out(int i) const { return node().outputs[static_cast<size_t>(i)]; }
  int inputs() const { return static_cast<int>(node().inputs.size()); }
  const std::string& symbol() const { return symbol_; }
  /// Return how input i streams; nothing if it is static.
  std::optional<StreamFact> stream(int i) const { return input(i).stream; }
  /// Return input i in the pulsed graph.
  OutletId wire(int i) const { return input(i).outlet; }
  const Fact& fact(OutletId pulsed) const { return pulsed_.fact(pulsed); }
  /// Return the frames per pulse on a wire of the pulsed graph. Errors: kPulse if this is not a
  /// number.
  virtual Result<int64_t> pulse_of(OutletId pulsed, int axis) const = 0;
  /// Return the expression with the stream symbol replaced by the pulse.
  Dim pulsed(const Dim& dim) const { return dim.substitute(symbol_, pulse_); }
  /// Return the extents of output 0 with the stream symbol replaced; among scores, those of a pulse
  /// with its queries and keys.
  virtual std::vector<Dim> pulsed_shape() const;
  /// Return the services for scores; null for other nodes.
  virtual ScoresBuilder* scores() { return nullptr; }
  /// Return the frames per pulse of a wire with that length whose frames come from no input, such
  /// as positions or rows of a table. Errors: kPulse if they differ between pulses.
  virtual Result<int64_t> frames_per_pulse(const Dim& length) = 0;
  /// Number the frames along an axis of output 0: frame n is start + step * n. Shape: [frames].
  virtual Result<OutletId> count(int axis, const Dim& start, int64_t step) = 0;
  /// Take one row of the table in input 0 per frame along an axis: row begin + n for frame n.
  virtual Result<OutletId> rows(int axis, const Dim& begin) = 0;
  /// Return the assertions on symbols; a stream has at least one frame.
  const SymbolScope& scope() const { return whole_.scope; }
  /// Promise to wait for the static input i. Return the pulse from which it is valid: 0 unless the
  /// stream determines its value. `sync` makes this promise too. Without it, an input that the
  /// stream determines is refused.
  virtual int64_t await(int i) = 0;
  /// As `await`, for one frame along the streaming axis: stored frames become valid one by one.
  virtual int64_t await_frame(int i, int64_t frame) = 0;
  /// Return whether an expression is provably >= 0 at every length at which all slices to fixed
  /// frames of the stream exist. Streams of other lengths are refused at their end.
  virtual bool proves_of_taken_lengths(const Dim& dim) const = 0;

  /// Declare that frame n of the outputs reads no frame of input i before (n * stride + offset) /
  /// divisor. Without this, an input counts as read from its first frame.
  virtual void reads_from(int i, int64_t stride, int64_t offset, int64_t divisor) = 0;
  void reads_from(int i, int64_t stride, int64_t offset) { reads_from(i, stride, offset, 1); }
  /// Declare that input 0 selects between inputs 1 and 2, element by element: frames of these
  /// before the first selected one are not read.
  virtual void chooses() = 0;
  /// Return how many leading frames of the outputs no one reads. They may have any content, so they
  /// need no waiting, and may be virtual without a known pad value.
  virtual int64_t unread() = 0;

  /// Append a node to the pulsed graph, or return an equal one.
  virtual Result<std::vector<OutletId>> add(std::string_view suffix, OpPtr op, WireList inputs) = 0;
  Result<OutletId> add1(std::string_view suffix, OpPtr op, WireList inputs);
  Result<OutletId> add1(OpPtr op, WireList inputs);
  virtual Result<OutletId> konst(std::string_view suffix, Tensor value) = 0;

  /// Delay a stream by `frames` frames; `overlap` earlier frames precede each pulse. The initial
  /// history is the pad value of the stream.
  virtual Result<OutletId> delay(OutletId wire, const StreamFact& stream, int64_t frames,
                                 int64_t overlap) = 0;
  /// Overwrite the positions before the first frame, and those after the last frame once that is
  /// known.
  virtual Result<OutletId> mask(OutletId wire, StreamFact* stream, bool begin, bool end,
                                const Tensor& value) = 0;
  /// Delay a stream so that its end is announced before the frames after the end arrive, if this
  /// does not hold already.
  virtual Result<OutletId> hold(OutletId wire, StreamFact* stream) = 0;
  /// Pad a stream at both ends with its own frames. The caller sets `stream->dim` afterwards.
  virtual Result<OutletId> pad_edges(OutletId wire, StreamFact* stream,
                                     const EdgePadding& padding) = 0;
  /// Prepend `count` static frames to a stream. A downstream window reads them in its history, so
  /// that they cost no delay. `known`: the position from which each of them is valid; empty if all
  /// are valid from the start.
  virtual Result<OutletId> prefix(OutletId wire, StreamFact* stream, OutletId frames, int64_t count,
                                  std::vector<int64_t> known) = 0;
  /// Streaming inputs at one common delay, and static inputs. `sync` delays the streaming inputs to
  /// the smallest such delay. Errors: kPulse if they differ in frames per pulse or in length.
  struct Synced {
    std::vector<OutletId> wires;
    StreamFact stream;  ///< the stream of input `first`
    int first = -1;
    bool steady = false;        ///< all streaming inputs are steady
    bool steady_known = false;  ///< as above, and the frames of all inputs are known
  };
  virtual Result<Synced> sync() = 0;
  /// The first frames of an input, if they are known or prepended, separate from the rest.
  struct Prefix {
    OutletId frames;
    int64_t count = 0;
    OutletId rest;
    StreamFact stream;  ///< the stream of the rest; its delay is at least 0
  };
  virtual Result<std::optional<Prefix>> prefix_of(int i) = 0;
  /// Return the virtual first frame of output i, which this node computes from the virtual frames
  /// of its inputs.
  virtual Result<TensorPtr> mapped_pad_value(const Synced& synced, int i, int out_axis) = 0;
  /// Make the virtual first frames real.
  virtual Result<OutletId> materialise(OutletId wire, StreamFact* stream) = 0;
  /// Prepare an input for an op that reads windows of it without padding, by a mask, history and
  /// delays. `stream` becomes the stream of the op's output, except for `axis` and `dim`.
  virtual Result<OutletId> window(OutletId wire, StreamFact* stream,
                                  const StreamWindow& window) = 0;

  /// Set the pulsed form of output i. Errors: kPulse for `AtEnd` if the frames per pulse of the
  /// wire `of` are not a number.
  virtual Status give(int i, OutletId pulsed, PulsedOutput output) = 0;
  /// Set output i to a streaming wire, or to a static wire that is valid from the first pulse.
  void set(int i, OutletId pulsed, std::optional<StreamFact> stream);
  /// Declare that output i cannot stream.
  void set_refused(int i, Status why);
  /// Return whether a node reads output i in the whole graph.
  virtual bool is_used(int i) const = 0;
  /// Declare that this node depends on where pulses begin: at multiples of `unit` frames of a wire
  /// that has `frames` frames per pulse. A stream cannot be continued at another position.
  virtual void begins_at_multiples_of(int64_t unit, int64_t frames) = 0;
  /// Declare that this node must get its first `position` frames in whole pulses: before that
  /// position, a plan with another pulse cannot continue the stream. Frames are those of a wire
  /// that has `frames` frames per pulse.
  virtual void settles_at(int64_t position, int64_t frames) = 0;
  /// Record an approximation in the model's properties.
  virtual void note_approximation(std::string_view what) = 0;
  /// Return whether the caller allows backward loops to run within each pulse.
  bool backward_chunks() const { return backward_chunks_; }

  /// Make an error with node, op, axis, cause and remedy.
  template <class... Parts>
  Status refuse(std::string_view remedy, const Parts&... cause) const {
    return refusal(str_cat(cause...), remedy);
  }
  Status refusal(const std::string& cause, std::string_view remedy) const;
  /// Refuse the pulse: a wire has `frames` frames per pulse, and needs a multiple of `unit`. The
  /// remedy gives the pulse in the stream symbol.
  template <class... Parts>
  Status refuse_pulse(int64_t frames, int64_t unit, const Parts&... cause) {
    return misfit(str_cat(cause...), frames, unit);
  }
  virtual Status misfit(std::string cause, int64_t frames, int64_t unit) = 0;

 protected:
  PulseBuilder(const Graph& whole, const Graph& pulsed, std::string symbol, Dim pulse,
               bool backward_chunks)
      : whole_(whole),
        symbol_(std::move(symbol)),
        pulse_(std::move(pulse)),
        pulsed_(pulsed),
        backward_chunks_(backward_chunks) {}
  /// Make the interface for the nodes of a loop body.
  PulseBuilder(const PulseBuilder& around, const Graph& body)
      : whole_(body),
        symbol_(around.symbol_),
        pulse_(around.pulse_),
        pulsed_(around.pulsed_),
        backward_chunks_(around.backward_chunks_) {}
  /// Return the pulsed form of input i.
  virtual const PulsedWire& input(int i) const = 0;
  OutletId source_of(int i) const { return node().inputs[static_cast<size_t>(i)]; }

  const Graph& whole_;
  const std::string symbol_;
  const Dim pulse_;
  int node_ = -1;  ///< the node of the whole graph whose rule runs

 private:
  const Graph& pulsed_;
  const bool backward_chunks_;
};

}  // namespace rill
