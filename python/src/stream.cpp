#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "handles.h"
#include "interpreter.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

constexpr char kClosed[] = "the stream is closed";
/// The frames to reserve for an output whose number of frames is unknown.
constexpr int64_t kUnknownTailPulses = 64;

int64_t ceil_of(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// Pull the queued frames of each streaming output, as far as they fit. Return whether any frame
/// was pulled.
bool pull_all(rill_session* session, std::vector<OutputArray>* outputs,
              const std::vector<rill_stream_info>& streams, rill_status* status) {
  bool moved = false;
  int64_t shape[RILL_MAX_RANK];
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (streams[i].axis < 0) continue;
    OutputArray& output = (*outputs)[i];
    while (*status == RILL_OK && output.left() > 0) {
      const rill_view room = output.room(shape);
      int64_t given = 0;
      *status = rill_pull(session, i, &room, &given);
      if (given == 0) break;
      output.filled += given;
      moved = true;
    }
  }
  return moved;
}

std::string names_of(const std::vector<rill_io_info>& io) {
  std::string out;
  for (const rill_io_info& each : io) out += (out.empty() ? "" : ", ") + std::string(each.name);
  return out;
}

bool has(const std::vector<nb::object>& buffers, size_t output) {
  return !buffers.empty() && !buffers[output].is_none();
}

}  // namespace

void refuse(rill_status code, std::string message, std::string hint) {
  Failure failure;
  failure.code = code;
  failure.message = std::move(message);
  failure.hint = std::move(hint);
  throw failure;
}

class Stream::Hold {
 public:
  explicit Hold(Stream* stream) : stream_(stream) {
    if (stream->held_.exchange(true, std::memory_order_acquire)) {
      refuse(RILL_E_STATE, "another thread is in a call of this stream",
             "Give each thread its own stream: stream.clone()");
    }
    if (stream->session_) return;
    stream->held_.store(false, std::memory_order_release);
    refuse(RILL_E_STATE, kClosed);
  }
  ~Hold() { stream_->held_.store(false, std::memory_order_release); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Stream* stream_;
};

Stream::Stream(const Plan& plan)
    : memory_(plan.memory()), threads_(plan.threads()), plan_(rill_plan_retain(plan.get())) {
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) io_[dir] = plan.io(dir);
  for (size_t i = 0; i < io_[RILL_OUTPUT].size(); ++i) streams_.push_back(plan.stream(i));
  for (size_t i = 0; i < io_[RILL_INPUT].size(); ++i) {
    const bool streams = io_[RILL_INPUT][i].stream_axis >= 0;
    if (streams) streaming_.push_back(i);
    known_.push_back(streams);
  }
  const rill_status made = unlocked([&] { return rill_session_new(plan_, &session_); });
  if (made == RILL_OK && !streaming_.empty()) {
    if (threads_) threads_->share_with(session_);
    return;
  }
  const Failure failure = last_failure(made);
  rill_session_free(session_);
  rill_plan_release(plan_);
  if (made != RILL_OK) throw failure;
  refuse(RILL_E_PULSE, "the model does not stream", "Make a stream with model.pulse");
}

Stream::Stream(const Stream& other)
    : memory_(other.memory_), threads_(other.threads_), plan_(other.plan_),
      streams_(other.streams_), streaming_(other.streaming_), known_(other.known_),
      stepped_(other.stepped_) {
  for (const rill_dir dir : {RILL_INPUT, RILL_OUTPUT}) io_[dir] = other.io_[dir];
  const Hold hold(const_cast<Stream*>(&other));
  check(unlocked([&] { return rill_session_clone(other.session_, &session_); }));
  rill_plan_retain(plan_);
  if (threads_) threads_->share_with(session_);
}

Stream::~Stream() {
  rill_session_free(session_);
  rill_plan_release(plan_);
}

void Stream::close() {
  if (!session_) return;
  const Hold hold(this);
  rill_session_free(session_);
  session_ = nullptr;
}

void Stream::leave_steps() {
  if (!stepped_) return;
  const std::vector<uint64_t> state = saved();
  check(rill_state_load(session_, state.data() + 1, static_cast<size_t>(state[0])));
  stepped_ = false;
}

void Stream::check_values_known() const {
  for (size_t i = 0; i < known_.size(); ++i) {
    if (known_[i]) continue;
    const std::string name = io_[RILL_INPUT][i].name;
    refuse(RILL_E_STATE, "input \"" + name + "\" does not stream and has no value yet",
           "Give it one first: stream.set(\"" + name + "\", array)");
  }
}

std::vector<InputArray> Stream::arrays_of(const nb::args& values, const nb::kwargs& named,
                                          nb::handle* buffers) {
  std::vector<InputArray> out;
  out.reserve(streaming_.size());
  const size_t given = values.size();
  size_t by_name = named.size();
  PyObject* const buffer = by_name > 0 ? PyDict_GetItemString(named.ptr(), "out") : nullptr;
  if (buffer) {
    // An input of that name takes precedence.
    bool is_input = false;
    for (const size_t input : streaming_) {
      is_input |= std::strcmp(io_[RILL_INPUT][input].name, "out") == 0;
    }
    if (!is_input) {
      *buffers = buffer;
      --by_name;
    }
  }
  if (given + by_name != streaming_.size()) {
    refuse(RILL_E_ARG, std::to_string(given + by_name) + " arrays of frames, expected " +
                           std::to_string(streaming_.size()) + ": one per input that streams");
  }
  for (size_t i = 0; i < streaming_.size(); ++i) {
    const rill_io_info& io = io_[RILL_INPUT][streaming_[i]];
    if (i < given) {
      out.emplace_back(values[i], io);
      continue;
    }
    PyObject* const value = PyDict_GetItemString(named.ptr(), io.name);
    if (!value) {
      refuse(RILL_E_ARG, std::string("no frames for input \"") + io.name + "\"",
             "Inputs are called " + names_of(io_[RILL_INPUT]));
    }
    out.emplace_back(nb::handle(value), io);
  }
  return out;
}

int64_t Stream::frames_due(size_t output, int64_t steps) const {
  const rill_stream_info& stream = streams_[output];
  int64_t pulled = 0;
  check(rill_position(session_, output, nullptr, &pulled));
  return std::max<int64_t>(0, steps * stream.pulse - stream.delay - pulled);
}

std::vector<OutputArray> Stream::room_for(const std::vector<InputArray>& inputs,
                                          const std::vector<nb::object>& buffers) const {
  std::vector<OutputArray> out(streams_.size());
  for (size_t i = 0; i < streams_.size(); ++i) {
    const rill_stream_info& stream = streams_[i];
    if (stream.axis < 0) continue;
    int64_t pushed = 0;
    check(rill_position(session_, i, &pushed, nullptr));
    const auto counting =
        std::find(streaming_.begin(), streaming_.end(), static_cast<size_t>(stream.input));
    const InputArray& input = inputs[static_cast<size_t>(counting - streaming_.begin())];
    const int64_t more = input.view().rank > static_cast<uint32_t>(stream.input_axis)
                             ? input.extent(stream.input_axis)
                             : 0;
    const int64_t due = frames_due(i, (pushed + more) / stream.input_pulse);
    out[i] = has(buffers, i) ? OutputArray(buffers[i], io_[RILL_OUTPUT][i], stream.axis, due)
                             : OutputArray(io_[RILL_OUTPUT][i], stream.axis, due);
  }
  check_apart(inputs, out, buffers);
  return out;
}

std::vector<OutputArray> Stream::room_for_tail(const std::vector<nb::object>& buffers) const {
  std::vector<OutputArray> out(streams_.size());
  for (size_t i = 0; i < streams_.size(); ++i) {
    const rill_stream_info& stream = streams_[i];
    if (stream.axis < 0) continue;
    int64_t pushed = 0;
    check(rill_position(session_, i, &pushed, nullptr));
    const int64_t tail = stream.flush_steps >= 0 ? stream.flush_steps : kUnknownTailPulses;
    const int64_t due = frames_due(i, ceil_of(pushed, stream.input_pulse) + tail);
    out[i] = has(buffers, i) ? OutputArray(buffers[i], io_[RILL_OUTPUT][i], stream.axis, 0)
                             : OutputArray(io_[RILL_OUTPUT][i], stream.axis, due);
  }
  check_apart({}, out, buffers);
  return out;
}

nb::object Stream::hand_out(std::vector<OutputArray>* outputs,
                            const std::vector<nb::object>& buffers, bool finished) {
  nb::list out;
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (streams_[i].axis >= 0) {
      out.append((*outputs)[i].take());
    } else if (finished) {
      auto view = sized<rill_view>();
      check(rill_output_buffer(session_, i, &view));
      out.append(has(buffers, i) ? copy_out_to(buffers[i], io_[RILL_OUTPUT][i], view)
                                 : copy_out(io_[RILL_OUTPUT][i], view));
    } else {
      out.append(nb::none());
    }
  }
  if (nb::len(out) == 1) return out[0];
  return nb::tuple(out);
}

void Stream::check_frames(const std::vector<InputArray>& inputs) {
  int64_t shape[RILL_MAX_RANK];
  int64_t taken = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int axis = axis_of(i);
    if (inputs[i].view().rank <= static_cast<uint32_t>(axis)) {
      const rill_view all = inputs[i].view();
      check(rill_push(session_, streaming_[i], &all, &taken));
    }
    rill_view none = inputs[i].rest(axis, 0, shape);
    shape[axis] = 0;
    check(rill_push(session_, streaming_[i], &none, &taken));
  }
}

rill_status Stream::push_while_moving(const std::vector<InputArray>& inputs,
                                      std::vector<OutputArray>* outputs,
                                      std::vector<int64_t>* taken) {
  int64_t shape[RILL_MAX_RANK];
  rill_status status = RILL_OK;
  for (bool moved = true; moved && status == RILL_OK;) {
    moved = false;
    for (size_t i = 0; i < inputs.size() && status == RILL_OK; ++i) {
      if ((*taken)[i] == inputs[i].extent(axis_of(i))) continue;
      const rill_view rest = inputs[i].rest(axis_of(i), (*taken)[i], shape);
      int64_t now = 0;
      status = rill_push(session_, streaming_[i], &rest, &now);
      (*taken)[i] += now;
      moved |= now > 0;
    }
    if (status == RILL_OK) moved |= pull_all(session_, outputs, streams_, &status);
  }
  return status;
}

void Stream::push_all(const std::vector<InputArray>& inputs, std::vector<OutputArray>* outputs) {
  std::vector<int64_t> taken(inputs.size());
  for (bool grown = true; grown;) {
    check(unlocked([&] { return push_while_moving(inputs, outputs, &taken); }));
    grown = false;
    size_t unfinished = 0;
    while (unfinished < inputs.size() &&
           taken[unfinished] == inputs[unfinished].extent(axis_of(unfinished))) {
      ++unfinished;
    }
    if (unfinished == inputs.size()) return;
    for (size_t i = 0; i < outputs->size(); ++i) {
      if (streams_[i].axis < 0 || (*outputs)[i].left() > 0) continue;
      (*outputs)[i].grow(streams_[i].pulse);
      grown = true;
    }
    if (grown) continue;
    const int64_t over = inputs[unfinished].extent(axis_of(unfinished)) - taken[unfinished];
    refuse(RILL_E_STATE,
           "input \"" + std::string(io_[RILL_INPUT][streaming_[unfinished]].name) + "\" has " +
               std::to_string(over) + " frames too many: another input lags by a pulse",
           "Push frames of all inputs together; none of these frames was taken");
  }
}

nb::object Stream::push(const nb::args& values, const nb::kwargs& named) {
  const Hold hold(this);
  check_values_known();
  leave_steps();
  nb::handle out = nb::none();
  const std::vector<InputArray> inputs = arrays_of(values, named, &out);
  // Refuse a wrong call before allocating: a push of no frames checks it.
  check_frames(inputs);
  const std::vector<nb::object> buffers = buffers_of(out, streams_.size());
  std::vector<OutputArray> outputs = room_for(inputs, buffers);
  if (inputs.size() == 1) {
    // The library accepts all frames of an input or none.
    push_all(inputs, &outputs);
    return hand_out(&outputs, buffers, false);
  }
  const std::vector<uint64_t> before = saved();
  try {
    push_all(inputs, &outputs);
  } catch (...) {
    // An input may refuse its frames after another one accepted its frames.
    check(rill_state_load(session_, before.data() + 1, static_cast<size_t>(before[0])));
    throw;
  }
  return hand_out(&outputs, buffers, false);
}

nb::object Stream::finish(nb::handle out) {
  const Hold hold(this);
  check_values_known();
  leave_steps();
  const std::vector<nb::object> buffers = buffers_of(out, streams_.size());
  if (buffers.empty()) {
    check(unlocked([&] { return rill_finish(session_); }));
    std::vector<OutputArray> outputs = room_for_tail(buffers);
    pull_tail(&outputs);
    return hand_out(&outputs, buffers, true);
  }
  // The length of the tail is known only at its end, so a buffer that is too small changes nothing.
  std::vector<OutputArray> outputs = room_for_tail(buffers);
  const std::vector<uint64_t> before = saved();
  check(unlocked([&] { return rill_finish(session_); }));
  try {
    pull_tail(&outputs);
    return hand_out(&outputs, buffers, true);
  } catch (...) {
    check(rill_session_reset(session_));
    check(rill_state_load(session_, before.data() + 1, static_cast<size_t>(before[0])));
    throw;
  }
}

void Stream::pull_tail(std::vector<OutputArray>* outputs) {
  for (bool full = true; full;) {
    rill_status status = RILL_OK;
    unlocked([&] {
      while (pull_all(session_, outputs, streams_, &status)) {
      }
      return status;
    });
    check(status);
    // A full output may have more frames, and block the others.
    full = false;
    int64_t shape[RILL_MAX_RANK];
    for (size_t i = 0; i < outputs->size(); ++i) {
      if (streams_[i].axis < 0 || (*outputs)[i].left() > 0) continue;
      OutputArray one(io_[RILL_OUTPUT][i], streams_[i].axis, 1);
      const rill_view room = one.room(shape);
      int64_t given = 0;
      check(unlocked([&] { return rill_pull(session_, i, &room, &given); }));
      if (given == 0) continue;
      one.filled = given;
      (*outputs)[i].append(one);
      full = true;
    }
  }
}

rill_session_step Stream::begin_step(nb::handle frames) {
  check_values_known();
  auto step = sized<rill_session_step>();
  step.session = session_;
  step.kind = RILL_STEP_FULL;
  const bool several = nb::isinstance<nb::tuple>(frames);
  const size_t count = several ? nb::len(frames) : 1;
  if (count != streaming_.size()) {
    refuse(RILL_E_ARG, std::to_string(count) + " arrays of frames, expected " +
                           std::to_string(streaming_.size()) + ": one per input that streams");
  }
  for (size_t i = 0; i < count; ++i) {
    auto buffer = sized<rill_view>();
    check(rill_input_buffer(session_, streaming_[i], &buffer));
    copy_in(several ? frames[nb::int_(i)] : nb::object(nb::borrow(frames)),
            io_[RILL_INPUT][streaming_[i]], buffer);
  }
  return step;
}

nb::object Stream::end_step() {
  nb::list out;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].axis < 0) {
      out.append(nb::none());
      continue;
    }
    int64_t first = 0, count = 0;
    auto view = sized<rill_view>();
    check(rill_valid_frames(session_, i, &first, &count));
    check(rill_output_buffer(session_, i, &view));
    out.append(copy_frames_out(io_[RILL_OUTPUT][i], streams_[i].axis, view, first, count));
  }
  if (nb::len(out) == 1) return out[0];
  return nb::tuple(out);
}

nb::list Stream::step_together(const std::vector<Stream*>& streams, const nb::sequence& frames) {
  if (nb::len(frames) != streams.size()) {
    refuse(RILL_E_ARG, "frames for " + std::to_string(nb::len(frames)) + " streams, expected " +
                           std::to_string(streams.size()));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    if (std::find(streams.begin(), streams.begin() + static_cast<std::ptrdiff_t>(i), streams[i]) !=
        streams.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse(RILL_E_ARG, "stream " + std::to_string(i) + " occurs twice");
    }
  }
  std::vector<std::unique_ptr<Hold>> holds;
  std::vector<rill_session_step> steps;
  for (Stream* stream : streams) holds.push_back(std::make_unique<Hold>(stream));
  for (size_t i = 0; i < streams.size(); ++i) steps.push_back(streams[i]->begin_step(frames[i]));
  check(unlocked([&] { return rill_step_together(steps.data(), steps.size()); }));
  for (Stream* stream : streams) stream->stepped_ = true;
  nb::list out;
  for (Stream* stream : streams) out.append(stream->end_step());
  return out;
}

void Stream::set(const std::string& name, nb::handle value) {
  const Hold hold(this);
  size_t index = 0;
  if (name.find('\0') != std::string::npos) {
    refuse(RILL_E_ARG, "the name of the input holds a zero byte",
           "Inputs are called " + names_of(io_[RILL_INPUT]));
  }
  check(rill_plan_find(plan_, RILL_INPUT, name.c_str(), &index));
  if (io_[RILL_INPUT][index].stream_axis >= 0) {
    refuse(RILL_E_ARG, "input \"" + name + "\" streams", "Give its frames to stream.push");
  }
  auto view = sized<rill_view>();
  check(rill_input_buffer(session_, index, &view));
  copy_in(value, io_[RILL_INPUT][index], view);
  known_[index] = 1;
}

void Stream::reset() {
  const Hold hold(this);
  check(rill_session_reset(session_));
  stepped_ = false;
}

std::vector<uint64_t> Stream::saved() const {
  size_t size = 0;
  check(rill_state_size(session_, &size));
  std::vector<uint64_t> out(size / 8 + 2);
  check(unlocked([&] { return rill_state_save(session_, out.data() + 1, size, &size); }));
  out[0] = size;
  return out;
}

nb::bytes Stream::state() {
  const Hold hold(this);
  const std::vector<uint64_t> state = saved();
  return nb::bytes(reinterpret_cast<const char*>(state.data() + 1),
                   static_cast<size_t>(state[0]));
}

void Stream::load(const nb::bytes& state) {
  const Hold hold(this);
  std::vector<uint64_t> aligned(state.size() / 8 + 1);
  std::memcpy(aligned.data(), state.data(), state.size());
  const size_t size = state.size();
  check(unlocked([&] { return rill_state_load(session_, aligned.data(), size); }));
  stepped_ = false;
}

nb::tuple Stream::position() {
  const Hold hold(this);
  nb::list out;
  nb::object frames_in = nb::none();
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].axis < 0) {
      out.append(nb::none());
      continue;
    }
    int64_t in = 0, given = 0;
    check(rill_position(session_, i, &in, &given));
    frames_in = nb::int_(in);
    out.append(given);
  }
  return nb::make_tuple(frames_in, nb::tuple(out));
}

int64_t Stream::bytes() {
  const Hold hold(this);
  return rill_session_bytes(session_);
}

void define_stream(nb::module_& module) {
  module.def("step_together", &Stream::step_together, nb::arg("streams"), nb::arg("frames"),
             "Run the next step of several streams of one plan.");
  nb::class_<Stream>(module, "Stream", "One stream of a plan, run by one thread at a time.")
      .def(nb::init<const Plan&>(), nb::arg("plan"))
      .def(nb::init<const Stream&>(), nb::arg("other"))
      .def("push", &Stream::push,
           "Push any number of frames of each streaming input, in order or by name.\n\n"
           "An array has the input's type and shape, but any extent along its streaming axis.\n"
           "Returns the ready frames of the output, without its delay; None for an output that\n"
           "does not stream; a tuple for several outputs. The frames of all calls and of\n"
           "`finish`, concatenated, are those of the whole run.\n\n"
           "Errors: ShapeError, DTypeError, ArgumentError; StateError after `finish`, or if one\n"
           "of several inputs is ahead of the others by more than a pulse. A failed call takes\n"
           "no frame of any input.\n\n"
           "Threads: other Python threads run during the call.")
      .def("finish", &Stream::finish, nb::arg("out").none() = nb::none(),
           "End the stream and return the tail, as `push` returns frames.\n\n"
           "Outputs that do not stream are arrays here. Errors: ShapeError if the model has no\n"
           "output for a stream of this length: then push more frames; StateError if the stream\n"
           "has ended already.")
      .def("set", &Stream::set, nb::arg("name"), nb::arg("value"),
           "Set the value of a static input; it stays until you set another one.")
      .def("reset", &Stream::reset, "Begin a new stream in the same memory.")
      .def_prop_rw("state", &Stream::state, &Stream::load,
                   "The state of the stream as bytes; assign it to continue the saved stream.\n\n"
                   "Any stream of the same model with the same values of symbols can load it,\n"
                   "also with another pulse. Static inputs are not part of it.\n"
                   "Errors: ParseError, StateError; the stream is then unchanged.")
      .def_prop_ro("position", &Stream::position,
                   "The number of frames that the first streaming input took, and a tuple of the\n"
                   "number that each output returned (None for an output that does not stream).")
      .def_prop_ro("bytes", &Stream::bytes, "The bytes that the stream allocated.")
      .def_prop_ro("closed", &Stream::closed, "Whether `close` was called.")
      .def("close", &Stream::close, "Free the memory; later calls raise StateError.");
}

}  // namespace rill::python
