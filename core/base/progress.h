#pragma once

#include <cstdint>

#include "core/base/status.h"

namespace rill {

/// Work that takes long. The values mirror `rill_stage` of the C ABI.
enum class Stage : uint8_t { kLoad, kPulse, kPrepare, kCompile, kCheck, kAudit };

/// Receives the fraction of a stage that is done. Returns whether to continue.
using ProgressFn = bool (*)(void* user, Stage stage, double fraction);

/// The part of a stage, as fractions from 0 to 1, that the current work covers.
struct ProgressRange {
  double begin = 0;
  double end = 1;
  bool is_part = false;  ///< a stage that begins within it has the same range
};

/// Reports the progress of this thread to a function during its lifetime. Each thread has its own
/// scope, so callers need not pass it along. Scopes do not nest.
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
  int stages_ = 0;  ///< begun, one within another
  ProgressRange range_;
  double done_ = 0;
  bool cancelled_ = false;
};

/// Names the stage of the work that follows. Within another stage it has the range of the
/// `ProgressPart` around it; without one it asks whether to continue, and advances nothing.
class ProgressStage {
 public:
  explicit ProgressStage(Stage stage);
  ~ProgressStage();
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;

 private:
  ProgressRange outer_;
};

/// Maps the fractions of the work that follows to a part of the stage, as long as it lives.
class ProgressPart {
 public:
  ProgressPart(double begin, double end);
  ~ProgressPart();
  ProgressPart(const ProgressPart&) = delete;
  ProgressPart& operator=(const ProgressPart&) = delete;

 private:
  ProgressRange outer_;
};

/// Report the fraction of the current part that is done; a smaller one than before counts as that
/// one. Errors: kState once the function does not want the work to continue.
Status progress(double fraction);

/// As above, for `done` of `count` equal pieces.
inline Status progress(size_t done, size_t count) {
  return progress(count == 0 ? 1 : static_cast<double>(done) / static_cast<double>(count));
}

}  // namespace rill
