#include "cli/crash.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/sanitized.h"

namespace rill::cli {
namespace {

#if !defined(RILL_SANITIZED)
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
