// Truncated or altered archives and failing disks give an error, and leave no partial result.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/models.h"
#include "tests/support/runs.h"
#include "tests/support/tally.h"

namespace rill::test {
namespace {

namespace fs = std::filesystem;

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

rill_status load(const std::vector<char>& bytes, size_t count) {
  rill_model* raw = nullptr;
  const rill_status status = rill_load_memory(bytes.data(), count, nullptr, &raw);
  const ModelPtr model(raw);
  EXPECT_EQ(status == RILL_OK, raw != nullptr);
  if (status != RILL_OK) {
    EXPECT_NE(std::string(rill_last_error()), "");
  }
  return status;
}

/// Return all offsets in a small file, or both ends of a large one and a sample in between.
std::vector<size_t> places(size_t size) {
  std::vector<size_t> out;
  const size_t edge = size < 6000 ? size : 40;
  for (size_t i = 0; i < size; ++i) {
    if (i < edge || i + edge >= size || i % (size / 24 + 1) == 0) out.push_back(i);
  }
  return out;
}

class ArchiveFaults : public ::testing::TestWithParam<ModelFolder> {};

TEST_P(ArchiveFaults, ACutArchiveIsAnError) {
  const std::vector<char> whole = bytes_of(GetParam().archive);
  ASSERT_EQ(load(whole, whole.size()), RILL_OK) << rill_last_error();
  Tally tally("an archive is cut");
  for (const size_t count : places(whole.size())) {
    const rill_status status = load(whole, count);
    EXPECT_NE(status, RILL_OK) << count << " of " << whole.size() << " bytes";
    tally.add(status);
  }
}

TEST_P(ArchiveFaults, AnAlteredByteIsAnErrorOrNoMatter) {
  std::vector<char> bytes = bytes_of(GetParam().archive);
  Tally tally("a byte of an archive is altered");
  for (const size_t at : places(bytes.size())) {
    const char before = bytes[at];
    for (const int value : {0x00, 0x7F, 0x80, 0xFF}) {
      if (at > 64 && value != 0xFF) continue;
      bytes[at] = static_cast<char>(value);
      tally.add(load(bytes, bytes.size()));
    }
    bytes[at] = before;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ArchiveFaults, ::testing::ValuesIn(all_models()), ModelName());

class Writing : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("rill_faults_" + std::to_string(getpid()));
    fs::create_directory(folder_);
    rill_model* raw = nullptr;
    ASSERT_EQ(rill_load(RILL_SOURCE_DIR "/tests/models/kws_gru/model.nnef.tgz", nullptr, &raw),
              RILL_OK);
    model_.reset(raw);
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  ModelPtr model_;
};

TEST_F(Writing, AFullDiskIsAnErrorThatSaysSo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const fs::path link = folder_ / "model.tar";
  fs::create_symlink("/dev/full", link);
  const rill_status status = rill_save(model_.get(), link.c_str());
  Tally("the disk is full").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_NE(std::string(rill_last_error()).find("No space left"), std::string::npos)
      << rill_last_error();
}

TEST_F(Writing, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const std::string path = folder_ / "model.nnef.tgz";
  ASSERT_EQ(rill_save(model_.get(), path.c_str()), RILL_OK);
  const std::vector<char> before = bytes_of(path);
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 10000;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const rill_status status = rill_save(model_.get(), path.c_str());
  const std::string error = rill_last_error();
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  Tally("a write fails half way").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_NE(error.find(path), std::string::npos) << error;
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(rill_save(model_.get(), path.c_str()), RILL_OK) << rill_last_error();
}

TEST_F(Writing, AFolderThatIsNotThereIsAnError) {
  const std::string path = folder_ / "missing" / "model.nnef.tgz";
  const rill_status status = rill_save(model_.get(), path.c_str());
  Tally("the folder to write to does not exist").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_NE(std::string(rill_last_error()).find("missing"), std::string::npos);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Writing, APipeWithoutAReaderIsAnErrorAndNoSignal) {
  const std::string path = folder_ / "pipe.tar";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(descriptor, 0);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    char byte = 0;
    while (!done && read(descriptor, &byte, 1) != 1) std::this_thread::yield();
    close(descriptor);
  });
  const rill_status status = rill_save(model_.get(), path.c_str());
  done = true;
  reader.join();
  Tally("the reader of a pipe goes away").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_NE(std::string(rill_last_error()).find("roken pipe"), std::string::npos)
      << rill_last_error();
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(Reading, AReadThatFailsIsAnErrorThatSaysSo) {
  const char* const path = "/proc/self/mem";  // reading its first byte fails
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  rill_model* raw = nullptr;
  const rill_status status = rill_load(path, nullptr, &raw);
  Tally("a read fails").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_EQ(raw, nullptr);
  EXPECT_NE(std::string(rill_last_error()).find(path), std::string::npos) << rill_last_error();
}

TEST_F(Writing, APipeIsNoPlanFileAndIsNotWaitedFor) {
  const std::string path = folder_ / "pipe.rill";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  rill_plan* plan = nullptr;
  const rill_status status = rill_plan_open(path.c_str(), &plan);
  Tally("a plan is a pipe").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_EQ(plan, nullptr);
  EXPECT_NE(std::string(rill_last_error()).find("not a file"), std::string::npos)
      << rill_last_error();
}

TEST(Reading, NoMoreOpenFilesIsAnErrorThatSaysSo) {
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none = old;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  rill_model* raw = nullptr;
  const rill_status status =
      rill_load(RILL_SOURCE_DIR "/tests/models/kws_gru/model.nnef.tgz", nullptr, &raw);
  const std::string error = rill_last_error();
  setrlimit(RLIMIT_NOFILE, &old);
  Tally("no more files can be opened").add(status);
  EXPECT_EQ(status, RILL_E_IO);
  EXPECT_EQ(raw, nullptr);
  EXPECT_NE(error.find("open files"), std::string::npos) << error;
}

}  // namespace
}  // namespace rill::test
