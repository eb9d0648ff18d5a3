#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "rill/rill.h"

namespace rill::python {

template <class Record>
Record sized() {
  Record record = {};
  record.size = sizeof record;
  return record;
}

/// Return the value of a property: a number, text or flag, or a list of these.
nanobind::object value_of(const rill_property& property);

/// Return the caller's output buffers from `out`: a buffer, or a list or tuple with one per output.
/// Empty if `out` is None. Errors: RILL_E_ARG for another number of buffers.
std::vector<nanobind::object> buffers_of(nanobind::handle out, size_t outputs);
/// Refuse buffers that share memory with each other, or with an input of the call.
void check_apart(const std::vector<InputArray>& inputs, const std::vector<OutputArray>& outputs,
                 const std::vector<nanobind::object>& buffers);

/// Throw an error of the binding itself, as opposed to one of the library.
[[noreturn]] void refuse(rill_status code, std::string message, std::string hint = {});

/// A model, which never changes, so that any thread may read it.
class Model {
 public:
  explicit Model(rill_model* model) : model_(model) {}
  ~Model() { rill_model_free(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  rill_model* get() const { return model_; }

 private:
  rill_model* model_;
};

/// Threads that share the work of steps: the caller's, and others that this class starts.
class Threads {
 public:
  /// Errors: RILL_E_ARG unless `count` is 1 to 256.
  explicit Threads(uint32_t count);
  ~Threads() { rill_threads_free(threads_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Assign the threads to a session, except in a forked child, which has no threads.
  void share_with(rill_session* session) const;

 private:
  rill_threads* threads_ = nullptr;
  int process_;
};

/// A prepared model, with a cache of sessions for whole runs.
class Plan {
 public:
  /// `memory`: the owner of the plan's memory, or null; streams keep it alive too.
  explicit Plan(rill_plan* plan, std::shared_ptr<const void> memory = nullptr);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  rill_plan* get() const { return plan_; }
  const std::shared_ptr<const void>& memory() const { return memory_; }
  const std::vector<rill_io_info>& io(rill_dir dir) const { return io_[dir]; }
  const rill_stream_info& stream(size_t output) const { return streams_[output]; }
  bool streams() const {
    for (const rill_io_info& io : io_[RILL_INPUT]) {
      if (io.stream_axis >= 0) return true;
    }
    return false;
  }
  /// Run a plan without streams. `values`: one array per input. Return the output arrays: the
  /// buffers of `out` unless it is None.
  nanobind::list run(const nanobind::sequence& values, nanobind::handle out);
  /// Let threads share the steps of sessions. Call it before any session is made.
  void use(std::shared_ptr<const Threads> threads) { threads_ = std::move(threads); }
  const std::shared_ptr<const Threads>& threads() const { return threads_; }

 private:
  rill_session* take();
  void give_back(rill_session* session);

  std::shared_ptr<const void> memory_;
  std::shared_ptr<const Threads> threads_;
  rill_plan* plan_;
  std::vector<rill_io_info> io_[2];
  std::vector<rill_stream_info> streams_;
  std::vector<rill_session*> idle_;  ///< guarded by the GIL
};

/// One stream of a plan, run by one thread at a time.
class Stream {
 public:
  explicit Stream(const Plan& plan);
  Stream(const Stream& other);
  ~Stream();
  Stream& operator=(const Stream&) = delete;

  nanobind::object push(const nanobind::args& values, const nanobind::kwargs& named);
  nanobind::object finish(nanobind::handle out);
  void set(const std::string& name, nanobind::handle value);
  void reset();
  nanobind::bytes state();
  void load(const nanobind::bytes& state);
  /// Return the pushed frames of the first streaming input, and the pulled frames of each output.
  nanobind::tuple position();
  int64_t bytes();
  /// Run the next step of several streams of one plan: see `step_together` of rill.stream.
  static nanobind::list step_together(const std::vector<Stream*>& streams,
                                      const nanobind::sequence& frames);
  void close();
  bool closed() const { return session_ == nullptr; }

 private:
  /// Locks the stream for one call; another thread's call is refused meanwhile.
  class Hold;

  int axis_of(size_t input) const { return io_[RILL_INPUT][streaming_[input]].stream_axis; }
  /// Return the size and the bytes of the state.
  std::vector<uint64_t> saved() const;
  void check_frames(const std::vector<InputArray>& inputs);
  /// Push all frames. Errors: those of rill_push; RILL_E_STATE for an input that is too far ahead:
  /// then some frames were pushed.
  void push_all(const std::vector<InputArray>& inputs, std::vector<OutputArray>* outputs);
  /// Push and pull for as long as frames move, without the GIL.
  rill_status push_while_moving(const std::vector<InputArray>& inputs,
                                std::vector<OutputArray>* outputs, std::vector<int64_t>* taken);
  std::vector<InputArray> arrays_of(const nanobind::args& values, const nanobind::kwargs& named,
                                    nanobind::handle* out);
  void check_values_known() const;
  std::vector<OutputArray> room_for(const std::vector<InputArray>& inputs,
                                    const std::vector<nanobind::object>& buffers) const;
  std::vector<OutputArray> room_for_tail(const std::vector<nanobind::object>& buffers) const;
  /// Pull the tail into `outputs`, after rill_finish.
  void pull_tail(std::vector<OutputArray>* outputs);
  nanobind::object hand_out(std::vector<OutputArray>* outputs,
                            const std::vector<nanobind::object>& buffers, bool finished);
  /// After `step_together`, allow `push` with any number of frames again.
  void leave_steps();
  /// Copy the frames of one step to the input buffers.
  rill_session_step begin_step(nanobind::handle frames);
  nanobind::object end_step();
  int64_t frames_due(size_t output, int64_t steps) const;

  std::shared_ptr<const void> memory_;
  std::shared_ptr<const Threads> threads_;
  rill_plan* plan_;
  rill_session* session_ = nullptr;
  std::vector<rill_io_info> io_[2];
  std::vector<rill_stream_info> streams_;
  std::vector<size_t> streaming_;  ///< inputs that stream
  std::vector<char> known_;        ///< per input: whether it streams or has a value
  bool stepped_ = false;           ///< whether step_together took the last frames
  std::atomic<bool> held_{false};
};

void define_model(nanobind::module_& module);
void define_plan(nanobind::module_& module);
void define_stream(nanobind::module_& module);
void define_sound(nanobind::module_& module);

}  // namespace rill::python
