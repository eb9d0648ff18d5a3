#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "nnef_loader/system/files.h"

namespace rill::system {
namespace {

/// During its lifetime, writing to a closed pipe fails instead of ending the process by a signal.
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

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

struct Freed {
  void operator()(char* text) const { std::free(text); }
};

Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return Kind::kFile;
  if (S_ISDIR(mode)) return Kind::kFolder;
  if (S_ISLNK(mode)) return Kind::kLink;
  if (S_ISFIFO(mode)) return Kind::kPipe;
  return S_ISSOCK(mode) ? Kind::kSocket : Kind::kDevice;
}

bool known(int status, const struct stat& found, Info* info) {
  if (status == 0) *info = {kind_of(found.st_mode), int64_t{found.st_size}};
  return status == 0;
}

/// Retry a call that a signal interrupted.
template <class Call>
auto again(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

bool stat_open(int descriptor, Info* info) {
  struct stat found {};
  return known(fstat(descriptor, &found), found, info);
}

bool stat_name(const std::string& path, Info* info) {
  struct stat found {};
  return known(lstat(path.c_str(), &found), found, info);
}

bool stat_target(const std::string& path, Info* info) {
  struct stat found {};
  return known(stat(path.c_str(), &found), found, info);
}

int open_to_read(const std::string& path) {
  return again([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
}

int open_to_write(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CLOEXEC); }

int create(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

void close(int descriptor) { ::close(descriptor); }

bool close_written(int descriptor) { return ::close(descriptor) == 0; }

int64_t read(int descriptor, std::span<std::byte> out) {
  return again([&] { return ::read(descriptor, out.data(), out.size()); });
}

int64_t read_at(int descriptor, int64_t offset, std::span<std::byte> out) {
  return again(
      [&] { return pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset)); });
}

int64_t write(int descriptor, std::span<const std::byte> bytes) {
  const NoPipeSignal no_signal;
  return again([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
}

bool sync(int descriptor) { return fsync(descriptor) == 0; }

bool make_folder(const std::string& path) { return mkdir(path.c_str(), 0777) == 0; }

void remove_folder(const std::string& path) { rmdir(path.c_str()); }

void remove_file(const std::string& path) { unlink(path.c_str()); }

bool rename_over(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool list(const std::string& path, const std::function<bool(std::string_view)>& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (!folder) return false;
  errno = 0;
  while (const dirent* item = readdir(folder.get())) {
    if (!visit(item->d_name)) return true;
    errno = 0;
  }
  return errno == 0;
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, Freed> real(realpath(path.c_str(), nullptr));
  return real ? std::string(real.get()) : std::string();
}

bool can_hold(std::string_view name) { return name.find('\0') == name.npos; }

int64_t process_id() { return getpid(); }

}  // namespace rill::system
