#pragma once

#include <string_view>

#include "core/base/status.h"

namespace rill::cli {

/// The running program: `rill`, or `rill-tract`, which keeps tract's conventions.
enum class Flavor { kRill, kTract };

/// Writes to stderr. As in tract, success is silent: checkers of tract's output treat any line as a
/// failure. So warnings only appear with `-v`.
class Log {
 public:
  explicit Log(Flavor flavor, int verbosity = 0) : flavor_(flavor), verbosity_(verbosity) {}

  Flavor flavor() const { return flavor_; }
  bool tract() const { return flavor_ == Flavor::kTract; }
  /// Print one line with control characters escaped.
  void error(std::string_view text) const;
  void error(const Error& error) const;
  void warn(std::string_view text) const;
  /// Print a message in both programs.
  void notice(std::string_view text) const;
  void info(std::string_view text) const;
  void debug(std::string_view text) const;
  /// Return whether progress is visible on a terminal.
  static bool terminal();
  /// Overwrite the line of progress; an empty text clears it. On a terminal only.
  static void progress(std::string_view text);

 private:
  void line(std::string_view level, std::string_view text) const;

  Flavor flavor_;
  int verbosity_;
};

/// Refuse an unknown name, or accept it silently if tract does.
Status unknown_name(const Log& log, Status refusal);

}  // namespace rill::cli
