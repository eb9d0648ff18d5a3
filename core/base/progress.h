#pragma once

#include <cstdint>

#include "core/base/status.h"

namespace rill {

/// Stages of long work. The values mirror `rill_stage` of the C ABI.
enum class Stage : uint8_t { kLoad, kPulse, kPrepare, kCompile, kCheck, kAudit };

/// Receives the finished fraction of a stage. Returns whether to continue.
using ProgressFn = bool (*)(void* user, Stage stage, double fraction);

/// The part of a stage that the current work covers, as fractions from 0 to 1.
struct ProgressRange {
  double begin = 0;
  double end = 1;
  bool is_part = false;  ///< a nested stage gets this range
};

/// Reports the progress of this thread to a function while the object lives. Each thread has its
/// own scope, so callers need not pass the scope along. Scopes do not nest.
class ProgressScope {
 public:
  /// A null function reports nothing.
  ProgressScope(ProgressFn function, void* user);
  ~ProgressScope();
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;

  bool cancelled() const { return cancelled_; }

 private:
  friend class ProgressStage;
  friend class ProgressPart;
  friend Status progress(double fraction);

  ProgressFn function_;
  void* user_;
  Stage stage_ = Stage::kLoad;
  int stages_ = 0;  ///< number of nested stages that have begun
  ProgressRange range_;
  double done_ = 0;
  bool cancelled_ = false;
};

/// Begins a stage of work. A stage nested in another covers the range of the `ProgressPart` around
/// it. Without such a part, it only asks whether to continue, and reports no advance.
class ProgressStage {
 public:
  explicit ProgressStage(Stage stage);
  ~ProgressStage();
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;

 private:
  ProgressRange outer_;
};

/// Maps the fractions of work to a part of the stage while the object lives.
class ProgressPart {
 public:
  ProgressPart(double begin, double end);
  ~ProgressPart();
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;

 private:
  ProgressRange outer_;
};

/// Report the finished fraction of the current part; it never falls below an earlier report.
/// Errors: kState if the function returned that the work should not continue.
Status progress(double fraction);

/// As above, for `done` of `count` equal pieces.
inline Status progress(size_t done, size_t count) {
  return progress(count == 0 ? 1 : static_cast<double>(done) / static_cast<double>(count));
}

}  // namespace rill
