// Every function of rill.h, compile.h and verify.h, with each of its allocations refused in turn.
// The function reports the error, leaks nothing, and succeeds once there is memory again. A
// declared function without a row in the table fails the test.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rill/compile.h"
#include "rill/verify.h"
#include "tests/refusals_world.h"
#include "tests/support/heap_calls.h"

namespace rill::test {
namespace {

struct Row {
  const char* function;
  const char* how;       ///< a remark on this call, or ""
  rill_status expected;  ///< the status if no memory is refused
  std::function<rill_status(World&)> call;
};

/// Adapts functions that return no status.
template <class Call>
std::function<rill_status(World&)> plain(Call call) {
  return [call](World& world) {
    world.refused([&] { return call(world), 0; });
    return RILL_OK;
  };
}

template <class Made, class Free>
rill_status made(World& world, Free free, const std::function<rill_status(Made**)>& call) {
  Made* out = nullptr;
  const rill_status status = world.refused([&] { return call(&out); });
  EXPECT_EQ(status == RILL_OK, out != nullptr);
  if (out) free(out);
  return status;
}

template <class Info>
Info info() {
  Info out = {};
  out.size = sizeof(out);
  return out;
}

rill_status on_clone(World& world, const std::function<rill_status(rill_model*)>& call) {
  rill_model* copy = nullptr;
  EXPECT_EQ(rill_model_clone(world.model, &copy), RILL_OK);
  const ModelPtr keep(copy);
  return world.refused([&] { return call(copy); });
}

/// Make a call on a model of two inputs of equal shapes.
rill_status on_state(World& world, const std::function<rill_status(rill_model*)>& call) {
  constexpr char kGraph[] =
      "version 1.0;\ngraph g(x, state) -> (y, next) {\n"
      "  x = external<scalar>(shape = [1, 4]);\n  state = external<scalar>(shape = [1, 4]);\n"
      "  next = x + state;\n  y = 2.0 * next;\n}\n";
  rill_model* raw = nullptr;
  EXPECT_EQ(rill_load_memory(kGraph, sizeof kGraph - 1, nullptr, &raw), RILL_OK)
      << rill_last_error();
  const ModelPtr keep(raw);
  return world.refused([&] { return call(raw); });
}

void quiet(void*, rill_log_level, const char*) {}
void alone(void*, rill_task task, void* argument, uint32_t parts) {
  while (parts-- > 0) task(argument, parts);
}

std::vector<Row> library_rows() {
  return {
      {"rill_abi", "", RILL_OK, plain([](World&) { rill_abi(); })},
      {"rill_version", "", RILL_OK, plain([](World&) { rill_version(); })},
      {"rill_build_info", "", RILL_OK, plain([](World&) { rill_build_info(); })},
      {"rill_status_name", "", RILL_OK, plain([](World&) { rill_status_name(RILL_OK); })},
      {"rill_dtype_size", "", RILL_OK, plain([](World&) { rill_dtype_size(RILL_F32); })},
      {"rill_dtype_name", "", RILL_OK, plain([](World&) { rill_dtype_name(RILL_F32); })},
      {"rill_last_error", "", RILL_OK, plain([](World&) { rill_last_error(); })},
      {"rill_last_error_info", "", RILL_OK, plain([](World&) {
         auto out = info<rill_error_info>();
         rill_last_error_info(&out);
       })},
      {"rill_set_log", "", RILL_OK, plain([](World&) {
         rill_set_log(quiet, nullptr, RILL_LOG_WARN);
         rill_set_log(nullptr, nullptr, RILL_LOG_WARN);
       })},
      {"rill_set_cpu_limit", "", RILL_OK,
       [](World& w) { return w.refused([] { return rill_set_cpu_limit(nullptr); }); }},
      {"rill_set_cpu_limit", "of an unknown tier", RILL_E_ARG,
       [](World& w) { return w.refused([] { return rill_set_cpu_limit("mmx"); }); }},
      {"rill_cpu", "", RILL_OK, plain([](World&) { rill_cpu(); })},
      {"rill_threads_new", "", RILL_OK,
       [](World& w) {
         return made<rill_threads>(w, rill_threads_free,
                                   [](rill_threads** out) { return rill_threads_new(3, out); });
       }},
      {"rill_threads_wrap", "", RILL_OK,
       [](World& w) {
         return made<rill_threads>(w, rill_threads_free, [](rill_threads** out) {
           auto pool = info<rill_pool>();
           pool.threads = 2;
           pool.run = alone;
           return rill_threads_wrap(&pool, out);
         });
       }},
      {"rill_threads_free", "", RILL_OK, plain([](World&) { rill_threads_free(nullptr); })},
  };
}

std::vector<Row> model_rows() {
  return {
      {"rill_load", "", RILL_OK,
       [](World& w) {
         return made<rill_model>(w, rill_model_free, [](rill_model** out) {
           return rill_load(kModel, nullptr, out);
         });
       }},
      {"rill_load", "of a file that does not exist", RILL_E_IO,
       [](World& w) {
         return made<rill_model>(w, rill_model_free, [](rill_model** out) {
           return rill_load("/nowhere/model.nnef.tgz", nullptr, out);
         });
       }},
      {"rill_load_memory", "", RILL_OK,
       [](World& w) {
         return made<rill_model>(w, rill_model_free, [&](rill_model** out) {
           return rill_load_memory(w.archive.data(), w.archive.size(), nullptr, out);
         });
       }},
      {"rill_save", "", RILL_OK,
       [](World& w) { return w.refused([&] { return rill_save(w.model, w.path.c_str()); }); }},
      {"rill_model_clone", "", RILL_OK,
       [](World& w) {
         return made<rill_model>(w, rill_model_free, [&](rill_model** out) {
           return rill_model_clone(w.model, out);
         });
       }},
      {"rill_model_free", "", RILL_OK, plain([](World&) { rill_model_free(nullptr); })},
      {"rill_model_count", "", RILL_OK,
       plain([](World& w) { rill_model_count(w.model, RILL_INPUT); })},
      {"rill_model_io", "", RILL_OK,
       [](World& w) {
         auto out = info<rill_io_info>();
         return w.refused([&] { return rill_model_io(w.model, RILL_INPUT, 0, &out); });
       }},
      {"rill_model_find", "of an unknown name", RILL_E_ARG,
       [](World& w) {
         size_t index = 0;
         return w.refused([&] {
           return rill_model_find(w.model, RILL_INPUT, "a name that no input of it has", &index);
         });
       }},
      {"rill_model_symbol", "", RILL_OK,
       [](World& w) {
         const char* name = nullptr;
         return w.refused([&] { return rill_model_symbol(w.model, 0, &name); });
       }},
      {"rill_model_set_symbol", "", RILL_OK,
       [](World& w) {
         return on_clone(w, [](rill_model* m) { return rill_model_set_symbol(m, "S", "64"); });
       }},
      {"rill_model_set_symbol", "of an unknown one", RILL_E_SYMBOL,
       [](World& w) {
         return on_clone(w, [](rill_model* m) { return rill_model_set_symbol(m, "Q", "64"); });
       }},
      {"rill_model_feedback", "", RILL_OK,
       [](World& w) {
         return on_state(w, [](rill_model* m) { return rill_model_feedback(m, "next", "state"); });
       }},
      {"rill_model_context", "", RILL_OK,
       [](World& w) {
         return on_state(w, [](rill_model* m) { return rill_model_context(m, "x", 3); });
       }},
      {"rill_model_frames", "", RILL_OK,
       [](World& w) {
         return on_state(w, [](rill_model* m) {
           const char* const names[] = {"x"};
           const int64_t axes[] = {1};
           return rill_model_frames(m, names, axes, 1);
         });
       }},
      {"rill_model_set_shapes", "", RILL_OK,
       [](World& w) {
         auto view = info<rill_view>();
         return on_clone(w, [&](rill_model* m) { return rill_model_set_shapes(m, &view, 1); });
       }},
      {"rill_model_operator", "", RILL_OK,
       [](World& w) {
         const char* name = nullptr;
         return w.refused([&] { return rill_model_operator(w.model, 0, &name, nullptr); });
       }},
      {"rill_model_pulse", "", RILL_OK,
       [](World& w) {
         return on_clone(w, [](rill_model* m) { return rill_model_pulse(m, "S", kPulse); });
       }},
      {"rill_model_window", "", RILL_OK,
       [](World& w) {
         return on_clone(w, [](rill_model* m) { return rill_model_window(m, "S", 8, 8, 8); });
       }},
      {"rill_model_audit", "of a model that takes no pulses", RILL_E_PULSE,
       [](World& w) {
         return w.refused([&] { return rill_model_audit(w.model, w.model, nullptr, nullptr); });
       }},
      {"rill_check", "", RILL_OK,
       [](World& w) {
         auto opts = info<rill_check_opts>();
         opts.pulses = kPulse;
         return w.refused([&] { return rill_check(w.model, &w.few, 1, &opts, nullptr); });
       }},
      {"rill_inspect", "", RILL_OK,
       [](World& w) {
         auto opts = info<rill_inspect_opts>();
         opts.seconds = -1;
         return w.refused([&] { return rill_inspect(w.model, "S", kPulse, &opts, nullptr); });
       }},
      {"rill_compile", "", RILL_OK,
       [](World& w) {
         auto opts = info<rill_compile_opts>();
         opts.weights = "q8";
         const std::string path = w.plan_path + ".other";
         const rill_status status =
             w.refused([&] { return rill_compile(w.pulsed, &opts, path.c_str()); });
         std::filesystem::remove(path);
         return status;
       }},
      {"rill_model_properties", "", RILL_OK,
       plain([](World& w) { rill_model_properties(w.pulsed); })},
      {"rill_model_property", "", RILL_OK,
       [](World& w) {
         auto out = info<rill_property>();
         return w.refused([&] { return rill_model_property(w.pulsed, 0, &out); });
       }},
      {"rill_model_property_find", "of an unknown key", RILL_E_ARG,
       [](World& w) {
         auto out = info<rill_property>();
         return w.refused([&] { return rill_model_property_find(w.pulsed, "no such key", &out); });
       }},
      {"rill_prepare", "", RILL_OK,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_prepare(w.pulsed, nullptr, out);
         });
       }},
      {"rill_plan_open", "", RILL_OK,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_plan_open(w.plan_path.c_str(), out);
         });
       }},
      {"rill_plan_map", "", RILL_OK,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_plan_map(w.plan_file.bytes.data(), w.plan_file.bytes.size(), out);
         });
       }},
      {"rill_plan_open_opts", "", RILL_OK,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_plan_open_opts(w.plan_path.c_str(), nullptr, out);
         });
       }},
      {"rill_plan_map_opts", "within a limit", RILL_E_NOMEM,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           auto opts = info<rill_open_opts>();
           opts.max_session_bytes = 1;
           return rill_plan_map_opts(w.plan_file.bytes.data(), w.plan_file.bytes.size(), &opts,
                                     out);
         });
       }},
      {"rill_plan_map", "of what is none", RILL_E_PARSE,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_plan_map(w.archive.data(), w.archive.size(), out);
         });
       }},
      {"rill_prepare", "with a symbol left", RILL_E_SYMBOL,
       [](World& w) {
         return made<rill_plan>(w, rill_plan_release, [&](rill_plan** out) {
           return rill_prepare(w.model, nullptr, out);
         });
       }},
  };
}

std::vector<Row> plan_rows() {
  return {
      {"rill_plan_retain", "", RILL_OK, plain([](World& w) {
         rill_plan_retain(w.plan);
         rill_plan_release(w.plan);
       })},
      {"rill_plan_release", "", RILL_OK, plain([](World&) { rill_plan_release(nullptr); })},
      {"rill_plan_count", "", RILL_OK,
       plain([](World& w) { rill_plan_count(w.plan, RILL_INPUT); })},
      {"rill_plan_io", "", RILL_OK,
       [](World& w) {
         auto out = info<rill_io_info>();
         return w.refused([&] { return rill_plan_io(w.plan, RILL_INPUT, 0, &out); });
       }},
      {"rill_plan_find", "of an unknown name", RILL_E_ARG,
       [](World& w) {
         size_t index = 0;
         return w.refused([&] {
           return rill_plan_find(w.plan, RILL_OUTPUT, "a name that no output of it has", &index);
         });
       }},
      {"rill_plan_stream", "", RILL_OK,
       [](World& w) {
         auto out = info<rill_stream_info>();
         return w.refused([&] { return rill_plan_stream(w.plan, 0, &out); });
       }},
      {"rill_plan_node", "", RILL_OK,
       [](World& w) {
         const char* name = nullptr;
         const char* op = nullptr;
         return w.refused([&] { return rill_plan_node(w.plan, 0, &name, &op); });
       }},
      {"rill_plan_properties", "", RILL_OK, plain([](World& w) { rill_plan_properties(w.plan); })},
      {"rill_plan_property", "past the last one", RILL_E_ARG,
       [](World& w) {
         auto out = info<rill_property>();
         return w.refused([&] { return rill_plan_property(w.plan, SIZE_MAX, &out); });
       }},
      {"rill_plan_property_find", "of an unknown key", RILL_E_ARG,
       [](World& w) {
         auto out = info<rill_property>();
         return w.refused(
             [&] { return rill_plan_property_find(w.plan, "a key that no model has", &out); });
       }},
      {"rill_plan_memory", "", RILL_OK,
       [](World& w) {
         auto out = info<rill_memory_info>();
         return w.refused([&] { return rill_plan_memory(w.plan, &out); });
       }},
  };
}

std::vector<Row> session_rows() {
  const auto clone = [](World& w, const rill_session* of) {
    return made<rill_session>(w, rill_session_free, [&](rill_session** out) {
      return rill_session_clone(of, out);
    });
  };
  return {
      {"rill_session_new", "", RILL_OK,
       [](World& w) {
         return made<rill_session>(w, rill_session_free, [&](rill_session** out) {
           return rill_session_new(w.plan, out);
         });
       }},
      {"rill_session_open", "", RILL_OK,
       [](World& w) {
         auto options = info<rill_session_opts>();
         options.max_push = 100;
         return made<rill_session>(w, rill_session_free, [&](rill_session** out) {
           return rill_session_open(w.plan, &options, out);
         });
       }},
      {"rill_session_need", "", RILL_OK,
       [](World& w) {
         size_t bytes = 0;
         return w.refused([&] { return rill_session_need(w.plan, nullptr, &bytes); });
       }},
      {"rill_session_place", "", RILL_OK,
       [](World& w) {
         size_t bytes = 0;
         EXPECT_EQ(rill_session_need(w.plan, nullptr, &bytes), RILL_OK);
         std::vector<std::byte> block(bytes + 64);
         size_t available = block.size();
         void* memory = block.data();
         std::align(64, bytes, memory, available);
         return made<rill_session>(w, rill_session_free, [&](rill_session** out) {
           return rill_session_place(w.plan, nullptr, memory, bytes, out);
         });
       }},
      {"rill_session_clone", "", RILL_OK,
       [clone](World& w) { return clone(w, w.pushed().get()); }},
      {"rill_session_clone", "with frames of a loaded state", RILL_OK,
       [clone](World& w) { return clone(w, w.loaded().get()); }},
      {"rill_session_free", "", RILL_OK, plain([](World&) { rill_session_free(nullptr); })},
      {"rill_session_reset", "", RILL_OK,
       [](World& w) { return w.refused([&] { return rill_session_reset(w.session); }); }},
      {"rill_session_bytes", "", RILL_OK, plain([](World& w) { rill_session_bytes(w.session); })},
      {"rill_bind_input", "", RILL_OK,
       [](World& w) { return w.refused([&] { return rill_bind_input(w.session, 0, nullptr); }); }},
      {"rill_bind_output", "", RILL_OK,
       [](World& w) { return w.refused([&] { return rill_bind_output(w.session, 0, nullptr); }); }},
      {"rill_input_buffer", "", RILL_OK,
       [](World& w) {
         auto view = info<rill_view>();
         return w.refused([&] { return rill_input_buffer(w.session, 0, &view); });
       }},
      {"rill_output_buffer", "", RILL_OK,
       [](World& w) {
         auto view = info<rill_view>();
         return w.refused([&] { return rill_output_buffer(w.session, 0, &view); });
       }},
      {"rill_session_set_threads", "", RILL_OK,
       [](World& w) {
         return w.refused([&] { return rill_session_set_threads(w.session, w.threads); });
       }},
      {"rill_state_size", "", RILL_OK,
       [](World& w) {
         size_t size = 0;
         return w.refused([&] { return rill_state_size(w.session, &size); });
       }},
      {"rill_state_save", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.pushed();
         size_t size = 0;
         EXPECT_EQ(rill_state_size(session.get(), &size), RILL_OK);
         std::vector<uint64_t> bytes(size / 8 + 1);
         return w.refused(
             [&] { return rill_state_save(session.get(), bytes.data(), size, &size); });
       }},
      {"rill_state_load", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         return w.refused([&] {
           return rill_state_load(session.get(), w.state.data(), w.state.size() * 8);
         });
       }},
      {"rill_state_load", "of damaged bytes", RILL_E_PARSE,
       [](World& w) {
         const SessionPtr session = w.new_session();
         return w.refused([&] {
           return rill_state_load(session.get(), w.state.data(), w.state.size() * 8 - 8);
         });
       }},
  };
}

std::vector<Row> step_rows() {
  return {
      {"rill_step", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         return w.refused([&] { return rill_step(session.get()); });
       }},
      {"rill_step_timed", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         std::vector<int64_t> nanoseconds;
         const char* name = "";
         const char* op = nullptr;
         for (size_t i = 0; rill_plan_node(w.plan, i, &name, &op) == RILL_OK && name; ++i) {
           nanoseconds.push_back(0);
         }
         return w.refused([&] {
           return rill_step_timed(session.get(), nanoseconds.data(), nanoseconds.size());
         });
       }},
      {"rill_step_partial", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         return w.refused([&] { return rill_step_partial(session.get(), World::kFrames); });
       }},
      {"rill_flush", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         EXPECT_EQ(rill_step_partial(session.get(), World::kFrames), RILL_OK);
         return w.refused([&] { return rill_flush(session.get(), nullptr); });
       }},
      {"rill_valid_frames", "", RILL_OK,
       [](World& w) {
         int64_t first = 0;
         int64_t count = 0;
         return w.refused([&] { return rill_valid_frames(w.session, 0, &first, &count); });
       }},
      {"rill_position", "", RILL_OK,
       [](World& w) {
         return w.refused([&] { return rill_position(w.session, 0, nullptr, nullptr); });
       }},
      {"rill_step_together", "", RILL_OK,
       [](World& w) {
         const SessionPtr a = w.new_session();
         const SessionPtr b = w.new_session();
         const rill_session_step together[] = {
             {sizeof(rill_session_step), RILL_STEP_FULL, a.get(), 0},
             {sizeof(rill_session_step), RILL_STEP_FULL, b.get(), 0}};
         return w.refused([&] { return rill_step_together(together, 2); });
       }},
      {"rill_push", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.new_session();
         int64_t taken = 0;
         return w.refused([&] { return rill_push(session.get(), 0, &w.few, &taken); });
       }},
      {"rill_pull", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.pushed();
         int64_t given = 0;
         return w.refused([&] { return rill_pull(session.get(), 0, &w.output, &given); });
       }},
      {"rill_finish", "", RILL_OK,
       [](World& w) {
         const SessionPtr session = w.pushed();
         return w.refused([&] { return rill_finish(session.get()); });
       }},
      {"rill_run", "of a plan that streams", RILL_E_STATE,
       [](World& w) {
         return w.refused([&] { return rill_run(w.session, &w.input, 1, &w.output, 1); });
       }},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> out;
  for (const auto& rows :
       {library_rows(), model_rows(), plan_rows(), session_rows(), step_rows()}) {
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

std::string headers() {
  std::stringstream text;
  for (const char* name : {"rill.h", "compile.h", "verify.h"}) {
    std::ifstream in(std::string(RILL_SOURCE_DIR "/api/include/rill/") + name);
    text << in.rdbuf();
  }
  return text.str();
}

TEST(Refusals, TheTableHasEveryFunctionOfTheHeaders) {
  std::set<std::string> declared;
  const std::string text = headers();
  const std::regex function("\nRILL_API [^;(]*?(rill_[a-z_]+)\\(");
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    declared.insert((*it)[1]);
  }
  EXPECT_GT(declared.size(), 40U);
  std::set<std::string> tested;
  for (const Row& row : all_rows()) tested.insert(row.function);
  EXPECT_EQ(tested, declared);
}

class Refusals : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers replace the heap";
  }
};

/// Return the next request to refuse: each of the first ones, then a falling share of the others.
int64_t next(int64_t n) { return n + 1 + (n < 100 ? 0 : n / 8); }

TEST_P(Refusals, EachRequestMayBeRefused) {
  const Row& row = GetParam();
  World world;
  ASSERT_EQ(row.call(world), row.expected) << rill_last_error();
  const int64_t blocks = heap_blocks();
  world.requests = 0;
  ASSERT_EQ(row.call(world), row.expected) << rill_last_error();
  const int64_t most = world.requests;
  ASSERT_EQ(heap_blocks(), blocks);
  for (const bool all : {false, true}) {
    world.refuse_all = all;
    for (int64_t n = 0; n < most; n = next(n)) {
      world.refuse_after = n;
      const rill_status status = row.call(world);
      ASSERT_EQ(heap_blocks(), blocks) << "request " << n << ": " << rill_last_error();
      // A smaller block may suffice, and an error may come without its message.
      if (status != row.expected) {
        ASSERT_EQ(status, RILL_E_NOMEM) << "request " << n << ": " << rill_last_error();
      }
    }
  }
  world.refuse_after = -1;
  EXPECT_EQ(row.call(world), row.expected) << rill_last_error();
}

struct RowName {
  std::string operator()(const ::testing::TestParamInfo<Row>& info) const {
    std::string name = std::string(info.param.function) + "_" + info.param.how;
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
  }
};

INSTANTIATE_TEST_SUITE_P(Functions, Refusals, ::testing::ValuesIn(all_rows()), RowName());

/// For a pulse that does not fit, rill tries others to name one that fits, and describes a pulse
/// that fits.
TEST(Refusals, APulseThatDoesNotFitIsRefusedWithoutMemoryToo) {
  if (heap_blocks() < 0) GTEST_SKIP() << "sanitizers replace the heap";
  const std::string text =
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
      "graph g(x)->(y){\nx=external(shape=[1,1,S]);\n"
      "a=avg_pool(x,size=[1,1,2],border='constant',padding=[(0,0),(0,0),(0,0)],stride=[1,1,2],"
      "dilation=[1,1,1]);\n"
      "y=avg_pool(a,size=[1,1,3],border='constant',padding=[(0,0),(0,0),(0,0)],stride=[1,1,3],"
      "dilation=[1,1,1]);\n}\n";
  rill_model* raw = nullptr;
  ASSERT_EQ(rill_load_memory(text.data(), text.size(), nullptr, &raw), RILL_OK)
      << rill_last_error();
  const ModelPtr model(raw);
  for (const bool all : {false, true}) {
    for (int64_t n = 0;; ++n) {
      const int64_t blocks = heap_blocks();
      const int64_t requests = heap_requests();
      fail_heap_after(n, all);
      const rill_status status = rill_model_pulse(raw, "S", "1");
      fail_heap_after(-1);
      ASSERT_EQ(heap_blocks(), blocks) << n;
      if (heap_requests() - requests <= n) {
        EXPECT_EQ(status, RILL_E_PULSE) << rill_last_error();
        EXPECT_NE(std::string(rill_last_error()).find("multiple of 6"), std::string::npos)
            << rill_last_error();
        break;
      }
      ASSERT_TRUE(status == RILL_E_NOMEM || status == RILL_E_PULSE) << n << rill_last_error();
    }
  }
}

}  // namespace
}  // namespace rill::test
