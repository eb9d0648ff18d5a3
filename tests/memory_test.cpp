// If the system has no memory left, a call that allocates returns an error. It leaves no partial
// result and no leak, and succeeds once there is memory again.

#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <filesystem>
#include <functional>

#include "tests/support/heap_calls.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"
#include "tests/support/tally.h"

namespace rill::test {
namespace {

/// Make every call of an app before its first step. Return the first failure.
rill_status start(const ModelFolder& folder) {
  rill_model* model = nullptr;
  rill_status status = rill_load(folder.archive.c_str(), nullptr, &model);
  const ModelPtr keep_model(model);
  const char* symbol = nullptr;
  for (size_t i = 0;
       status == RILL_OK && rill_model_symbol(model, i, &symbol) == RILL_OK && symbol;) {
    if (symbol == folder.symbol) {
      ++i;
    } else {
      status = rill_model_set_symbol(model, symbol, "1");
    }
  }
  if (status == RILL_OK && !folder.symbol.empty()) {
    status = rill_model_pulse(model, folder.symbol.c_str(), std::to_string(folder.pulse).c_str());
  }
  rill_plan* plan = nullptr;
  if (status == RILL_OK) status = rill_prepare(model, nullptr, &plan);
  const PlanPtr keep_plan(plan);
  rill_session* session = nullptr;
  if (status == RILL_OK) status = rill_session_new(plan, &session);
  const SessionPtr keep_session(session);
  rill_session* copy = nullptr;
  if (status == RILL_OK) status = rill_session_clone(session, &copy);
  const SessionPtr keep_copy(copy);
  if (status == RILL_OK) status = rill_step(copy);
  return status;
}

/// Return the next request to refuse: each of the first ones, then a falling share of the others.
int64_t next(int64_t n) { return n + 1 + (n < 200 ? 0 : n / 16); }

/// Make a call repeatedly, each time with another refused request, until every request has been
/// refused.
void refuse_each(const std::function<rill_status()>& call, bool all, Tally* tally) {
  ASSERT_EQ(call(), RILL_OK) << rill_last_error();
  const int64_t blocks = heap_blocks();
  const int64_t requests = heap_requests();
  ASSERT_EQ(call(), RILL_OK) << rill_last_error();
  const int64_t most = heap_requests() - requests;
  ASSERT_EQ(heap_blocks(), blocks);
  int refusals = 0;
  for (int64_t n = 0; n < most; n = next(n)) {
    fail_heap_after(n, all);
    const rill_status status = call();
    fail_heap_after(-1);
    tally->add(status);
    ASSERT_EQ(heap_blocks(), blocks) << "request " << n << ": " << rill_last_error();
    if (status == RILL_OK) continue;  // a smaller block sufficed
    ASSERT_EQ(status, RILL_E_NOMEM) << "request " << n << ": " << rill_last_error();
    ++refusals;
  }
  EXPECT_GT(refusals, 100);
  EXPECT_EQ(call(), RILL_OK) << rill_last_error();
}

class Memory : public ::testing::TestWithParam<ModelFolder> {
 protected:
  void SetUp() override {
    if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers replace the heap";
  }
};

TEST_P(Memory, EachRequestMayBeRefusedAtTheStart) {
  Tally tally("memory is refused from load to the first step");
  for (const bool all : {false, true}) refuse_each([] { return start(GetParam()); }, all, &tally);
}

TEST_P(Memory, EachRequestMayBeRefusedWhileAModelIsWritten) {
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_load(GetParam().archive.c_str(), nullptr, &raw), RILL_OK) << rill_last_error();
  const ModelPtr model(raw);
  const std::string path = ::testing::TempDir() + "rill_memory_" + GetParam().name + ".nnef.tgz";
  Tally tally("memory is refused while a model is written");
  for (const bool all : {false, true}) {
    refuse_each([&] { return rill_save(model.get(), path.c_str()); }, all, &tally);
  }
  std::filesystem::remove(path);
}

TEST_P(Memory, ASessionReportsItsBytes) {
  const ModelFolder& model = GetParam();
  if (model.symbol.empty()) GTEST_SKIP() << "no stream";
#if defined(__GLIBC__)
  // Above the threshold, malloc would round blocks up to pages.
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 25), 1);
#endif
  const Opened stream =
      open_stream(model.archive, read_bundle(model.bundles[0]), model.symbol, model.pulse);
  ASSERT_TRUE(stream.plan) << rill_last_error();
  for (const int64_t max_push : {0, 1000}) {
    rill_session_opts opts = {};
    opts.size = sizeof(opts);
    opts.max_push = max_push;
    const int64_t bytes = heap_bytes();
    const int64_t blocks = heap_blocks();
    rill_session* session = nullptr;
    ASSERT_EQ(rill_session_open(stream.plan.get(), &opts, &session), RILL_OK);
    const SessionPtr owned(session);
    const int64_t taken = heap_bytes() - bytes;
    const int64_t reported = rill_session_bytes(session);
    EXPECT_LE(reported, taken);
    EXPECT_GE(reported, taken - 64 * (heap_blocks() - blocks)) << "the heap rounds each block up";
  }
}

TEST_P(Memory, PlansOfTwoPulsesHoldWeightsOnce) {
  const ModelFolder& folder = GetParam();
  if (folder.symbol.empty()) GTEST_SKIP() << "no stream";
  const ModelPtr whole = load_bound(folder.archive, read_bundle(folder.bundles[0]), folder.symbol);
  ASSERT_TRUE(whole) << rill_last_error();
  PlanPtr plans[2];
  int64_t taken[2] = {};
  for (int i = 0; i < 2; ++i) {
    rill_model* model = nullptr;
    ASSERT_EQ(rill_model_clone(whole.get(), &model), RILL_OK);
    const ModelPtr owned(model);
    const std::string pulse = std::to_string((i + 1) * folder.pulse);
    ASSERT_EQ(rill_model_pulse(model, folder.symbol.c_str(), pulse.c_str()), RILL_OK)
        << rill_last_error();
    const int64_t bytes = heap_bytes();
    rill_plan* plan = nullptr;
    ASSERT_EQ(rill_prepare(model, nullptr, &plan), RILL_OK) << rill_last_error();
    plans[i].reset(plan);
    taken[i] = heap_bytes() - bytes;
  }
  rill_memory_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(rill_plan_memory(plans[0].get(), &info), RILL_OK) << rill_last_error();
  // `weight_bytes` excludes steps and names; large weights are not on the heap.
  const bool is_most = info.weight_bytes > taken[0] / 2 && taken[0] > 1 << 18;
  if (!is_most) GTEST_SKIP() << "few weights on the heap";
  EXPECT_LT(taken[1], taken[0] - info.weight_bytes / 2);
}

/// The state of a session as bytes.
std::vector<uint64_t> saved(const rill_session* session, size_t* used) {
  size_t size = 0;
  EXPECT_EQ(rill_state_size(session, &size), RILL_OK) << rill_last_error();
  std::vector<uint64_t> bytes(size / 8 + 1);
  EXPECT_EQ(rill_state_save(session, bytes.data(), size, used), RILL_OK) << rill_last_error();
  bytes.resize(*used / 8);
  return bytes;
}

TEST_P(Memory, AStreamIsUnchangedAfterAFailedStateOrCopy) {
  const ModelFolder& model = GetParam();
  if (model.symbol.empty()) GTEST_SKIP() << "no stream";
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_io_info io = {};
  io.size = sizeof(io);
  size_t input = 0;
  while (rill_plan_io(stream.plan.get(), RILL_INPUT, input, &io) == RILL_OK && io.stream_axis < 0) {
    ++input;
  }
  const auto push = [&](int64_t frames) {
    const Array part = bundle.at(io.name).part(io.stream_axis, 0, frames);
    const rill_view view = part.view();
    int64_t taken = 0;
    ASSERT_EQ(rill_push(stream.session.get(), input, &view, &taken), RILL_OK) << rill_last_error();
  };
  push(1);
  size_t used = 0;
  const auto other = saved(stream.session.get(), &used);
  push(1);
  size_t own_used = 0;
  const auto own = saved(stream.session.get(), &own_used);
  for (int64_t n = 0;; ++n) {
    rill_session* copy = nullptr;
    fail_heap_after(n, true);
    const rill_status cloned = rill_session_clone(stream.session.get(), &copy);
    fail_heap_after(n, true);
    const rill_status loaded = rill_state_load(stream.session.get(), other.data(), used);
    fail_heap_after(-1);
    rill_session_free(copy);
    ASSERT_TRUE(cloned == RILL_OK || cloned == RILL_E_NOMEM) << n;
    if (loaded == RILL_OK && cloned == RILL_OK) break;
    if (loaded == RILL_OK) {
      ASSERT_EQ(rill_state_load(stream.session.get(), own.data(), own_used), RILL_OK);
      continue;
    }
    ASSERT_EQ(loaded, RILL_E_NOMEM) << n;
    size_t again_used = 0;
    ASSERT_EQ(saved(stream.session.get(), &again_used), own) << n;
  }
}

TEST_P(Memory, AModelIsUnchangedAfterAFailure) {
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_load(GetParam().archive.c_str(), nullptr, &raw), RILL_OK) << rill_last_error();
  const ModelPtr model(raw);
  const char* symbol = nullptr;
  ASSERT_EQ(rill_model_symbol(raw, 0, &symbol), RILL_OK);
  if (!symbol) GTEST_SKIP() << "no symbols";
  const std::string name = symbol;
  rill_io_info info = {};
  info.size = sizeof(info);
  ASSERT_EQ(rill_model_io(raw, RILL_INPUT, 0, &info), RILL_OK);
  const std::string before = info.text;
  // These models contain frames learned for one batch, so only B = 1 fits.
  const char* value = name == "B" ? "1" : "64";
  Tally tally("memory is refused while a symbol is set");
  for (int64_t n = 0;; n = next(n)) {
    fail_heap_after(n, true);
    const rill_status status = rill_model_set_symbol(raw, name.c_str(), value);
    fail_heap_after(-1);
    tally.add(status);
    if (status == RILL_OK) break;
    ASSERT_EQ(status, RILL_E_NOMEM) << n << ": " << rill_last_error();
    ASSERT_EQ(rill_model_io(raw, RILL_INPUT, 0, &info), RILL_OK);
    ASSERT_EQ(info.text, before) << n;
  }
}

std::vector<ModelFolder> small_models() {
  std::vector<ModelFolder> out;
  for (const ModelFolder& model : all_models()) {
    const bool streams = !model.symbol.empty() && !model.bidirectional;
    const bool simple = model.name == "linear_regression" || model.name == "q8_cnn1d";
    if (streams || simple) out.push_back(model);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Archives, Memory, ::testing::ValuesIn(small_models()), ModelName());

}  // namespace
}  // namespace rill::test
