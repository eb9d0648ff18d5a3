#include "cli/crash.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RILL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define RILL_SANITIZED 1
#endif
#endif

namespace rill::cli {
namespace {

// A stack that has overflowed cannot hold the handler's own frame.
constexpr size_t kStackBytes = size_t{1} << 16;
alignas(16) char spare_stack[kStackBytes];
const char* first_words = "error: ";

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "a bad address, or too deep a recursion";
    case SIGBUS:
      return "a bus error";
    case SIGFPE:
      return "an arithmetic fault";
    case SIGILL:
      return "an instruction that this machine does not have";
    default:
      return "an abort";
  }
}

/// Writes with what signals may use.
void say(const char* text) {
  const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

[[maybe_unused]] void on_crash(int signal) {
  say(first_words);
  say("rill stopped by a defect of its own: ");
  say(name_of(signal));
  say("\n");
  _exit(1);
}

}  // namespace

void tell_of_crashes(Flavor flavor) {
  if (flavor == Flavor::kTract) first_words = "[1970-01-01T00:00:00.000000000Z ERROR tract] ";
#ifndef RILL_SANITIZED
  stack_t stack{};
  stack.ss_sp = spare_stack;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
#endif
}

}  // namespace rill::cli
