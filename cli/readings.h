#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// Writes the resource use of the process to `readings.out`, at intervals from a separate thread:
/// seconds, cores in use, virtual and resident bytes, times, page faults, bytes allocated and
/// freed, and the current stage.
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
