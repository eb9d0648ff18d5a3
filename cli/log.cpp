#include "cli/log.h"

#include <fmt/chrono.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "cli/say_impl.h"
#include "cli/system/process.h"

namespace rill::cli {
namespace {

std::string timestamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds);
  return escaped_format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(std::time_t{seconds.count()}),
                        ns.count());
}

/// Indent all lines after the first.
std::string indented(std::string_view text) {
  std::string out;
  for (const char c : printable(text, Lines::kKept)) {
    out.push_back(c);
    if (c == '\n') out += "    ";
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

}  // namespace

void Log::line(std::string_view level, std::string_view text) const {
  progress("");
  if (tract()) {
    say_to(stderr, "[{} {:<5} tract] {}\n", timestamp(), level, Escaped{text});
  } else {
    const std::string_view word = level == "WARN" ? "warning" : level;
    say_to(stderr, "{}: {}\n", lower(word), Escaped{text});
  }
}

void Log::error(std::string_view text) const { line("ERROR", printable(text)); }
void Log::error(const Error& error) const { line("ERROR", indented(error.to_string())); }
void Log::warn(std::string_view text) const {
  if (!tract() || verbosity_ >= 1) line("WARN", printable(text));
}
void Log::notice(std::string_view text) const { line("WARN", printable(text)); }
void Log::info(std::string_view text) const {
  if (verbosity_ >= 1) line("INFO", printable(text));
}
void Log::debug(std::string_view text) const {
  if (verbosity_ >= 2) line("DEBUG", printable(text));
}

bool Log::terminal() { return is_terminal(stderr); }

void Log::progress(std::string_view text) {
  if (!terminal()) return;
  say_to(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

Status unknown_name(const Log& log, Status refusal) {
  if (!log.tract()) return refusal;
  log.info(refusal.error().to_string());
  return {};
}

}  // namespace rill::cli
