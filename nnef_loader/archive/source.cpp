#include "nnef_loader/archive/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace rill::nnef {

Source::Source(std::span<const std::byte> bytes, std::string_view name)
    : bytes_(bytes), size_(static_cast<int64_t>(bytes.size())), name_(name) {}

Source::Source(int descriptor, int64_t size, std::string_view name)
    : descriptor_(descriptor), size_(size), name_(name) {}

Source::~Source() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<size_t> Source::read_at(int64_t offset, std::span<std::byte> out) const {
  if (offset < 0 || offset >= size_ || out.empty()) return size_t{0};
  const auto wanted =
      static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(out.size()), size_ - offset));
  if (in_memory()) {
    std::memcpy(out.data(), bytes_.data() + offset, wanted);
    return wanted;
  }
  size_t done = 0;
  while (done < wanted) {
    const ssize_t got = pread(descriptor_, out.data() + done, wanted - done,
                              static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", name_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status system_error(std::string_view what, const std::string& path) {
  const int number = errno;
  if (number == ENOENT) return fail(Code::kIo, "File not found ", path);
  return fail(Code::kIo, what, " ", path, ": ", std::generic_category().message(number));
}

namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "pipe";
  return S_ISSOCK(mode) ? "socket" : "device";
}

}  // namespace

Result<int> open_for_reading(const std::string& path) {
  // A path with a zero byte would be cut short without a word.
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::kIo, "File not found ", path);
  }
  for (;;) {
    // A pipe that nobody writes to would be waited for otherwise.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 && errno == EINTR) continue;
    if (descriptor < 0) return system_error("cannot open", path);
    Status status;
    struct stat info {};
    if (fstat(descriptor, &info) != 0) {
      status = system_error("cannot read", path);
    } else if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
      status = fail(Code::kIo, "cannot read ", path, ": it is a ", kind_of(info.st_mode),
                    ": expected a file or a folder")
                   .hint("Read its bytes first, and load them from memory or from a file");
    }
    if (status.ok()) return descriptor;
    close(descriptor);
    return status;
  }
}

Result<std::vector<std::byte>> read_descriptor(int descriptor, const std::string& path,
                                               int64_t max_bytes) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return system_error("cannot read", path);
  if (S_ISDIR(info.st_mode)) return fail(Code::kIo, "cannot read ", path, ": it is a folder");
  const bool known = S_ISREG(info.st_mode);
  constexpr size_t kChunk = size_t{64} << 10;
  std::vector<std::byte> bytes;
  if (known && info.st_size <= max_bytes) bytes.reserve(static_cast<size_t>(info.st_size) + 1);
  for (;;) {
    const size_t done = bytes.size();
    if (static_cast<int64_t>(done) > max_bytes) {
      return fail(Code::kParse, "file of over ", max_bytes, " bytes").at(path, 0);
    }
    // One byte past the known size is asked for, so that the end shows without growing.
    bytes.resize(std::max(done + 1, bytes.capacity()));
    if (bytes.size() - done < kChunk && !known) bytes.resize(done + kChunk);
    const ssize_t got = read(descriptor, bytes.data() + done, bytes.size() - done);
    const bool again = got < 0 && errno == EINTR;
    if (got < 0 && !again) return system_error("cannot read", path);
    bytes.resize(done + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
  }
}

}  // namespace rill::nnef
