#include "plan_file/map.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/aligned.h"
#include "core/base/mapped_file.h"
#include "core/base/raise_limit.h"
#include "core/run/plan_format.h"

#if defined(__unix__) || defined(__APPLE__)
#define RILL_MAPS_FILES
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace rill::plan_file {
namespace {

Status unreadable(const std::string& path) {
  return fail(Code::kIo, "cannot read: ", std::strerror(errno)).at(path, 0);
}

/// Return memory with the alignment of the format.
std::shared_ptr<std::byte> aligned_memory(size_t bytes) {
  const auto capacity = (bytes / kAlign + 1) * kAlign;
  return {static_cast<std::byte*>(allocate_aligned(kAlign, capacity)), free_aligned};
}

#ifdef RILL_MAPS_FILES

/// A file that is open, and its size.
struct Opened {
  int file = -1;
  size_t bytes = 0;
  Opened() = default;
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (file >= 0) ::close(file);
  }
};

Status open_file(const std::string& path, Opened* out) {
  // Do not wait for the writer of a pipe: a pipe is not a file.
  out->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about = {};
  if (out->file < 0 || fstat(out->file, &about) != 0) return unreadable(path);
  if (!S_ISREG(about.st_mode)) return fail(Code::kIo, "not a file").at(path, 0);
  out->bytes = static_cast<size_t>(about.st_size);
  return {};
}

#endif

Status too_large(const std::string& path, size_t bytes, int64_t most) {
  return fail(Code::kNoMem, "the plan file has ", bytes, " bytes: the limit is ", most)
      .at(path, 0)
      .hint(raise_limit("max_file_bytes", "rill_open_opts"));
}

}  // namespace

#ifdef RILL_MAPS_FILES

Result<MappedFile> map_file(const std::string& path) {
  Opened from;
  RILL_TRY(open_file(path, &from));
  if (from.bytes == 0) return MappedFile();
  const MappedBytes mapped = rill::map_file(from.file, from.bytes);
  if (!mapped.data) return read_file(path, INT64_MAX);
  return MappedFile{mapped.data, mapped.bytes()};
}

Result<MappedFile> read_file(const std::string& path, int64_t most_bytes) {
  Opened from;
  RILL_TRY(open_file(path, &from));
  const bool fits = static_cast<int64_t>(from.bytes) <= most_bytes;
  if (!fits) return too_large(path, from.bytes, most_bytes);
  const std::shared_ptr<std::byte> memory = aligned_memory(from.bytes);
  if (!memory) return fail(Code::kNoMem, "no memory for ", from.bytes, " bytes").at(path, 0);
  size_t done = 0;
  while (done < from.bytes) {
    const ssize_t more = ::read(from.file, memory.get() + done, from.bytes - done);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return unreadable(path);
    // The file was truncated meanwhile; its header shows that the rest is missing.
    if (more == 0) break;
    done += static_cast<size_t>(more);
  }
  return MappedFile{memory, {memory.get(), done}};
}

#else

Result<MappedFile> read_file(const std::string& path, int64_t most_bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return unreadable(path);
  const std::shared_ptr<std::FILE> closes(file, std::fclose);
  if (std::fseek(file, 0, SEEK_END) != 0) return unreadable(path);
  const long size = std::ftell(file);
  if (size < 0 || std::fseek(file, 0, SEEK_SET) != 0) return unreadable(path);
  const auto bytes = static_cast<size_t>(size);
  if (size > most_bytes) return too_large(path, bytes, most_bytes);
  const std::shared_ptr<std::byte> memory = aligned_memory(bytes);
  if (!memory) return fail(Code::kNoMem, "no memory for ", bytes, " bytes").at(path, 0);
  if (std::fread(memory.get(), 1, bytes, file) != bytes) return unreadable(path);
  return MappedFile{memory, {memory.get(), bytes}};
}

Result<MappedFile> map_file(const std::string& path) { return read_file(path, INT64_MAX); }

#endif

}  // namespace rill::plan_file
