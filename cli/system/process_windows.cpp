#include <fcntl.h>
#include <io.h>
#include <windows.h>
// After the system's own types.
#include <psapi.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "cli/system/process.h"

namespace rill::cli {
namespace {

void (*crash_handler)(const char* what) = nullptr;

LONG WINAPI on_exception(EXCEPTION_POINTERS* found) {
  switch (found->ExceptionRecord->ExceptionCode) {
    case EXCEPTION_ACCESS_VIOLATION:
    case EXCEPTION_STACK_OVERFLOW:
      crash_handler("a bad address, or too deep a recursion");
      break;
    case EXCEPTION_INT_DIVIDE_BY_ZERO:
    case EXCEPTION_INT_OVERFLOW:
      crash_handler("an arithmetic fault");
      break;
    case EXCEPTION_ILLEGAL_INSTRUCTION:
      crash_handler("an instruction that this machine does not have");
      break;
    default:
      crash_handler("an abort");
  }
  return EXCEPTION_EXECUTE_HANDLER;
}

void on_signal(int signal) {
  crash_handler(signal == SIGABRT  ? "an abort"
                : signal == SIGFPE ? "an arithmetic fault"
                : signal == SIGILL ? "an instruction that this machine does not have"
                                   : "a bad address, or too deep a recursion");
}

double seconds_of(const FILETIME& time) {
  return static_cast<double>(uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime) * 1e-7;
}

}  // namespace

Usage usage_now() {
  Usage now;
  FILETIME begun, ended, system, user;
  if (GetProcessTimes(GetCurrentProcess(), &begun, &ended, &system, &user) != 0) {
    now.user_s = seconds_of(user);
    now.system_s = seconds_of(system);
  }
  PROCESS_MEMORY_COUNTERS memory;
  if (GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory) != 0) {
    now.virtual_bytes = static_cast<int64_t>(memory.PagefileUsage);
    now.resident_bytes = static_cast<int64_t>(memory.WorkingSetSize);
    now.most_resident_bytes = static_cast<int64_t>(memory.PeakWorkingSetSize);
    now.minor_faults = memory.PageFaultCount;
  }
  return now;
}

bool is_terminal(std::FILE* stream) { return _isatty(_fileno(stream)) != 0; }

void prepare_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
}

void say_raw(const char* text) {
  DWORD put = 0;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, static_cast<DWORD>(std::strlen(text)), &put,
            nullptr);
}

void end_now(int status) {
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(status));
  std::abort();
}

void catch_crashes(void (*handler)(const char* what)) {
  crash_handler = handler;
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
  SetUnhandledExceptionFilter(on_exception);
  for (const int signal : {SIGSEGV, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, on_signal);
}

}  // namespace rill::cli
