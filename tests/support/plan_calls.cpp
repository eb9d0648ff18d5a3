#include "tests/support/plan_calls.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "api/include/rill/rill.h"
#include "core/base/aligned.h"
#include "tests/support/plan_files.h"

namespace rill::test {
namespace {

constexpr size_t kSessions = 3;
constexpr int64_t kMostElements = 1 << 16;
/// The most steps of a tail, so that a case takes milliseconds.
constexpr int64_t kMostLate = 1000;

template <class T>
T sized() {
  T out{};
  out.size = sizeof out;
  return out;
}

/// Memory of exactly `bytes` bytes, so that sanitizers detect accesses after its end.
struct AlignedBlock {
  explicit AlignedBlock(size_t bytes)
      : memory(static_cast<std::byte*>(allocate_aligned(64, (bytes + 63) / 64 * 64))) {
    if (memory == nullptr) std::abort();
    std::memset(memory, 1, bytes);
  }
  AlignedBlock(const AlignedBlock&) = delete;
  AlignedBlock& operator=(const AlignedBlock&) = delete;
  ~AlignedBlock() { free_aligned(memory); }
  std::byte* memory;
};

class Caller {
 public:
  explicit Caller(rill_plan* plan) : plan_(plan) {
    for (size_t i = 0; i < rill_plan_count(plan, RILL_OUTPUT); ++i) {
      auto info = sized<rill_stream_info>();
      if (rill_plan_stream(plan, i, &info) != RILL_OK) continue;
      late_ |= info.pulse > 0 && info.delay / info.pulse > kMostLate;
    }
  }
  ~Caller() {
    for (rill_session* session : sessions_) rill_session_free(session);
    rill_plan_release(plan_);
  }

  void call(uint8_t what, uint8_t with) {
    rill_session*& session = sessions_[with % kSessions];
    const size_t index = with / kSessions % 4;
    if (session == nullptr) return make(with, &session);
    int64_t number = 0;
    switch (what % 18) {
      case 0:
      case 1:
        return check_status(rill_step(session));
      case 2:
      case 3:
        return move(session, RILL_INPUT, index, with);
      case 4:
      case 5:
        return move(session, RILL_OUTPUT, index, with);
      case 6:
        if (!late_) check_status(rill_finish(session));
        return;
      case 7:
        return check_status(rill_step_partial(session, with % 5));
      case 8:
        return check_status(rill_flush(session, &number));
      case 9:
        return check_status(rill_session_reset(session));
      case 10:
        return save(session);
      case 11:
        return check_status(rill_state_load(session, state_.data(), saved_));
      case 12:
        rill_session_free(session);
        session = nullptr;
        return;
      case 13:
        return together(with);
      case 14:
        check_status(rill_valid_frames(session, index, &number, &number));
        return check_status(rill_position(session, index, &number, &number));
      case 15: {
        std::vector<int64_t> times(1 << 12);
        const char* name = nullptr;
        const char* op = nullptr;
        check_status(rill_plan_node(plan_, with, &name, &op));
        return check_status(rill_step_timed(session, times.data(), times.size()));
      }
      case 16:
        return bind(session, index, with % 2 == 0 ? RILL_INPUT : RILL_OUTPUT);
      default:
        return clone(session, with);
    }
  }
  int64_t succeeded() const { return succeeded_; }

 private:
  void check_status(rill_status status) {
    if (status == RILL_OK) ++succeeded_;
    if (status != RILL_OK && rill_last_error()[0] == '\0') std::abort();
  }
  /// Make a session on the heap, or in memory of exactly the required size.
  void make(uint8_t with, rill_session** session) {
    auto opts = sized<rill_session_opts>();
    opts.max_push = with % 7;
    if (with % 2 == 0) return check_status(rill_session_open(plan_, &opts, session));
    size_t bytes = 0;
    check_status(rill_session_need(plan_, &opts, &bytes));
    if (bytes == 0 || bytes > size_t{1} << 24U) return;
    blocks_.push_back(std::make_unique<AlignedBlock>(bytes));
    check_status(rill_session_place(plan_, &opts, blocks_.back()->memory, bytes, session));
  }
  void clone(rill_session* from, uint8_t with) {
    rill_session*& to = sessions_[(with + 1U) % kSessions];
    if (to == nullptr) check_status(rill_session_clone(from, &to));
  }
  void move(rill_session* session, rill_dir dir, size_t index, uint8_t with) {
    auto io = sized<rill_io_info>();
    const rill_status known = rill_plan_io(plan_, dir, index, &io);
    if (known != RILL_OK || io.shape == nullptr) return check_status(known);
    std::array<int64_t, RILL_MAX_RANK> shape{};
    std::copy(io.shape, io.shape + io.rank, shape.begin());
    if (io.stream_axis >= 0) shape[static_cast<size_t>(io.stream_axis)] += with % 4 - 1;
    // Other extents may be huge if one of them is 0.
    int64_t volume = 1;
    for (uint32_t i = 0; i < io.rank; ++i) {
      volume *= std::max<int64_t>(1, shape[i]);
      if (volume > kMostElements || shape[i] < 0) return;
    }
    const AlignedBlock block(static_cast<size_t>(volume) * 16);
    auto view = sized<rill_view>();
    view.dtype = io.dtype;
    view.rank = io.rank;
    view.shape = shape.data();
    view.data = block.memory;
    int64_t moved = 0;
    check_status(dir == RILL_INPUT ? rill_push(session, index, &view, &moved)
                                   : rill_pull(session, index, &view, &moved));
  }
  void bind(rill_session* session, size_t index, rill_dir dir) {
    auto io = sized<rill_io_info>();
    const rill_status known = rill_plan_io(plan_, dir, index, &io);
    if (known != RILL_OK || io.shape == nullptr || io.bytes < 0 || io.bytes > kMostElements * 16) {
      return check_status(known);
    }
    blocks_.push_back(
        std::make_unique<AlignedBlock>(static_cast<size_t>(std::max<int64_t>(1, io.bytes))));
    auto view = sized<rill_view>();
    view.dtype = io.dtype;
    view.rank = io.rank;
    view.shape = io.shape;
    view.data = blocks_.back()->memory;
    check_status(dir == RILL_INPUT ? rill_bind_input(session, index, &view)
                                   : rill_bind_output(session, index, &view));
  }
  void save(rill_session* session) {
    size_t bytes = 0;
    check_status(rill_state_size(session, &bytes));
    if (bytes == 0 || bytes > size_t{1} << 24U) return;
    state_.assign(bytes / 8 + 1, 0);
    saved_ = 0;
    check_status(rill_state_save(session, state_.data(), bytes, &saved_));
  }
  void together(uint8_t with) {
    std::vector<rill_session_step> parts;
    for (rill_session* session : sessions_) {
      if (session == nullptr) continue;
      auto part = sized<rill_session_step>();
      part.kind = static_cast<rill_step_kind>(with / 4 % 3);
      part.session = session;
      part.valid_frames = with % 4;
      parts.push_back(part);
    }
    check_status(rill_step_together(parts.data(), parts.size()));
  }

  rill_plan* plan_;
  std::array<rill_session*, kSessions> sessions_{};
  std::vector<std::unique_ptr<AlignedBlock>> blocks_;  ///< sessions and buffers lie in them
  std::vector<int64_t> state_ = std::vector<int64_t>(1);
  size_t saved_ = 0;
  bool late_ = false;
  int64_t succeeded_ = 0;
};

}  // namespace

int64_t call_plan(std::span<const std::byte> file, std::span<const uint8_t> calls) {
  constexpr size_t kMostCalls = 100;
  const Mapped map = mapped(file);
  auto opts = sized<rill_open_opts>();
  opts.max_session_bytes = int64_t{1} << 22;
  opts.max_step_work = 1 << 16;
  rill_plan* plan = nullptr;
  if (rill_plan_map_opts(map.bytes.data(), map.bytes.size(), &opts, &plan) != RILL_OK) {
    if (rill_last_error()[0] == '\0') std::abort();
    return -1;
  }
  Caller caller(plan);
  for (size_t at = 0; at + 1 < std::min(calls.size(), 2 * kMostCalls); at += 2) {
    caller.call(calls[at], calls[at + 1]);
  }
  return caller.succeeded();
}

}  // namespace rill::test
