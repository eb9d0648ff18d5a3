/// @file
/// A thread that steps the model of an AudioEffect.
#pragma once

#include <chrono>
#include <system_error>
#include <thread>

#include "rill/audio.hpp"

namespace rill {
inline namespace abi1 {

/// Calls `AudioEffect::work` in a thread that polls, from `start` to `stop`. The effect must not
/// move meanwhile. The app gives the thread its priority, through `native_handle`: below that of
/// the audio callback.
class AudioWorker {
 public:
  AudioWorker() = default;
  AudioWorker(const AudioWorker&) = delete;
  AudioWorker& operator=(const AudioWorker&) = delete;
  ~AudioWorker() { stop(); }

  /// Start the thread. It polls at intervals of `poll`: choose a small part of a pulse.
  /// Errors: RILL_E_STATE if it has started, or if the system cannot start a thread.
  rill_status start(AudioEffect& effect, std::chrono::microseconds poll) {
    if (thread_.joinable()) return RILL_E_STATE;
    ends_.store(false);
#ifdef __cpp_exceptions
    try {
#endif
      thread_ = std::thread([this, &effect, poll] {
        while (!ends_.load(std::memory_order_relaxed)) {
          if (effect.work() == 0) std::this_thread::sleep_for(poll);
        }
      });
#ifdef __cpp_exceptions
    } catch (const std::system_error&) {
      return RILL_E_STATE;
    }
#endif
    return RILL_OK;
  }
  /// End the thread, before the effect is reset, saved, loaded, moved or freed.
  void stop() {
    ends_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  /// Return the thread's handle, to set its priority.
  std::thread::native_handle_type native_handle() { return thread_.native_handle(); }

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace abi1
}  // namespace rill
