#pragma once

#include <gtest/gtest.h>

#include "rill/rill.h"

namespace rill::test {

/// Counts the results of one kind of injected fault; `scripts/faults.py` adds them up.
class Tally {
 public:
  explicit Tally(const char* fault) : fault_(fault) {}
  ~Tally() {
    ::testing::Test::RecordProperty("fault", fault_);
    ::testing::Test::RecordProperty("tried", tried_);
    ::testing::Test::RecordProperty("refused", refused_);
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void add(rill_status status) {
    ++tried_;
    refused_ += status == RILL_OK ? 0 : 1;
  }

 private:
  const char* fault_;
  int tried_ = 0;
  int refused_ = 0;
};

}  // namespace rill::test
