#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "api/src/handles.h"
#include "rill/rill.h"
#include "tests/support/heap_calls.h"
#include "tests/support/plan_files.h"
#include "tests/support/runs.h"

namespace rill::test {

inline constexpr char kModel[] = RILL_SOURCE_DIR "/tests/models/tcn_dilated/model.nnef.tgz";
inline constexpr char kPulse[] = "8";

/// The objects of the calls, and the choice of the refused allocation.
class World {
 public:
  World() {
    EXPECT_EQ(rill_load(kModel, nullptr, &model), RILL_OK) << rill_last_error();
    keep_model_.reset(model);
    const char* symbol = "";
    for (size_t i = 0; rill_model_symbol(model, i, &symbol) == RILL_OK && symbol;) {
      if (std::strcmp(symbol, "S") == 0) {
        ++i;
      } else {
        EXPECT_EQ(rill_model_set_symbol(model, symbol, "1"), RILL_OK) << rill_last_error();
      }
    }
    EXPECT_EQ(rill_model_clone(model, &pulsed), RILL_OK);
    keep_pulsed_.reset(pulsed);
    EXPECT_EQ(rill_model_pulse(pulsed, nullptr, kPulse), RILL_OK) << rill_last_error();
    EXPECT_EQ(rill_prepare(pulsed, nullptr, &plan), RILL_OK) << rill_last_error();
    keep_plan_.reset(plan);
    keep_session_ = new_session();
    session = keep_session_.get();
    EXPECT_EQ(rill_threads_new(2, &threads), RILL_OK) << rill_last_error();
    std::ifstream in(kModel, std::ios::binary);
    archive.assign(std::istreambuf_iterator<char>(in), {});
    path = ::testing::TempDir() + "rill_refusals.nnef.tgz";
    plan_file = mapped(written(*plan->plan).value());
    plan_path = ::testing::TempDir() + "rill_refusals.rill";
    std::ofstream(plan_path, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan_file.bytes.data()),
               static_cast<std::streamsize>(plan_file.bytes.size()));
    for (rill_view* view : {&input, &output}) view->size = sizeof(rill_view);
    EXPECT_EQ(rill_input_buffer(session, 0, &input), RILL_OK);
    EXPECT_EQ(rill_output_buffer(session, 0, &output), RILL_OK);
    rill_io_info io = {};
    io.size = sizeof(io);
    EXPECT_EQ(rill_plan_io(plan, RILL_INPUT, 0, &io), RILL_OK);
    shape_.assign(io.shape, io.shape + io.rank);
    shape_[static_cast<size_t>(io.stream_axis)] = kFrames;
    frames_.resize(static_cast<size_t>(io.bytes));
    few = input;
    few.shape = shape_.data();
    few.strides = nullptr;
    few.data = frames_.data();
    state = saved();
  }
  ~World() {
    rill_threads_free(threads);
    std::filesystem::remove(path);
    std::filesystem::remove(plan_path);
  }

  SessionPtr new_session() const {
    rill_session* made = nullptr;
    EXPECT_EQ(rill_session_new(plan, &made), RILL_OK) << rill_last_error();
    return SessionPtr(made);
  }
  /// A stream with frames that wait for a step.
  SessionPtr pushed() const {
    SessionPtr made = new_session();
    int64_t taken = 0;
    EXPECT_EQ(rill_push(made.get(), 0, &few, &taken), RILL_OK) << rill_last_error();
    EXPECT_EQ(taken, kFrames);
    return made;
  }
  /// Return a session that continues from the saved state of `pushed`.
  SessionPtr loaded() const {
    SessionPtr made = new_session();
    EXPECT_EQ(rill_state_load(made.get(), state.data(), state.size() * 8), RILL_OK)
        << rill_last_error();
    return made;
  }
  std::vector<uint64_t> saved() const {
    const SessionPtr from = pushed();
    size_t size = 0;
    EXPECT_EQ(rill_state_size(from.get(), &size), RILL_OK);
    std::vector<uint64_t> bytes(size / 8 + 1);
    EXPECT_EQ(rill_state_save(from.get(), bytes.data(), size, &size), RILL_OK);
    bytes.resize(size / 8);
    return bytes;
  }

  /// Make the call under test.
  template <class Call>
  auto refused(Call&& call) {
    const int64_t before = heap_requests();
    fail_heap_after(refuse_after, refuse_all);
    auto result = call();
    fail_heap_after(-1);
    requests += heap_requests() - before;
    return result;
  }

  static constexpr int64_t kFrames = 3;
  int64_t refuse_after = -1;
  bool refuse_all = false;
  int64_t requests = 0;

  rill_model* model = nullptr;   ///< with S
  rill_model* pulsed = nullptr;
  rill_plan* plan = nullptr;
  rill_session* session = nullptr;  ///< new
  rill_threads* threads = nullptr;
  std::vector<char> archive;
  std::string path;
  Mapped plan_file;
  std::string plan_path;
  std::vector<uint64_t> state;
  rill_view input = {};
  rill_view output = {};
  rill_view few = {};

 private:
  ModelPtr keep_model_;
  ModelPtr keep_pulsed_;
  PlanPtr keep_plan_;
  SessionPtr keep_session_;
  std::vector<int64_t> shape_;
  std::vector<std::byte> frames_;
};

}  // namespace rill::test
