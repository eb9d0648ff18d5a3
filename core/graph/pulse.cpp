#include "core/graph/pulse.h"

#include "core/base/search.h"

namespace rill {

Result<OutletId> PulseBuilder::add1(std::string_view suffix, OpPtr op, WireList inputs) {
  RILL_ASSIGN(const std::vector<OutletId> outlets, add(suffix, std::move(op), inputs));
  return outlets[0];
}

Result<OutletId> PulseBuilder::add1(OpPtr op, WireList inputs) {
  return add1(std::string_view(), std::move(op), inputs);
}

std::vector<Dim> PulseBuilder::pulsed_shape() const {
  std::vector<Dim> shape;
  for (const Dim& extent : out(0).shape) shape.push_back(pulsed(extent));
  return shape;
}

void PulseBuilder::set(int i, OutletId pulsed, std::optional<StreamFact> stream) {
  PulsedOutput output;
  if (stream) output.what = PulsedOutput::Streams{*std::move(stream), std::nullopt};
  // `Streams` and `Still` cannot fail.
  (void)give(i, pulsed, std::move(output));
}

void PulseBuilder::set_refused(int i, Status why) {
  (void)give(i, {}, {PulsedOutput::Refused{std::move(why)}});
}

Status PulseBuilder::refusal(const std::string& cause, std::string_view remedy) const {
  return fail(Code::kPulse, cause)
      .in_node(node().name, node().op->name())
      .at(node().line > 0 ? "graph.nnef" : "", node().line)
      .hint(remedy);
}

namespace {

/// Return the track that has the streaming axis of every streaming input; null if there is none.
const AxisTrack* common_track(const std::vector<AxisTrack>& tracks, const PulseBuilder& b) {
  for (const AxisTrack& track : tracks) {
    bool holds = true;
    for (int i = 0; i < b.inputs() && holds; ++i) {
      const auto stream = b.stream(i);
      if (stream) holds = track.in[static_cast<size_t>(i)] == stream->axis;
    }
    if (holds) return &track;
  }
  return nullptr;
}

/// Append the op itself, with the extents of a pulse.
Result<std::vector<OutletId>> add_own(PulseBuilder& b, const Op& op, WireList wires) {
  const OpPtr bound = op.with_symbol(b.symbol(), b.pulsed(Dim::symbol(b.symbol())));
  return b.add("", bound ? bound : std::shared_ptr<const Op>(op.clone()), wires);
}

/// Append the op itself to wires of queries and keys.
Status pulsify_scores(PulseBuilder& b, const Op& op) {
  if (op.with_symbol(b.symbol(), Dim(1))) {
    return b.refuse("Use numbers that do not depend on the length of the stream",
                    "between scores and values, it uses the length of the stream");
  }
  std::vector<OutletId> wires;
  for (int i = 0; i < b.inputs(); ++i) wires.push_back(b.wire(i));
  RILL_ASSIGN(const std::vector<OutletId> outlets, add_own(b, op, wires));
  for (size_t i = 0; i < outlets.size(); ++i) b.set(static_cast<int>(i), outlets[i], std::nullopt);
  return {};
}

}  // namespace

Status Op::pulsify(PulseBuilder& b) const {
  if (b.scores()) return pulsify_scores(b, *this);
  Facts in;
  Facts out;
  for (int i = 0; i < b.inputs(); ++i) in.push_back(b.in(i));
  for (size_t i = 0; i < b.node().outputs.size(); ++i) out.push_back(b.out(static_cast<int>(i)));
  const std::vector<AxisTrack> tracks = axes(in, out);
  const AxisTrack* track = common_track(tracks, b);
  bool any_stream = false;
  for (int i = 0; i < b.inputs(); ++i) any_stream |= b.stream(i).has_value();
  if (!any_stream) {
    return b.refuse("Make it depend on an input that streams",
                    "its output depends on the length of the stream, though no input streams");
  }
  const bool reaches_all = track && all_of(track->out, [](int axis) { return axis >= 0; });
  if (!reaches_all) {
    int axis = -1;
    for (int i = 0; i < b.inputs(); ++i) {
      if (const auto stream = b.stream(i)) axis = stream->axis;
    }
    return b.refuse(
        "Move the operator out of the streaming part, or give it an axis that is not "
        "the stream's",
        "the frames of streaming axis ", axis,
        " are not independent of one another for this operator");
  }
  for (int i = 0; i < b.inputs(); ++i) {
    if (b.stream(i)) b.reads_from(i, 1, 0);
  }
  RILL_ASSIGN(const PulseBuilder::Synced synced, b.sync());
  RILL_ASSIGN(const std::vector<OutletId> outlets, add_own(b, *this, synced.wires));
  for (size_t i = 0; i < outlets.size(); ++i) {
    StreamFact stream = synced.stream;
    stream.axis = track->out[i];
    stream.dim = b.out(static_cast<int>(i)).dim(stream.axis);
    stream.pad_value = nullptr;
    TensorPtr frame;
    const bool has_pad_value = stream.delay < 0 && stream.delay < -b.unread();
    if (has_pad_value || synced.steady_known) {
      RILL_ASSIGN(frame, b.mapped_pad_value(synced, static_cast<int>(i), stream.axis));
    }
    if (stream.delay < 0) stream.pad_value = frame;
    PulsedOutput output{PulsedOutput::Streams{stream, std::nullopt}};
    if (synced.steady) output.what = PulsedOutput::Steady{stream, frame};
    RILL_TRY(b.give(static_cast<int>(i), outlets[i], std::move(output)));
  }
  return {};
}

}  // namespace rill
