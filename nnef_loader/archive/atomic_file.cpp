#include "nnef_loader/archive/atomic_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/source.h"

namespace rill::nnef {
namespace {

constexpr int kAttempts = 1000;

/// While one is there, writing to a pipe that nobody reads is an error of that write, and no signal
/// that ends the process.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = is_pending();
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    int taken = 0;
    if (!was_pending_ && is_pending()) sigwait(&pipe_, &taken);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static bool is_pending() noexcept {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace

std::string sibling_name(const std::string& path, int attempt) {
  std::string base = path;
  while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  const size_t slash = base.rfind('/');
  const size_t at = slash == std::string::npos ? 0 : slash + 1;
  return str_cat(base.substr(0, at), ".", base.substr(at), ".", getpid(), ".", attempt, ".tmp");
}

Status already_exists(const std::string& path) {
  return fail(Code::kArg, "\"", path, "\" already exists. Won't overwrite.");
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::kArg, "expected a path to write to, found \"", path, "\"");
  }
  AtomicFile file;
  file.path_ = path;
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return already_exists(path);
  if (exists && !S_ISREG(info.st_mode)) {
    // Renaming over /dev/null or a pipe would replace it by a file.
    file.descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor_ < 0) return system_error("cannot write", path);
    return file;
  }
  for (int attempt = 0; attempt < kAttempts && file.descriptor_ < 0; ++attempt) {
    file.temporary_ = sibling_name(path, attempt);
    file.descriptor_ = open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ < 0 && errno != EEXIST) break;
  }
  if (file.descriptor_ < 0) {
    file.temporary_.clear();
    return system_error("cannot write", path);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  const NoPipeSignal no_signal;
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return system_error("cannot write", path_);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Status AtomicFile::commit() {
  const bool renames = !temporary_.empty();
  // The name must not point at the new file before its bytes are on the disk.
  if (renames && fsync(descriptor_) != 0) return system_error("cannot write", path_);
  if (close(std::exchange(descriptor_, -1)) != 0) return system_error("cannot write", path_);
  if (!renames) return {};
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return system_error("cannot write", path_);
  }
  temporary_.clear();
  return {};
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  RILL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  RILL_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace rill::nnef
