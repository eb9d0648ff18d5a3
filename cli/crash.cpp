#include "cli/crash.h"

#include "cli/system/process.h"

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

const char* first_words = "error: ";

[[maybe_unused]] void on_crash(const char* what) {
  say_raw(first_words);
  say_raw("rill stopped because of an internal error: ");
  say_raw(what);
  say_raw("\n");
  end_now(kCrashStatus);
}

}  // namespace

void report_crashes(Flavor flavor) {
  if (flavor == Flavor::kTract) first_words = "[1970-01-01T00:00:00.000000000Z ERROR tract] ";
#ifndef RILL_SANITIZED
  catch_crashes(on_crash);
#endif
}

}  // namespace rill::cli
