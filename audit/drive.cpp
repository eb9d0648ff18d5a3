#include "audit/drive.h"

#include <algorithm>
#include <optional>

#include "audit/values.h"
#include "core/base/search.h"
#include "core/run/index_range.h"
#include "core/run/together.h"

namespace rill::audit {

Status check_fit(const PlanIo& io, const Tensor& value, int free_axis) {
  bool same = value.dtype() == io.dtype && value.shape().size() == io.shape.size();
  for (size_t axis = 0; same && axis < io.shape.size(); ++axis) {
    same = static_cast<int>(axis) == free_axis || value.shape()[axis] == io.shape[axis];
  }
  if (same) return check_index_range(io, value.view()).status();
  return fail(Code::kShape, "input ", io.name, " takes ", io.shape, " of ", dtype_name(io.dtype),
              ", found ", value.shape(), " of ", dtype_name(value.dtype()));
}

namespace {

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Check that an input has the frames of a stream of that length, as far as the plan knows it.
Status check_frames(const Plan& plan, const PlanIo& io, int64_t found, int64_t length) {
  const PlanStream& stream = io.stream;
  const auto wanted = stream.length.valid()
                          ? stream.length.at(length)
                          : scaled_whole(length, stream.pulse, plan.stream_pulse);
  if (!wanted || *wanted == found) return {};
  return fail(Code::kShape, "input ", io.name, " has ", counted(found, "frame"), ", expected ",
              *wanted, " of a stream of ", plan.stream_symbol, "=", length);
}

/// Runs one stream through a session.
class Streamer {
 public:
  Streamer(Session* session, std::span<const Tensor> inputs, int64_t frames,
           const StreamOptions& options)
      : session_(*session),
        plan_(session->plan()),
        inputs_(inputs),
        options_(options),
        draw_(static_cast<uint64_t>(frames)) {
    result_.frames = frames;
  }

  Status begin();
  bool ended() const {
    if (!options_.ask_session) return tick_ >= result_.steps;
    return tick_ >= std::max<int64_t>(1, input_steps_) && session_.steps_left() <= 0;
  }
  /// Feed inputs before a step, and take outputs after it.
  void feed();
  Status take();
  Session& session() { return session_; }
  StreamResult result() && {
    result_.given_up = !ended();
    return std::move(result_);
  }

 private:
  Status plan_output(const PlanIo& io);
  /// The valid frames of an output after a step: stream frames [at, at + count), starting at index
  /// `first` of the output.
  struct Taken {
    int64_t first = 0;
    int64_t at = 0;
    int64_t count = 0;
  };
  Taken taken(size_t output) const;
  int64_t output_frames(const PlanStream& stream, bool* exact) const;
  void fill(const View& view);

  Session& session_;
  const Plan& plan_;
  std::span<const Tensor> inputs_;
  const StreamOptions& options_;
  Draw draw_;
  StreamResult result_;
  std::vector<int64_t> frames_;  ///< per output
  int64_t input_steps_ = 0;
  int64_t input_pulse_ = 1;
  int64_t tick_ = 0;
};

int64_t Streamer::output_frames(const PlanStream& stream, bool* exact) const {
  const auto known = stream.length.at(result_.frames);
  *exact = known.has_value();
  if (known) return std::max<int64_t>(0, *known);
  // Older archives do not state the length: use the rates of input and output.
  return ceil_of(result_.frames * stream.pulse, input_pulse_);
}

Status Streamer::plan_output(const PlanIo& io) {
  const PlanStream& stream = io.stream;
  std::vector<int64_t> shape(io.shape.begin(), io.shape.end());
  bool exact = true;
  int64_t frames = 0;
  if (stream.axis >= 0) {
    if (options_.open_end) {
      exact = false;
      frames = std::max<int64_t>(0, input_steps_ * stream.pulse - stream.delay);
    } else {
      frames = output_frames(stream, &exact);
      if (stream.pulse > 0 && frames > 0) {
        result_.steps = std::max(result_.steps, ceil_of(stream.delay + frames, stream.pulse));
      }
    }
    shape[static_cast<size_t>(stream.axis)] = frames;
  } else if (plan_.stream_pulse > 0) {
    const auto known = stream.length.at(result_.frames);
    result_.steps = std::max(result_.steps, ceil_of(known.value_or(0), plan_.stream_pulse));
  }
  frames_.push_back(frames);
  result_.exact_length.push_back(exact);
  RILL_ASSIGN(Tensor whole, Tensor::zeros(io.dtype, std::move(shape), io.q));
  result_.outputs.push_back(std::move(whole));
  return {};
}

Status Streamer::begin() {
  RILL_TRY(session_.check_length(result_.frames).status());
  bool first = true;
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const PlanStream& stream = plan_.inputs[i].stream;
    RILL_TRY(check_fit(plan_.inputs[i], inputs_[i], stream.axis));
    if (stream.axis < 0 || stream.pulse == 0) continue;
    const int64_t frames = inputs_[i].extent(stream.axis);
    if (!options_.open_end) {
      RILL_TRY(check_frames(plan_, plan_.inputs[i], frames, result_.frames));
    }
    const int64_t steps = ceil_of(frames, stream.pulse);
    // A stream with an open end runs until the shortest input is exhausted.
    input_steps_ = first ? steps : std::min(input_steps_, steps);
    first = false;
  }
  const int counting = counting_input(plan_);
  if (counting >= 0) {
    input_pulse_ = plan_.inputs[static_cast<size_t>(counting)].stream.pulse;
    // The input that counts the symbol determines the end; others may have more frames.
    if (!options_.open_end) input_steps_ = ceil_of(result_.frames, plan_.stream_pulse);
  }
  result_.steps = std::max<int64_t>(options_.open_end ? 0 : 1, input_steps_);
  for (const PlanIo& io : plan_.outputs) RILL_TRY(plan_output(io));
  session_.reset();
  return {};
}

/// Write the filler of frames after the end.
void Streamer::fill(const View& view) {
  if (options_.nan_filler) return poison(view, &draw_);
  const auto bytes = static_cast<size_t>(view.volume() * dtype_size(view.dtype));
  std::fill_n(view.as<std::byte>(), bytes, std::byte{0});
}

void Streamer::feed() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const View to = session_.input(i);
    const PlanStream& stream = plan_.inputs[i].stream;
    if (stream.axis < 0) {
      copy_view(inputs_[i].view(), to);
      continue;
    }
    const int64_t begin = tick_ * stream.pulse;
    const int64_t count =
        std::clamp<int64_t>(inputs_[i].extent(stream.axis) - begin, 0, stream.pulse);
    if (count < stream.pulse) fill(to);
    if (count == 0) continue;
    copy_view(frames_of(inputs_[i].view(), stream.axis, begin, count),
              frames_of(to, stream.axis, 0, count));
  }
  const bool last = tick_ == std::max<int64_t>(0, input_steps_ - 1);
  if (last && !options_.open_end) session_.announce_end(result_.frames);
  if (options_.progress) options_.progress(tick_, result_.steps);
}

Streamer::Taken Streamer::taken(size_t output) const {
  const PlanStream& stream = plan_.outputs[output].stream;
  const int64_t begin = tick_ * stream.pulse - stream.delay;
  Session::Valid valid{std::max<int64_t>(-begin, 0), stream.pulse};
  valid.count -= valid.first;
  if (options_.ask_session) valid = session_.valid_frames(output);
  const int64_t at = begin + valid.first;
  return {valid.first, at, std::min(valid.count, frames_[output] - at)};
}

Status Streamer::take() {
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const View from = session_.output(i);
    const View to = result_.outputs[i].view();
    const PlanStream& stream = plan_.outputs[i].stream;
    if (stream.axis < 0) {
      copy_view(from, to);
      continue;
    }
    const Taken frames = taken(i);
    if (frames.count <= 0) continue;
    copy_view(frames_of(from, stream.axis, frames.first, frames.count),
              frames_of(to, stream.axis, frames.at, frames.count));
  }
  ++tick_;
  if (!options_.keep_turns) return {};
  std::vector<Tensor> outputs_of_step;
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    RILL_ASSIGN(Tensor value, copy_of(session_.output(i)));
    outputs_of_step.push_back(std::move(value));
  }
  result_.turns.push_back(std::move(outputs_of_step));
  return {};
}

}  // namespace

Result<StreamResult> run_stream(Session* session, std::span<const Tensor> inputs, int64_t frames,
                                const StreamOptions& options) {
  Streamer stream(session, inputs, frames, options);
  RILL_TRY(stream.begin());
  while (!stream.ended() && !options.until.passed()) {
    stream.feed();
    session->step();
    RILL_TRY(stream.take());
  }
  return std::move(stream).result();
}

Result<std::vector<StreamResult>> run_side_by_side(std::span<const Lane> lanes,
                                                   const StreamOptions& options) {
  std::vector<Streamer> streams;
  for (const Lane& lane : lanes) {
    streams.emplace_back(lane.session, lane.inputs, lane.frames, options);
    RILL_TRY(streams.back().begin());
  }
  const auto going = [](const Streamer& stream) { return !stream.ended(); };
  while (any_of(streams, going) && !options.until.passed()) {
    std::vector<Streamer*> open;
    for (Streamer& stream : streams) {
      if (going(stream)) open.push_back(&stream);
    }
    for (Streamer* stream : open) stream->feed();
    step_together(lanes[0].session->plan(), open.size(),
                  [&](size_t i) { return &open[i]->session(); });
    // A stream that ended in this step still has frames to take.
    for (Streamer* stream : open) RILL_TRY(stream->take());
  }
  std::vector<StreamResult> out;
  for (Streamer& stream : streams) out.push_back(std::move(stream).result());
  return out;
}

}  // namespace rill::audit
