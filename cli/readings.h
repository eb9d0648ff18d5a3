#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// Writes what the process uses to `readings.out`, now and then from a thread of its own: seconds,
/// cores in use, virtual and resident bytes, times, page faults, bytes allocated and freed, and the
/// stage that was reached.
class Readings {
 public:
  /// Start. Errors: kIo.
  static Result<std::unique_ptr<Readings>> start(int64_t heartbeat_ms);
  ~Readings();
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;

  /// Write a line with this event at once.
  void event(std::string_view name);

 private:
  struct Impl;
  explicit Readings(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rill::cli
