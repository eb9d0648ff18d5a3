#pragma once

#include <chrono>

#include "core/base/progress.h"

namespace rill::cli {

/// Shows the stages that take long as a bar on standard error, if that is a terminal.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  static bool receive(void* bar, Stage stage, double fraction);
  void show(Stage stage, double fraction);
  void hide();

  Stage stage_ = Stage::kLoad;
  Clock::time_point begun_;  ///< when the stage began
  Clock::time_point drawn_;  ///< when the bar was last drawn
  bool is_shown_ = false;
  ProgressScope scope_;
};

}  // namespace rill::cli
