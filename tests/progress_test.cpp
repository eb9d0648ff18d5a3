// Progress of long calls, cancelled at any point: they return their own status, leave the model
// unchanged, write no file and leak no memory.

#include "rill/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "rill/compile.h"
#include "rill/progress.hpp"
#include "rill/verify.h"
#include "tests/support/array.h"
#include "tests/support/heap_calls.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

const std::string kModels = std::string(RILL_SOURCE_DIR) + "/tests/models/";
const std::string kFolder = kModels + "tcn_dilated/";
const std::string kArchive = kFolder + "model.nnef.tgz";

struct Seen {
  rill_stage stage;
  double fraction;
};

/// Counts progress, and cancels at one of the calls.
struct Watch {
  explicit Watch(int64_t at = -1) : cancel_at(at) {
    rill_set_progress(receive, this);
  }
  ~Watch() { rill_set_progress(nullptr, nullptr); }
  static int receive(void* user, rill_stage stage, double fraction) {
    auto* const own = static_cast<Watch*>(user);
    own->last = {stage, fraction};
    own->sinks |= own->count > 0 && stage == own->before.stage && fraction < own->before.fraction;
    own->outside |= !(fraction >= 0 && fraction <= 1);
    own->before = own->last;
    return own->count++ == own->cancel_at ? 0 : 1;
  }

  int64_t cancel_at;
  int64_t count = 0;
  Seen last{};
  Seen before{};
  bool sinks = false;    ///< whether a fraction was smaller than the previous one of a stage
  bool outside = false;  ///< whether a fraction was outside of 0 to 1
};

ModelPtr loaded() {
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load(kArchive.c_str(), nullptr, &model), RILL_OK) << rill_last_error();
  return ModelPtr(model);
}

/// The model for one stream at a time.
ModelPtr bound() {
  ModelPtr model = loaded();
  EXPECT_EQ(rill_model_set_symbol(model.get(), "B", "1"), RILL_OK) << rill_last_error();
  return model;
}

ModelPtr pulsed(const char* pulse = "8") {
  ModelPtr model = bound();
  EXPECT_EQ(rill_model_pulse(model.get(), "S", pulse), RILL_OK) << rill_last_error();
  return model;
}

/// Every call that reports progress, and what must hold after it was cancelled.
struct Long {
  std::string name;
  std::vector<rill_stage> stages;  ///< in order
  std::function<rill_status()> call;
  std::function<void()> expect_unchanged;
};

/// Return the report after `at` at which to cancel: each report if there are few, else the first
/// ones.
int64_t after(int64_t at, int64_t reports) {
  constexpr int64_t kFew = 24;
  return at + (at < kFew ? 1 : std::max<int64_t>(1, reports / kFew));
}

/// Cancel a call at its reports.
void cancel_each(const Long& each) {
  SCOPED_TRACE(each.name);
  const rill_status first = each.call();
  if (first == RILL_E_UNSUPPORTED) return;  // a build without it
  ASSERT_EQ(first, RILL_OK) << rill_last_error();
  int64_t reports = 0;
  {
    Watch watch;
    ASSERT_EQ(each.call(), RILL_OK) << rill_last_error();
    reports = watch.count;
    EXPECT_FALSE(watch.sinks);
    EXPECT_FALSE(watch.outside);
    EXPECT_EQ(watch.last.stage, each.stages.back());
    EXPECT_EQ(watch.last.fraction, 1);
  }
  ASSERT_GT(reports, 3);
  int64_t blocks = 0;
  for (int64_t at = 0; at < reports; at = after(at, reports)) {
    rill_status status = RILL_OK;
    Seen last{};
    {
      Watch watch(at);
      status = each.call();
      last = watch.last;
      // A cancelled call reports no further progress.
      EXPECT_EQ(watch.count, at + 1);
    }
    ASSERT_EQ(status, RILL_E_CANCELLED) << "report " << at << " of " << reports << ", "
                                        << rill_stage_name(last.stage) << " " << last.fraction;
    EXPECT_NE(std::string(rill_last_error()).find("cancelled"), std::string::npos);
    // The first call frees the result of the last one that succeeded.
    if (at == 0) blocks = heap_blocks();
    ASSERT_EQ(heap_blocks(), blocks) << "report " << at;
    each.expect_unchanged();
  }
  EXPECT_EQ(each.call(), RILL_OK) << rill_last_error();
}

TEST(Progress, ALoadIsCancelledAnywhere) {
  for (const char* name : {"tcn_dilated", "crnn_lstm"}) {
    rill_model* model = nullptr;
    const std::string archive = kModels + name + "/model.nnef.tgz";
    cancel_each({name,
                 {RILL_STAGE_LOAD},
                 [&] {
                   rill_model_free(model);
                   return rill_load(archive.c_str(), nullptr, &model);
                 },
                 [&] { EXPECT_EQ(model, nullptr); }});
    rill_model_free(model);
  }
}

TEST(Progress, ACancelledPulseLeavesTheModelUnchanged) {
  const ModelPtr whole = bound();
  for (const char* pulse : {"8", "auto"}) {
    rill_model* model = nullptr;
    ASSERT_EQ(rill_model_clone(whole.get(), &model), RILL_OK);
    ModelPtr owned(model);
    cancel_each({pulse,
                 {RILL_STAGE_PULSE},
                 [&] {
                   // A pulsed model cannot be pulsed again.
                   const char* symbol = nullptr;
                   rill_model_symbol(model, 0, &symbol);
                   if (!symbol) {
                     owned.reset();
                     rill_model_clone(whole.get(), &model);
                     owned.reset(model);
                   }
                   return rill_model_pulse(model, "S", pulse);
                 },
                 [&] {
                   const char* symbol = nullptr;
                   EXPECT_EQ(rill_model_symbol(model, 0, &symbol), RILL_OK);
                   EXPECT_TRUE(symbol && std::string(symbol) == "S");
                 }});
  }
}

TEST(Progress, ACancelledPreparationGivesNoPlan) {
  const ModelPtr model = pulsed();
  rill_plan* plan = nullptr;
  cancel_each({"prepare",
               {RILL_STAGE_PREPARE},
               [&] {
                 rill_plan_release(plan);
                 return rill_prepare(model.get(), nullptr, &plan);
               },
               [&] { EXPECT_EQ(plan, nullptr); }});
  rill_plan_release(plan);
}

TEST(Progress, ACancelledCompilationWritesNoFile) {
  const ModelPtr model = pulsed();
  const std::string path = ::testing::TempDir() + "rill_progress.rill";
  cancel_each({"compile",
               {RILL_STAGE_COMPILE},
               [&] {
                 std::filesystem::remove(path);
                 return rill_compile(model.get(), nullptr, path.c_str());
               },
               [&] { EXPECT_FALSE(std::filesystem::exists(path)); }});
  std::filesystem::remove(path);
}

TEST(Progress, ACheckIsCancelledAnywhere) {
  const ModelPtr model = loaded();
  const Arrays inputs = read_bundle(kFolder + "io.npz");
  std::vector<rill_view> views;
  for (size_t i = 0; i < rill_model_count(model.get(), RILL_INPUT); ++i) {
    rill_io_info io = {};
    io.size = sizeof(io);
    ASSERT_EQ(rill_model_io(model.get(), RILL_INPUT, i, &io), RILL_OK);
    views.push_back(inputs.at(io.name).view());
  }
  rill_check_report report = {};
  report.size = sizeof(report);
  cancel_each({"check",
               {RILL_STAGE_CHECK},
               [&] {
                 report.modes = 0;
                 return rill_check(model.get(), views.data(), views.size(), nullptr, &report);
               },
               [&] { EXPECT_EQ(report.modes, 0); }});
}

TEST(Progress, AnInspectionIsCancelledAnywhere) {
  const ModelPtr model = bound();
  rill_inspect_report report = {};
  report.size = sizeof(report);
  rill_inspect_opts opts = {};
  opts.size = sizeof(opts);
  opts.seconds = -1;  // proofs take as many runs as there is time for
  cancel_each({"inspect",
               {RILL_STAGE_PULSE, RILL_STAGE_CHECK},
               [&] {
                 report.wires = 0;
                 return rill_inspect(model.get(), "S", "8", &opts, &report);
               },
               [&] { EXPECT_EQ(report.wires, 0); }});
}

TEST(Progress, AnAuditIsCancelledAnywhere) {
  const ModelPtr whole = bound();
  const ModelPtr model = pulsed();
  rill_audit_opts opts = {};
  opts.size = sizeof(opts);
  opts.seconds = 60;
  const int64_t blocks = heap_blocks();
  // How many reports there are depends on the time.
  for (const int64_t at : {0, 1, 2, 3, 5, 8, 13, 21, 34, 55}) {
    Watch watch(at);
    EXPECT_EQ(rill_model_audit(whole.get(), model.get(), &opts, nullptr), RILL_E_CANCELLED);
    EXPECT_EQ(watch.count, at + 1);
    EXPECT_EQ(watch.last.stage, RILL_STAGE_AUDIT);
    EXPECT_FALSE(watch.sinks);
    EXPECT_EQ(heap_blocks(), blocks);
  }
}

TEST(Progress, AFunctionMayItselfLoadAndRemoveItself) {
  struct Nested {
    static int receive(void* user, rill_stage, double) {
      ++*static_cast<int*>(user);
      const ModelPtr other = loaded();
      rill_set_progress(nullptr, nullptr);
      return other ? 1 : 0;
    }
  };
  int count = 0;
  rill_set_progress(Nested::receive, &count);
  ModelPtr model = loaded();
  EXPECT_TRUE(model);
  const int first = count;
  EXPECT_GT(first, 0);
  model = loaded();
  EXPECT_EQ(count, first);
}

TEST(Progress, AScopeOfCppReportsAndCancels) {
  int64_t count = 0;
  {
    const rill::Progress progress([&](rill_stage, double) { return ++count < 3; });
    rill_model* model = nullptr;
    EXPECT_EQ(rill_load(kArchive.c_str(), nullptr, &model), RILL_E_CANCELLED);
    EXPECT_EQ(model, nullptr);
    EXPECT_EQ(std::string(rill_status_name(RILL_E_CANCELLED)), "cancelled");
  }
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(loaded());
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace rill::test
