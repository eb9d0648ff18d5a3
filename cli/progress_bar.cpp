#include "cli/progress_bar.h"

#include <string>

#include "cli/say_impl.h"
#include "cli/system/process.h"

namespace rill::cli {
namespace {

/// Shorter stages show no bar.
constexpr std::chrono::milliseconds kShort{500};
constexpr std::chrono::milliseconds kBetween{100};
constexpr int kWidth = 30;
constexpr const char* kNames[] = {"load", "pulse", "prepare", "compile", "check", "audit"};

}  // namespace

ProgressBar::ProgressBar() : scope_(is_terminal(stderr) ? receive : nullptr, this) {}

ProgressBar::~ProgressBar() { hide(); }

bool ProgressBar::receive(void* bar, Stage stage, double fraction) {
  static_cast<ProgressBar*>(bar)->show(stage, fraction);
  return true;
}

void ProgressBar::show(Stage stage, double fraction) {
  const auto now = Clock::now();
  if (stage != stage_ || fraction == 0) {
    hide();
    if (stage != stage_ || begun_ == Clock::time_point()) begun_ = now;
    stage_ = stage;
  }
  if (fraction >= 1) {
    begun_ = Clock::time_point();
    return hide();
  }
  if (now - begun_ < kShort || now - drawn_ < kBetween) return;
  drawn_ = now;
  is_shown_ = true;
  const auto done = static_cast<size_t>(fraction * kWidth);
  // The cursor stays at the beginning of the line, so that messages replace the bar.
  say_to(stderr, "{:<8} [{:<{}}] {:3.0f} %\r", kNames[static_cast<size_t>(stage)],
         std::string(done, '#'), kWidth, 100 * fraction);
}

void ProgressBar::hide() {
  if (!is_shown_) return;
  is_shown_ = false;
  say_to(stderr, "\r{:<{}}\r", "", kWidth + 20);
}

}  // namespace rill::cli
