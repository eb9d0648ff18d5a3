// No step of a stream allocates, including the first step and those of the tail.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/heap_calls.h"
#include "tests/support/models.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

class RealTime : public ::testing::TestWithParam<ModelFolder> {};

TEST(HeapCalls, AreSeen) {
  const int64_t before = heap_calls();
  auto* volatile number = new int(3);
  EXPECT_EQ(heap_calls(), before + 1);
  delete number;
  EXPECT_EQ(heap_calls(), before + 2);
  void* volatile block = std::aligned_alloc(64, 128);
  EXPECT_EQ(heap_calls(), before + 3);
  std::free(block);
  EXPECT_EQ(heap_calls(), before + 4);
}

/// A stream of x [1, 1, S] at a pulse of 4, and the expected refusal of its end.
struct RefusedEnd {
  const char* name;
  const char* assertions;
  const char* declared;  ///< a second input
  const char* statements;
  int64_t pushed;  ///< frames of x
  const char* message;
};
constexpr RefusedEnd kRefusedEnds[] = {
    {"asserted", "extension tract_assert S >= 10;\n", "", "  y = x * 2.0;\n", 3, "is not negative"},
    {"a table that ends", "extension tract_assert S <= 9;\n", "", "  y = x * 2.0;\n", 12,
     "assertions allow"},
    {"apart", "", ", w", "  y = x + w;\n", 3, "end at different times"},
};

TEST(RefusedEnds, AreReportedWithoutTheHeap) {
  for (const RefusedEnd& each : kRefusedEnds) {
    SCOPED_TRACE(each.name);
    const bool two = *each.declared != '\0';
    const std::string declared = " = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n";
    const std::string text =
        "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n" +
        std::string(each.assertions) + "graph network(x" + each.declared + ") -> (y)\n{\n  x" +
        declared + (two ? "  w" + declared : "") + each.statements + "}\n";
    rill_model* raw = nullptr;
    ASSERT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &raw), RILL_OK)
        << rill_last_error();
    const ModelPtr model(raw);
    ASSERT_EQ(rill_model_pulse(raw, "S", "4"), RILL_OK) << rill_last_error();
    const Opened pushed = open_session(raw);
    const Opened stepped = open_session(raw);
    ASSERT_TRUE(pushed.session && stepped.session) << rill_last_error();
    float values[16] = {};
    const int64_t shape[] = {1, 1, each.pushed};
    rill_view view = {sizeof(rill_view), RILL_F32, 3, shape, nullptr, values};
    int64_t taken = 0;
    const rill_status fits = rill_push(pushed.session.get(), 0, &view, &taken);
    const int64_t before = heap_calls();
    const rill_status finished = fits == RILL_OK
                                     ? rill_finish(pushed.session.get())
                                     : rill_push(pushed.session.get(), 0, &view, &taken);
    const int64_t calls = heap_calls() - before;
    EXPECT_EQ(finished, RILL_E_SHAPE);
    EXPECT_NE(std::string(rill_last_error()).find(each.message), std::string::npos)
        << rill_last_error();
    EXPECT_EQ(calls, 0) << "rill_finish";
    rill_status partial = RILL_OK;
    for (int64_t left = each.pushed; left > 4 && partial == RILL_OK; left -= 4) {
      partial = rill_step(stepped.session.get());
    }
    if (two) continue;
    const int64_t earlier = heap_calls();
    partial = rill_step_partial(stepped.session.get(), 3);
    EXPECT_EQ(heap_calls() - earlier, 0) << "rill_step_partial";
    EXPECT_EQ(partial, RILL_E_SHAPE) << rill_last_error();
  }
}

TEST_P(RealTime, StepsResetsAndFlushesLeaveTheHeapAlone) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  int64_t calls[12];
  size_t steps = 0;
  rill_status failed = RILL_OK;
  const auto count = [&](auto&& step) {
    const int64_t before = heap_calls();
    const rill_status status = step();
    calls[steps++] = heap_calls() - before;
    if (status != RILL_OK) failed = status;
  };
  int64_t first = 0;
  int64_t frames = 0;
  int64_t left = 0;
  for (int i = 0; i < 5; ++i) count([&] { return rill_step(session); });
  count([&] { return rill_valid_frames(session, 0, &first, &frames); });
  count([&] { return rill_step_partial(session, part_of_pulse(model)); });
  count([&] { return rill_flush(session, &left); });
  count([&] { return rill_session_reset(session); });
  count([&] { return rill_step(session); });
  count([&] { return rill_bind_input(session, 0, nullptr); });
  EXPECT_EQ(failed, RILL_OK) << rill_last_error();
  for (size_t i = 0; i < steps; ++i) EXPECT_EQ(calls[i], 0) << "call " << i;
}

TEST_P(RealTime, PushesPullsAndSavesLeaveTheHeapAlone) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  rill_session* session = stream.session.get();
  rill_io_info in_io = {};
  rill_io_info out_io = {};
  in_io.size = out_io.size = sizeof(in_io);
  ASSERT_EQ(rill_plan_io(stream.plan.get(), RILL_INPUT, 0, &in_io), RILL_OK);
  ASSERT_EQ(rill_plan_io(stream.plan.get(), RILL_OUTPUT, 0, &out_io), RILL_OK);
  std::vector<int64_t> in_shape(in_io.shape, in_io.shape + in_io.rank);
  std::vector<int64_t> out_shape(out_io.shape, out_io.shape + out_io.rank);
  const int64_t piece = model.unit == 1 ? 5 : model.unit;
  in_shape[static_cast<size_t>(in_io.stream_axis)] = piece;
  out_shape[static_cast<size_t>(out_io.stream_axis)] = 3;
  const Array input = Array::noise(in_shape, 1);
  const Array output = Array::zeros(out_io.dtype, out_shape);
  const rill_view in = input.view();
  const rill_view out = output.view();
  size_t size = 0;
  ASSERT_EQ(rill_state_size(session, &size), RILL_OK);
  std::vector<uint64_t> state(size / 8 + 1);
  rill_status failed = RILL_OK;
  const auto check = [&](rill_status status) { failed = status == RILL_OK ? failed : status; };
  int64_t given = 0;
  int64_t all = 0;
  const int64_t before = heap_calls();
  for (int round = 0; round < 2; ++round) {
    for (int64_t frames = 0; frames < 4 * model.pulse;) {
      int64_t taken = 0;
      check(rill_push(session, 0, &in, &taken));
      frames += taken;
      check(rill_pull(session, 0, &out, &given));
      all += given;
      if (taken < piece && given == 0) break;
      while (taken < piece && given > 0) check(rill_pull(session, 0, &out, &given));
    }
    size_t written = 0;
    check(rill_state_save(session, state.data(), size, &written));
    if (round == 1) check(rill_finish(session));
    for (given = round; given > 0; all += given) check(rill_pull(session, 0, &out, &given));
    check(rill_session_reset(session));
  }
  const rill_session_step together = {sizeof(rill_session_step), RILL_STEP_FULL, session, 0};
  check(rill_step_together(&together, 1));
  EXPECT_EQ(heap_calls(), before);
  EXPECT_EQ(failed, RILL_OK) << rill_last_error();
  EXPECT_GT(all, 0);
}

TEST_P(RealTime, ARefusedStepLeavesTheHeapAlone) {
  const ModelFolder& model = GetParam();
  const Arrays bundle = read_bundle(model.bundles[0]);
  const Opened stream = open_stream(model.archive, bundle, model.symbol, model.pulse);
  ASSERT_TRUE(stream.session) << rill_last_error();
  const int64_t before = heap_calls();
  const rill_status status = rill_step_partial(stream.session.get(), model.pulse + 1);
  EXPECT_EQ(heap_calls(), before);
  EXPECT_EQ(status, RILL_E_ARG);
}

TEST(SharedSteps, LeaveTheHeapAlone) {
  const Arrays inputs = {{"mel", Array::noise({1, 900, 40}, 3)}};
  const ModelPtr model =
      load_bound(RILL_SOURCE_DIR "/tests/models/kws_gru/model.nnef.tgz", inputs, "");
  ASSERT_TRUE(model) << rill_last_error();
  const Opened whole = open_session(model.get());
  ASSERT_TRUE(whole.session) << rill_last_error();
  // The counter is per thread, so run all parts on this thread.
  int shared = 0;
  rill_pool pool = {};
  pool.size = sizeof(pool);
  pool.threads = 3;
  pool.context = &shared;
  pool.run = [](void* context, rill_task task, void* argument, uint32_t parts) {
    ++*static_cast<int*>(context);
    for (uint32_t part = 0; part < parts; ++part) task(argument, part);
  };
  rill_threads* here = nullptr;
  rill_threads* own = nullptr;
  ASSERT_EQ(rill_threads_wrap(&pool, &here), RILL_OK) << rill_last_error();
  ASSERT_EQ(rill_threads_new(3, &own), RILL_OK) << rill_last_error();
  for (rill_threads* threads : {here, own}) {
    ASSERT_EQ(rill_session_set_threads(whole.session.get(), threads), RILL_OK);
    const int64_t before = heap_calls();
    rill_status status = RILL_OK;
    for (int i = 0; i < 5 && status == RILL_OK; ++i) status = rill_step(whole.session.get());
    EXPECT_EQ(heap_calls(), before);
    EXPECT_EQ(status, RILL_OK) << rill_last_error();
    rill_threads_free(threads);
  }
  EXPECT_GT(shared, 0);
}

INSTANTIATE_TEST_SUITE_P(, RealTime, ::testing::ValuesIn(streaming_models()), ModelName());

}  // namespace
}  // namespace rill::test
