#pragma once

#include <cstdint>

namespace rill::plan_file {

/// Limits of a plan file. 0 stands for the default, which real models stay far below.
struct Limits {
  static constexpr int64_t kFileBytes = int64_t{1} << 34;
  static constexpr int64_t kSessionBytes = int64_t{1} << 32;
  static constexpr int64_t kStreamWork = int64_t{1} << 32;
  static constexpr int64_t kWholeWork = int64_t{1} << 36;
  static constexpr int64_t kEnds = int64_t{1} << 16;
  static constexpr int64_t kBuffers = int64_t{1} << 20;

  int64_t max_file_bytes = 0;
  int64_t max_session_bytes = 0;  ///< of a session whose queues hold one pulse
  int64_t max_step_work = 0;      ///< elements that a step touches, and operations, see `Cost`
  int64_t max_ends = 0;           ///< inputs, and outputs
  int64_t max_buffers = 0;

  int64_t file_bytes() const { return or_default(max_file_bytes, kFileBytes); }
  int64_t session_bytes() const { return or_default(max_session_bytes, kSessionBytes); }
  /// Return the limit of a step. It is lower for a stream, because making a session runs a step.
  int64_t step_work(bool streams) const {
    return or_default(max_step_work, streams ? kStreamWork : kWholeWork);
  }
  int64_t ends() const { return or_default(max_ends, kEnds); }
  int64_t buffers() const { return or_default(max_buffers, kBuffers); }

 private:
  static int64_t or_default(int64_t given, int64_t usual) { return given > 0 ? given : usual; }
};

/// Upper bounds on the cost of a plan, known before anything is allocated for it.
struct Cost {
  int64_t session_bytes = 0;  ///< with queues that hold one pulse
  /// An element that a step touches counts 1, and so do 8 multiply-adds of a matmul.
  int64_t step_work = 0;
};

}  // namespace rill::plan_file
