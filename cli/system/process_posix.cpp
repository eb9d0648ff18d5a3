#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <initializer_list>

#if defined(__linux__)
#include <malloc.h>
#endif

#include "cli/system/process.h"

namespace rill::cli {
namespace {

// A stack for the crash handler: an overflowed stack has no space for its frame.
constexpr size_t kStackBytes = size_t{1} << 16;
alignas(16) char spare_stack[kStackBytes];
void (*crash_handler)(const char* what) = nullptr;

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

void on_crash(int signal) { crash_handler(name_of(signal)); }

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

Usage usage_now() {
  Usage now;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  now.user_s = seconds_of(used.ru_utime);
  now.system_s = seconds_of(used.ru_stime);
  now.minor_faults = used.ru_minflt;
  now.major_faults = used.ru_majflt;
#if defined(__APPLE__)
  now.most_resident_bytes = used.ru_maxrss;
#else
  now.most_resident_bytes = int64_t{used.ru_maxrss} * 1024;
#endif
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    long pages = 0;
    long resident = 0;
    if (std::fscanf(file, "%ld %ld", &pages, &resident) == 2) {
      const int64_t page = sysconf(_SC_PAGESIZE);
      now.virtual_bytes = pages * page;
      now.resident_bytes = resident * page;
    }
    std::fclose(file);
  }
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33)
  const auto heap = mallinfo2();
  now.heap_used_bytes = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
  now.heap_free_bytes = static_cast<int64_t>(heap.fordblks);
#endif
#endif
  return now;
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

void prepare_streams() { std::signal(SIGPIPE, SIG_IGN); }

void say_raw(const char* text) {
  const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

void end_now(int status) { _exit(status); }

void catch_crashes(void (*handler)(const char* what)) {
  crash_handler = handler;
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
}

}  // namespace rill::cli
