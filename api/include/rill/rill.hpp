/// @file
/// Rill for C++17: owning handles, and results in place of status codes.
/// Header only, over rill.h; works with -fno-exceptions and -fno-rtti.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rill/rill.h"

#ifdef RILL_EXCEPTIONS
#include <stdexcept>
#endif

namespace rill {
// Separate from the classes that a static librill has in namespace rill.
inline namespace abi1 {

/// A failure: its cause, place and remedy.
struct Error {
  rill_status code = RILL_E_INTERNAL;  ///< status of the failed call
  std::string text;     ///< all parts in one line
  std::string message;  ///< found and expected
  std::string node;     ///< empty if unknown
  std::string op;       ///< empty if unknown
  std::string file;     ///< empty if unknown
  int line = 0;         ///< 1-based, 0 if unknown
  std::string hint;     ///< remedy; empty if there is none

  /// Read the last failure of this thread.
  static Error last() {
    rill_error_info info = {};
    info.size = sizeof(info);
    Error error;
    error.text = rill_last_error();
    if (rill_last_error_info(&info) != RILL_OK) return error;
    error.code = info.code;
    error.message = info.message;
    error.node = info.node;
    error.op = info.op;
    error.file = info.file;
    error.line = info.line;
    error.hint = info.hint;
    return error;
  }
};

/// A value, or the error that explains why there is none. Reading the value of a failure is a bug
/// of the caller: it aborts, or throws std::runtime_error if RILL_EXCEPTIONS is defined.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Hold a value.
  Result(T value) : value_(std::move(value)) {}  // NOLINT: by design
  /// Hold an error.
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: by design

  /// Return whether there is a value.
  bool ok() const { return error_ == nullptr; }
  /// Return whether there is a value.
  explicit operator bool() const { return ok(); }
  /// Return the error; only if there is no value.
  const Error& error() const { return *error_; }
  /// Return the value.
  T& value() & { return check(), *value_; }
  /// Return the value.
  const T& value() const& { return check(), *value_; }
  /// Move the value out.
  T&& value() && { return check(), std::move(*value_); }
  /// Return a member of the value.
  T* operator->() { return check(), &*value_; }
  /// Return the value.
  T& operator*() { return check(), *value_; }

 private:
  void check() const {
    if (ok()) return;
#ifdef RILL_EXCEPTIONS
    throw std::runtime_error(error_->text);
#else
    std::abort();
#endif
  }

  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

/// Success, or an error. Success allocates nothing.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  /// Hold an error.
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: by design
  /// Return success for RILL_OK, else the last failure of this thread.
  static Result of(rill_status status) {
    return status == RILL_OK ? Result() : Result(Error::last());
  }

  /// Return whether the call succeeded.
  bool ok() const { return error_ == nullptr; }
  /// Return whether the call succeeded.
  explicit operator bool() const { return ok(); }
  /// Return the error; only of a failure.
  const Error& error() const { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

/// Success, or an error.
using Status = Result<void>;

/// Return the rill_dtype of a C++ type.
template <class T>
constexpr rill_dtype dtype_of() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Plain, float>)
    return RILL_F32;
  else if constexpr (std::is_same_v<Plain, double>)
    return RILL_F64;
  else if constexpr (std::is_same_v<Plain, bool>)
    return RILL_BOOL;
  else if constexpr (std::is_same_v<Plain, uint8_t>)
    return RILL_U8;
  else if constexpr (std::is_same_v<Plain, int8_t>)
    return RILL_I8;
  else if constexpr (std::is_same_v<Plain, uint16_t>)
    return RILL_U16;
  else if constexpr (std::is_same_v<Plain, int16_t>)
    return RILL_I16;
  else if constexpr (std::is_same_v<Plain, uint32_t>)
    return RILL_U32;
  else if constexpr (std::is_same_v<Plain, int32_t>)
    return RILL_I32;
  else if constexpr (std::is_same_v<Plain, uint64_t>)
    return RILL_U64;
  else {
    static_assert(std::is_same_v<Plain, int64_t>, "no tensor holds this type");
    return RILL_I64;
  }
}

/// A view of elements in other memory; empty if type or index do not match.
template <class T>
class TensorView {
 public:
  TensorView() = default;
  /// View the elements of a rill_view with strides.
  explicit TensorView(const rill_view& view) {
    if (view.dtype != dtype_of<T>() || view.rank > RILL_MAX_RANK) return;
    data_ = static_cast<T*>(view.data);
    rank_ = static_cast<int>(view.rank);
    for (size_t axis = 0; axis < view.rank; ++axis) {
      shape_[axis] = view.shape[axis];
      strides_[axis] = view.strides[axis];
    }
  }

  /// Return whether the view has memory.
  explicit operator bool() const { return data_ != nullptr; }
  /// Return the first element.
  T* data() const { return data_; }
  /// Return the number of axes.
  int rank() const { return rank_; }
  /// Return the number of indices of an axis.
  int64_t extent(int axis) const { return shape_[static_cast<size_t>(axis)]; }
  /// Return the distance of neighbours along an axis, in elements.
  int64_t stride(int axis) const { return strides_[static_cast<size_t>(axis)]; }
  /// Return the number of elements.
  int64_t size() const {
    int64_t count = data_ ? 1 : 0;
    for (int axis = 0; axis < rank_; ++axis) count *= extent(axis);
    return count;
  }
  /// Return an element: view(row, column). One index per axis.
  template <class... Index>
  T& operator()(Index... index) const {
    const int64_t at[] = {static_cast<int64_t>(index)..., 0};
    int64_t offset = 0;
    for (int axis = 0; axis < rank_; ++axis) offset += at[axis] * stride(axis);
    return data_[offset];
  }
  /// Return the view of `count` indices of an axis, starting at `first`.
  TensorView part(int axis, int64_t first, int64_t count) const {
    TensorView out = *this;
    out.data_ += first * stride(axis);
    out.shape_[static_cast<size_t>(axis)] = count;
    return out;
  }

 private:
  T* data_ = nullptr;
  int rank_ = 0;
  std::array<int64_t, RILL_MAX_RANK> shape_{};
  std::array<int64_t, RILL_MAX_RANK> strides_{};
};

/// An input or output: name, type, and extents as text while they are symbolic.
struct Io {
  std::string name;                ///< its name in the model
  std::string text;                ///< "1,S,40,F32"
  rill_dtype dtype = RILL_F32;     ///< type of its elements
  std::vector<std::string> dims;   ///< extent of each axis as text: "1", "S", "2*S+1"
  std::vector<int64_t> shape;      ///< empty while an axis is symbolic
  /// Copy the description of an input or output.
  explicit Io(const rill_io_info& info)
      : name(info.name),
        text(info.text),
        dtype(info.dtype),
        dims(info.dims, info.dims + info.rank) {
    if (info.shape) shape.assign(info.shape, info.shape + info.rank);
  }
};

/// A model prepared to run. Copies share it. Thread: any.
class Plan {
 public:
  /// Own a plan of the C interface.
  explicit Plan(rill_plan* owned) : plan_(owned) {}
  /// Open a file that `rill compile` wrote, within limits; null stands for the defaults.
  static Result<Plan> open(const std::string& path, const rill_open_opts* opts = nullptr) {
    rill_plan* plan = nullptr;
    if (rill_plan_open_opts(path.c_str(), opts, &plan) != RILL_OK) return Error::last();
    return Plan(plan);
  }
  /// Open a plan in memory that is aligned to 64 bytes and does not change; see rill_plan_map.
  static Result<Plan> map(const void* bytes, size_t size, const rill_open_opts* opts = nullptr) {
    rill_plan* plan = nullptr;
    if (rill_plan_map_opts(bytes, size, opts, &plan) != RILL_OK) return Error::last();
    return Plan(plan);
  }
  Plan(const Plan& other) : plan_(rill_plan_retain(other.plan_)) {}
  Plan(Plan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  Plan& operator=(Plan other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }
  ~Plan() { rill_plan_release(plan_); }

  /// Return the handle of the C interface, which the plan owns.
  rill_plan* get() const { return plan_; }
  /// Return the inputs, in order.
  std::vector<Io> inputs() const { return ios(RILL_INPUT); }
  /// Return the outputs, in order.
  std::vector<Io> outputs() const { return ios(RILL_OUTPUT); }
  /// Find an input or output by name; see rill_plan_find.
  Result<size_t> find(rill_dir dir, const std::string& name) const {
    size_t index = 0;
    if (rill_plan_find(plan_, dir, name.c_str(), &index) != RILL_OK) return Error::last();
    return index;
  }
  /// Describe how an output streams; see rill_stream_info.
  Result<rill_stream_info> stream(size_t output = 0) const {
    rill_stream_info info = {};
    info.size = sizeof(info);
    if (rill_plan_stream(plan_, output, &info) != RILL_OK) return Error::last();
    return info;
  }
  /// Return the memory that the plan and each of its sessions take.
  rill_memory_info memory() const {
    rill_memory_info info = {};
    info.size = sizeof(info);
    (void)rill_plan_memory(plan_, &info);
    return info;
  }

 private:
  std::vector<Io> ios(rill_dir dir) const {
    std::vector<Io> out;
    rill_io_info info = {};
    info.size = sizeof(info);
    for (size_t i = 0; rill_plan_io(plan_, dir, i, &info) == RILL_OK; ++i) out.emplace_back(info);
    return out;
  }

  rill_plan* plan_;
};

/// A graph read from a file. Thread: one at a time.
class Model {
 public:
  /// Load a file; see rill_load. `constants`: values of inputs of an ONNX model, as "sr=16000".
  static Result<Model> load(const std::string& path, const std::string& constants = "") {
    rill_load_opts opts = {};
    opts.size = sizeof(opts);
    opts.constants = constants.c_str();
    rill_model* model = nullptr;
    if (rill_load(path.c_str(), &opts, &model) != RILL_OK) return Error::last();
    return Model(model);
  }
  /// Load a file in memory, which may be freed afterwards.
  static Result<Model> load(const void* bytes, size_t size) {
    rill_model* model = nullptr;
    if (rill_load_memory(bytes, size, nullptr, &model) != RILL_OK) return Error::last();
    return Model(model);
  }

  /// Return the handle of the C interface, which the model owns.
  rill_model* get() const { return model_.get(); }
  /// Return the inputs, in order.
  std::vector<Io> inputs() const { return ios(RILL_INPUT); }
  /// Return the outputs, in order.
  std::vector<Io> outputs() const { return ios(RILL_OUTPUT); }
  /// Replace a symbol by an expression in other symbols; see rill_model_set_symbol.
  Status set(const std::string& symbol, const std::string& expression) {
    return Status::of(rill_model_set_symbol(get(), symbol.c_str(), expression.c_str()));
  }
  /// Replace a symbol by a number.
  Status set(const std::string& symbol, int64_t value) {
    return set(symbol, std::to_string(value));
  }
  /// Make the model stream by pulses of `frames` frames of the symbol; see rill_model_pulse.
  Status pulse(const std::string& symbol, int64_t frames) {
    return Status::of(rill_model_pulse(get(), symbol.c_str(), std::to_string(frames).c_str()));
  }
  /// Pulse the model; see rill_model_pulse for `frames`: "8", "auto", "auto:max_latency=40".
  Status pulse(const std::string& symbol, const std::string& frames) {
    return Status::of(rill_model_pulse(get(), symbol.c_str(), frames.c_str()));
  }
  /// Compute whole windows of `left + step + right` frames; see rill_model_window.
  Status window(const std::string& symbol, int64_t left, int64_t step, int64_t right) {
    return Status::of(rill_model_window(get(), symbol.c_str(), left, step, right));
  }
  /// Feed an output to an input of the next step; see rill_model_feedback.
  Status feedback(const std::string& output, const std::string& input) {
    return Status::of(rill_model_feedback(get(), output.c_str(), input.c_str()));
  }
  /// Start each step with frames of the previous one; see rill_model_context.
  Status context(const std::string& input, int64_t frames) {
    return Status::of(rill_model_context(get(), input.c_str(), frames));
  }
  /// Name the axes of frames: frames({{"mix", 2}}); see rill_model_frames.
  Status frames(const std::vector<std::pair<std::string, int64_t>>& named) {
    std::vector<const char*> names;
    std::vector<int64_t> axes;
    for (const auto& [name, axis] : named) {
      names.push_back(name.c_str());
      axes.push_back(axis);
    }
    return Status::of(rill_model_frames(get(), names.data(), axes.data(), names.size()));
  }
  /// Compare this pulsed model with `whole`, its clone from before `pulse`, for `seconds`; see
  /// rill_model_audit.
  Result<rill_audit_report> audit(const Model& whole, double seconds = 2) const {
    rill_audit_opts opts = {};
    opts.size = sizeof(opts);
    opts.seconds = seconds;
    rill_audit_report report = {};
    report.size = sizeof(report);
    if (rill_model_audit(whole.get(), get(), &opts, &report) != RILL_OK) return Error::last();
    return report;
  }
  /// Return a property as text.
  Result<std::string> property(const std::string& key) const {
    rill_property property = {};
    property.size = sizeof(property);
    if (rill_model_property_find(get(), key.c_str(), &property) != RILL_OK) return Error::last();
    return std::string(property.text);
  }
  /// Write the model to a file or folder; see rill_save.
  Status save(const std::string& path) const { return Status::of(rill_save(get(), path.c_str())); }
  /// Copy the model; the copies share weights.
  Result<Model> clone() const {
    rill_model* copy = nullptr;
    if (rill_model_clone(get(), &copy) != RILL_OK) return Error::last();
    return Model(copy);
  }
  /// Make a plan; see rill_prepare.
  Result<Plan> prepare() const {
    rill_plan* plan = nullptr;
    if (rill_prepare(get(), nullptr, &plan) != RILL_OK) return Error::last();
    return Plan(plan);
  }

 private:
  struct Free {
    void operator()(rill_model* model) const { rill_model_free(model); }
  };
  explicit Model(rill_model* owned) : model_(owned) {}
  std::vector<Io> ios(rill_dir dir) const {
    std::vector<Io> out;
    rill_io_info info = {};
    info.size = sizeof(info);
    for (size_t i = 0; rill_model_io(get(), dir, i, &info) == RILL_OK; ++i) out.emplace_back(info);
    return out;
  }

  std::unique_ptr<rill_model, Free> model_;
};

/// Threads that share the steps of sessions. Sessions own the threads they use. Thread: any.
class Threads {
 public:
  /// Start `count` - 1 threads; the thread that calls a step is the remaining one.
  static Result<Threads> make(uint32_t count) {
    rill_threads* threads = nullptr;
    if (rill_threads_new(count, &threads) != RILL_OK) return Error::last();
    return Threads(threads);
  }
  /// Use the app's threads; see rill_pool.
  static Result<Threads> wrap(const rill_pool& pool) {
    rill_threads* threads = nullptr;
    if (rill_threads_wrap(&pool, &threads) != RILL_OK) return Error::last();
    return Threads(threads);
  }

  /// Return the handle of the C interface, which this object owns.
  rill_threads* get() const { return threads_.get(); }

 private:
  struct Free {
    void operator()(rill_threads* threads) const { rill_threads_free(threads); }
  };
  explicit Threads(rill_threads* owned) : threads_(owned) {}

  std::unique_ptr<rill_threads, Free> threads_;
};

/// One run or one stream. Thread: one at a time.
class Session {
 public:
  /// Make a session with all memory that it needs; see rill_session_new.
  static Result<Session> make(const Plan& plan) {
    rill_session* session = nullptr;
    if (rill_session_new(plan.get(), &session) != RILL_OK) return Error::last();
    return Session(session, plan);
  }
  /// Make a session whose `push` takes at least `max_push` frames before outputs are pulled.
  static Result<Session> make(const Plan& plan, int64_t max_push) {
    rill_session_opts opts = {};
    opts.size = sizeof(opts);
    opts.max_push = max_push;
    rill_session* session = nullptr;
    if (rill_session_open(plan.get(), &opts, &session) != RILL_OK) return Error::last();
    return Session(session, plan);
  }
  /// Copy the session; both then continue with the same bits.
  Result<Session> clone() const {
    rill_session* copy = nullptr;
    if (rill_session_clone(get(), &copy) != RILL_OK) return Error::last();
    return Session(copy, plan_);
  }

  /// Return the handle of the C interface, which the session owns.
  rill_session* get() const { return session_.get(); }
  /// Return the plan that the session runs.
  const Plan& plan() const { return plan_; }
  /// Return the bytes that the session allocated.
  int64_t bytes() const { return rill_session_bytes(get()); }
  /// Return to the state of a new session. Real-time: yes.
  Status reset() { return Status::of(rill_session_reset(get())); }
  /// Let threads share the steps, with the same bits. Real-time: no, and steps no longer are.
  Status set_threads(const Threads& threads) {
    return Status::of(rill_session_set_threads(get(), threads.get()));
  }
  /// Return the buffer to write an input to; empty for another type. Real-time: yes.
  template <class T>
  TensorView<T> input(size_t index) {
    rill_view view = empty_view();
    if (rill_input_buffer(get(), index, &view) != RILL_OK) return {};
    return TensorView<T>(view);
  }
  /// Return the buffer to read an output from; empty for another type. Real-time: yes.
  template <class T>
  TensorView<const T> output(size_t index) {
    rill_view view = empty_view();
    if (rill_output_buffer(get(), index, &view) != RILL_OK) return {};
    return TensorView<const T>(view);
  }
  /// Return the frames of an output that the last step made valid; empty if there are none.
  template <class T>
  TensorView<const T> valid(size_t index) {
    int64_t first = 0;
    int64_t count = 0;
    rill_stream_info info = {};
    info.size = sizeof(info);
    if (rill_valid_frames(get(), index, &first, &count) != RILL_OK || count == 0) return {};
    if (rill_plan_stream(plan_.get(), index, &info) != RILL_OK) return {};
    const TensorView<const T> all = output<T>(index);
    return all ? all.part(info.axis, first, count) : all;
  }
  /// Use row-major memory of the caller as input; null restores the session's own. Real-time: yes.
  template <class T>
  Status bind_input(size_t index, T* data) {
    return bind(index, data, rill_input_buffer, rill_bind_input);
  }
  /// Use row-major memory of the caller as output, as `bind_input` does. Real-time: yes.
  template <class T>
  Status bind_output(size_t index, T* data) {
    return bind(index, data, rill_output_buffer, rill_bind_output);
  }

  /// Run once: the whole graph, or the next pulse. Real-time: yes.
  Status step() { return Status::of(rill_step(get())); }
  /// Run the last pulse, whose first `valid_frames` frames end the stream. Real-time: yes.
  Status step_last(int64_t valid_frames) {
    return Status::of(rill_step_partial(get(), valid_frames));
  }
  /// Push any number of frames: row-major, with the input's shape except along its streaming axis.
  /// Returns the number taken: fewer if outputs have to be pulled before. Real-time: yes.
  template <class T>
  Result<int64_t> push(size_t input, const T* frames, int64_t count) {
    return move_frames(RILL_INPUT, input, const_cast<T*>(frames), count, rill_push);
  }
  /// Pull frames, without the delay, into row-major memory with space for `capacity` frames on the
  /// streaming axis. Returns the number written. Real-time: yes.
  template <class T>
  Result<int64_t> pull(size_t output, T* frames, int64_t capacity) {
    return move_frames(RILL_OUTPUT, output, frames, capacity, rill_pull);
  }
  /// End the stream: all frames have been pushed. `pull` then gives the tail. Real-time: yes.
  Status finish() { return Status::of(rill_finish(get())); }
  /// Return the state as bytes, for a session of any plan of the same model.
  Result<std::vector<uint8_t>> save() const {
    size_t size = 0;
    if (rill_state_size(get(), &size) != RILL_OK) return Error::last();
    std::vector<uint8_t> bytes(size);
    if (rill_state_save(get(), bytes.data(), size, &size) != RILL_OK) return Error::last();
    bytes.resize(size);
    return bytes;
  }
  /// Continue a saved stream; see rill_state_load. Real-time: no.
  Status load(const std::vector<uint8_t>& bytes) {
    return Status::of(rill_state_load(get(), bytes.data(), bytes.size()));
  }
  /// Run one step of the tail, and return the number of frames that are left. Real-time: yes.
  Result<int64_t> flush() {
    int64_t left = 0;
    if (rill_flush(get(), &left) != RILL_OK) return Error::last();
    return left;
  }

 private:
  struct Free {
    void operator()(rill_session* session) const { rill_session_free(session); }
  };
  Session(rill_session* owned, Plan plan) : session_(owned), plan_(std::move(plan)) {}
  static rill_view empty_view() {
    rill_view view = {};
    view.size = sizeof(view);
    return view;
  }
  template <class T, class Get, class Bind>
  Status bind(size_t index, T* data, Get get_buffer, Bind bind_buffer) {
    if (!data) return Status::of(bind_buffer(get(), index, nullptr));
    rill_view view = empty_view();
    const rill_status found = get_buffer(get(), index, &view);
    if (found != RILL_OK) return Status::of(found);
    view.dtype = dtype_of<T>();
    view.data = data;
    return Status::of(bind_buffer(get(), index, &view));
  }

  template <class T, class Move>
  Result<int64_t> move_frames(rill_dir dir, size_t index, T* data, int64_t count, Move move) {
    rill_view view = empty_view();
    const rill_status found = dir == RILL_INPUT ? rill_input_buffer(get(), index, &view)
                                                : rill_output_buffer(get(), index, &view);
    if (found != RILL_OK) return Error::last();
    const int axis = stream_axis(dir, index);
    int64_t shape[RILL_MAX_RANK];
    for (uint32_t i = 0; i < view.rank; ++i) {
      shape[i] = static_cast<int>(i) == axis ? count : view.shape[i];
    }
    view.dtype = dtype_of<T>();
    view.shape = shape;
    view.strides = nullptr;
    view.data = data;
    int64_t moved = 0;
    if (move(get(), index, &view, &moved) != RILL_OK) return Error::last();
    return moved;
  }
  int stream_axis(rill_dir dir, size_t index) const {
    rill_io_info info = {};
    info.size = sizeof(info);
    return rill_plan_io(plan_.get(), dir, index, &info) == RILL_OK ? info.stream_axis : -1;
  }

  std::unique_ptr<rill_session, Free> session_;
  Plan plan_;
};

}  // namespace abi1
}  // namespace rill
