#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/include/rill/rill.h"
#include "api/src/session_state.h"
#include "api/src/properties.h"
#include "core/exec/feed.h"
#include "core/exec/session.h"
#include "core/run/plan.h"
#include "core/run/pool.h"
#include "core/tensor/dtype.h"
#include "core/tensor/view.h"

namespace rill {
struct Fact;
}  // namespace rill

namespace rill::api {

// The first word of every handle's object; freeing the object overwrites it.
inline constexpr uint32_t kModelMagic = 0x6D6C6C72;
inline constexpr uint32_t kPlanMagic = 0x706C6C72;
inline constexpr uint32_t kSessionMagic = 0x736C6C72;
inline constexpr uint32_t kThreadsMagic = 0x746C6C72;
inline constexpr uint32_t kDeadMagic = 0xDEADDEAD;

/// The description of an input or output, in the form of the C interface.
struct IoText {
  IoText(std::string io_name, const Fact& fact);
  /// Describe a wire whose extents are all numbers.
  explicit IoText(const PlanIo& io);
  void fill(rill_io_info* info) const;

  DType dtype;
  QParams q;
  std::string name;
  std::string text;
  std::vector<std::string> dims;
  std::vector<const char*> dim_pointers;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool concrete = false;
  int64_t bytes = -1;
  int stream_axis = -1;

 private:
  /// Store the shape, once known, and everything derived from it.
  void set_shape(std::vector<int64_t> extents);
};

}  // namespace rill::api

struct rill_plan {
  uint32_t magic = rill::api::kPlanMagic;
  std::atomic<int64_t> owners{1};
  std::shared_ptr<const rill::Plan> plan;
  std::vector<std::unique_ptr<const rill::api::IoText>> io[2];
  std::vector<std::string> lengths;  ///< per output
  rill::api::Properties properties;  ///< of the model
  int stream_input = -1;             ///< the one that counts the stream symbol
  int64_t io_bytes = 0;
  int64_t weight_bytes = 0;
  /// For each output, the steps of its tail plus 2, or 0 until that is known. They are computed on
  /// request, because that can take longer than opening the plan.
  mutable std::vector<std::atomic<int64_t>> tails;

  bool streams() const { return stream_input >= 0; }
  int64_t input_pulse() const {
    return plan->inputs[static_cast<size_t>(stream_input)].stream.pulse;
  }
};

namespace rill::api {

/// Fill in the descriptions of a plan.
void describe(rill_plan* handle);

/// The state of a session outside its memory: a clone copies all of it.
struct Stage {
  Drive drive = Drive::kOpen;
  bool gave_frames = false;  ///< whether the last call ran a step
};

}  // namespace rill::api

struct rill_session {
  uint32_t magic = rill::api::kSessionMagic;
  rill_plan* plan = nullptr;
  rill::PlacedSession* session = nullptr;
  rill::PlacedFeed* feed = nullptr;  ///< null unless the plan streams
  /// Own memory of the session; null if it lies in the caller's memory.
  std::unique_ptr<rill::Session> own_session;
  std::unique_ptr<rill::Feed> own_feed;
  int64_t placed_bytes = 0;  ///< of the caller's memory
  int64_t max_push = 0;
  rill::api::Stage stage;
  bool in_step = false;  ///< whether rill_step_together is stepping it
};

struct rill_threads {
  uint32_t magic = rill::api::kThreadsMagic;
  std::shared_ptr<const rill::Pool> pool;
};

namespace rill::api {

inline constexpr char kNotASession[] = "not a session: null, freed, or another kind of object";

inline bool alive(const rill_plan* plan) { return plan && plan->magic == kPlanMagic; }
inline bool alive(const rill_session* session) {
  return session && session->magic == kSessionMagic;
}
inline bool alive(const rill_threads* threads) {
  return threads && threads->magic == kThreadsMagic;
}

}  // namespace rill::api
