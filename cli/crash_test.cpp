#include "cli/crash.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/sanitized.h"

namespace rill::cli {
namespace {

#if !defined(RILL_SANITIZED)
TEST(CrashDeathTest, EndsWithALineAndAStatusThatNoErrorHas) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    EXPECT_EXIT(
        {
          report_crashes(Flavor::kTract);
          std::raise(signal);
        },
        ::testing::ExitedWithCode(70), "ERROR tract. rill stopped because of an internal error");
  }
}
#endif

}  // namespace
}  // namespace rill::cli
