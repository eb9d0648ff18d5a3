#include "cli/crash.h"

#include <gtest/gtest.h>

#include <csignal>

namespace rill::cli {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(CrashDeathTest, IsAnErrorWithALineAndAStatus) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    EXPECT_EXIT(
        {
          tell_of_crashes(Flavor::kTract);
          std::raise(signal);
        },
        ::testing::ExitedWithCode(1), "ERROR tract. rill stopped by a defect of its own");
  }
}
#endif

}  // namespace
}  // namespace rill::cli
