#include "cli/log.h"

#include <fmt/chrono.h>

#include <algorithm>
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

bool is_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/// Replace limits of the library's structs by their options: "max_nodes of rill_load_opts" by
/// "--max-nodes".
std::string with_options(std::string text) {
  for (const std::string_view owner : {" of rill_load_opts", " of rill_open_opts"}) {
    for (size_t at = text.find(owner); at != text.npos; at = text.find(owner)) {
      size_t begin = at;
      while (begin > 0 && is_name(text[begin - 1])) --begin;
      std::string option = "--" + text.substr(begin, at - begin);
      std::replace(option.begin(), option.end(), '_', '-');
      text.replace(begin, at + owner.size() - begin, option);
    }
  }
  return text;
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
void Log::error(const Error& error) const {
  Error shown = error;
  shown.hint = with_options(std::move(shown.hint));
  line("ERROR", indented(shown.to_string()));
}
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
