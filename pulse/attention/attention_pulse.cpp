// The streaming form of attention.

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "core/run/frames_so_far.h"
#include "pulse/attention/attention.h"
#include "pulse/attention/band.h"
#include "pulse/attention/layout.h"
#include "pulse/attention/pulsed_scores.h"
#include "pulse/builder.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;

/// Return whether a node cuts a table to the positions of queries or of keys.
bool cuts_positions(const Course& course, Square at) {
  return course.is(Form::kCut) && (course.axis() == at.row || course.axis() == at.column);
}

class Streamed {
 public:
  Streamed(Builder& b, const Attention& attention)
      : b_(b), attention_(attention), body_(*attention.body), values_(attention.values()) {}

  Status run() {
    const PlacedWire used{attention_.used(), attention_.in_weights};
    const PlacedWire values{values_, attention_.in_values};
    RILL_TRY(ask(used));
    RILL_TRY(ask(values));
    RILL_TRY(find_rates());
    RILL_ASSIGN(const Band band, find_band(used));
    RILL_ASSIGN(layout_.front, keys_in_front(band));
    RILL_TRY(gather_inputs());
    RILL_TRY(lay_out(b_, band, queries(), past_only_, &layout_));
    PulsedScores scores(b_, body_, layout_, std::move(inputs_), std::move(nearest_));
    std::vector<OutletId> operands(2);
    OutletId& weighed = operands[static_cast<size_t>(attention_.weights)];
    RILL_ASSIGN(weighed, scores.weights(used));
    // The scores of keys outside the stream are undefined, and no softmax has hidden them.
    if (!scores.normalised() || band.zeroed) {
      RILL_ASSIGN(weighed, scores.drop_keys(weighed, used.second.column));
    }
    RILL_ASSIGN(operands[static_cast<size_t>(1 - attention_.weights)], scores.values(values));
    RILL_ASSIGN(const OutletId out, b_.add1(attention_.product().op, operands));
    StreamFact stream;
    stream.axis = attention_.queries;
    stream.dim = queries();
    stream.delay = layout_.query_delay;
    b_.set(0, out, stream);
    return {};
  }

 private:
  const Dim& queries() const { return b_.out(0).dim(attention_.queries); }

  /// Find which inputs of the body hold queries, and which hold keys.
  Status ask(const PlacedWire& wire) {
    std::vector<PlacedWire> open{wire};
    while (!open.empty()) {
      const auto [outlet, at] = open.back();
      open.pop_back();
      if (!asked_.insert({{outlet, at}, 0}).second) continue;
      const Node& node = body_.node(outlet.node);
      if (input_of(body_, outlet) >= 0) continue;
      if (const Course course = node.op->course(); course.is(Form::kShifted)) {
        past_only_ |= course.past_only;
        const NearestDistance nearest{*course.begin, course.step};
        if (nearest_ && !(*nearest_ == nearest)) {
          return b_.refuse("Give all distances one length and order",
                           "distances of two lengths or orders meet");
        }
        nearest_ = nearest;
      }
      RILL_ASSIGN(const auto inner, followed_inputs(b_, body_, node, at));
      for (size_t k = inner.size(); k-- > 0;) open.emplace_back(node.inputs[k], inner[k]);
    }
    return {};
  }

  const KnownWire& known(int input) const {
    return b_.known(attention_.inputs[static_cast<size_t>(input)]);
  }

  /// Find how many queries and keys a pulse has.
  Status find_rates() {
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const int i = input_of(body_, outlet);
      const auto stream = i < 0 ? std::nullopt : known(i).stream;
      if (!stream) continue;
      if (stream->axis != at.row && stream->axis != at.column) {
        return b_.refuse("Use elementwise operators between scores and values",
                         "the streaming axis of input ", i, " is lost among its scores");
      }
      RILL_ASSIGN(const int64_t pulse, b_.pulse_of(known(i).outlet, stream->axis));
      int64_t& own = stream->axis == at.row ? layout_.pulse : layout_.key_pulse;
      if (own != 0 && own != pulse) {
        return b_.refuse("Bring them to one rate", stream->axis == at.row ? "queries" : "keys",
                         " run at ", counted(pulse, "frame"), " per pulse, and others at ", own);
      }
      own = pulse;
    }
    if (layout_.pulse == 0) {
      RILL_ASSIGN(layout_.pulse, b_.frames_per_pulse(queries()));
    }
    if (layout_.key_pulse == 0) layout_.key_pulse = layout_.pulse;
    const int64_t places = std::lcm(layout_.pulse, layout_.key_pulse);
    layout_.rates = {places / layout_.pulse, places / layout_.key_pulse};
    return {};
  }

  /// Return the number of keys before the stream that are kept separate from its keys: known ones,
  /// such as learned prompts, if all inputs with keys have the same number of them. 0 if queries
  /// and keys run at different rates, or if the keys are padding that no late query sees: padding
  /// scrolls by like other keys, because the last bits of sums depend on the places of the terms.
  Result<int64_t> keys_in_front(const Band& band) {
    if (nearest_ || !layout_.rates.alike()) return 0;
    std::optional<int64_t> count;
    bool is_padding = true;
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const int i = input_of(body_, outlet);
      const auto stream = i < 0 ? std::nullopt : known(i).stream;
      if (!stream || stream->axis != at.column) continue;
      RILL_ASSIGN(const auto prefix, b_.prefix_of_wire(attention_.inputs[static_cast<size_t>(i)]));
      if (!prefix || count.value_or(prefix->count) != prefix->count) return 0;
      // A stream that is cut can end among these keys, which is known only when it ends.
      const Dim keys = body_.fact(outlet).dim(at.column);
      if (!b_.scope().proves_ge(keys, Dim(prefix->count))) return 0;
      count = prefix->count;
      // Frames that are joined to the stream are laid out; those of a padding are virtual.
      is_padding &= stream->delay < 0;
    }
    return is_padding && band.sinks == 0 ? 0 : count.value_or(0);
  }

  /// Align keys to one delay, at which their ends are known in time.
  Status gather_inputs() {
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const int i = input_of(body_, outlet);
      if (i < 0) continue;
      const OutletId outer = attention_.inputs[static_cast<size_t>(i)];
      ready_ = std::max(ready_, b_.await_wire(outer));
      const auto& stream = known(i).stream;
      PulsedScores::Input& input = inputs_[key];
      input = {known(i).outlet, stream, {}};
      if (!stream) continue;
      if (layout_.front > 0 && stream->axis == at.column) {
        RILL_ASSIGN(const auto prefix, b_.prefix_of_wire(outer));
        input = {prefix->rest, prefix->stream, prefix->frames};
      } else {
        RILL_ASSIGN(input.wire, b_.materialise(input.wire, &*input.stream));
      }
      if (stream->axis == at.column) {
        if (outlet == values_) {
          // Keys outside the stream have weight 0; their values must not be NaN, since 0 * NaN is
          // NaN.
          RILL_ASSIGN(const Tensor zero, Tensor::zeros(body_.fact(outlet).dtype, {}));
          RILL_ASSIGN(input.wire, b_.mask(input.wire, &*input.stream, true, true, zero));
        } else {
          RILL_ASSIGN(input.wire, b_.hold(input.wire, &*input.stream));
        }
        layout_.key_delay = std::max(layout_.key_delay, input.stream->delay);
        layout_.length = input.stream->dim;
      } else {
        layout_.query_delay = std::max(layout_.query_delay, input.stream->delay);
      }
    }
    layout_.query_delay = std::max(layout_.query_delay, ready_ * layout_.pulse);
    return {};
  }

  /// Return by how many ticks of the common clock the keys may end before the last query;
  /// kMostFrames, above the length of any stream, if that is unknown. Negative if keys follow the
  /// last query.
  int64_t fewer_keys(const Fact& scores, Square at) const {
    const Dim queries = Dim(layout_.rates.query) * (scores.dim(at.row) - Dim(1)) + Dim(1);
    const Dim difference =
        b_.scope().simplify(queries - Dim(layout_.rates.key) * scores.dim(at.column));
    const auto pattern = DimPattern::of(difference, b_.symbol());
    const auto most = pattern.ok() ? pattern->greatest(1) : pattern.status();
    const int64_t ticks = most.ok() ? most->value_or(kMostFrames) : kMostFrames;
    return std::clamp(ticks, -kMostFrames, kMostFrames);
  }

  /// Find the keys that each query sees. Where keys and queries run at different rates, positions
  /// are compared on a common clock.
  Result<Band> find_band(const PlacedWire& weights) const {
    const auto [used, square] = weights;
    const int64_t fewer = fewer_keys(body_.fact(used), square);
    if (layout_.rates.alike()) {
      return band_of(body_, attention_.large, used, square, fewer, b_.symbol());
    }
    std::map<int, SlowRange> slower;
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const Node& node = body_.node(outlet.node);
      if (at.row < 0 && at.column < 0) continue;
      const Course course = node.op->course();
      if (cuts_positions(course, at) || at.distance >= 0 || course.is(Form::kTriangle) ||
          course.is(Form::kSummed)) {
        return b_.refuse(
            "Compare positions that are ranges, as in arange(n) * 2 for keys of half "
            "the rate, or bring queries and keys to one rate",
            "queries run at ", counted(layout_.pulse, "frame"), " per pulse, and keys at ",
            layout_.key_pulse, ", which node \"", node.name, "\" (", node.op->name(),
            ") does not distinguish");
      }
      if (!course.is(Form::kCounted)) continue;
      const int64_t places = at.row >= 0 ? layout_.rates.query : layout_.rates.key;
      slower[outlet.node] = {*course.begin, course.step, places};
    }
    RILL_ASSIGN(const OnOneClock clocked, on_one_clock(body_, attention_.large, used, slower));
    const Band band = band_of(clocked.body, clocked.large, clocked.used, square, fewer,
                               b_.symbol());
    return band_by_queries(band, layout_.rates);
  }

  Builder& b_;
  const Attention& attention_;
  const Graph& body_;
  const OutletId values_;
  int64_t ready_ = 0;  ///< the first pulse at which all inputs that do not stream are valid
  Layout layout_;
  bool past_only_ = false;      ///< a relative shift has no distances to keys after the query
  std::optional<NearestDistance> nearest_;
  std::map<PlacedWire, int> asked_;
  std::map<PlacedWire, PulsedScores::Input> inputs_;
};

}  // namespace

Status pulsify(Builder& b, const Attention& attention) {
  // On the heap: deep graphs are pulsed on small stacks.
  Status status = std::make_unique<Streamed>(b, attention)->run();
  if (!status.ok() && status.error().node == b.node().name) status.error().op = kAttentionName;
  return status;
}

}  // namespace rill::pulse
