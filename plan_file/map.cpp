#include "plan_file/map.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/aligned.h"
#include "core/run/plan_format.h"

#if defined(__unix__) || defined(__APPLE__)
#define RILL_MAPS_FILES
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace rill::plan_file {
namespace {

Status unreadable(const std::string& path) {
  return fail(Code::kIo, "cannot read: ", std::strerror(errno)).at(path, 0);
}

#ifndef RILL_MAPS_FILES
/// Memory that begins where the format wants it to.
std::shared_ptr<std::byte> aligned_memory(size_t bytes) {
  const auto room = (bytes / kAlign + 1) * kAlign;
  return {static_cast<std::byte*>(allocate_aligned(kAlign, room)), free_aligned};
}
#endif

}  // namespace

#ifdef RILL_MAPS_FILES

Result<MappedFile> map_file(const std::string& path) {
  // A pipe without a writer is not waited for: it is no file.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return unreadable(path);
  struct stat about = {};
  if (fstat(file, &about) != 0) {
    ::close(file);
    return unreadable(path);
  }
  if (!S_ISREG(about.st_mode)) {
    ::close(file);
    return fail(Code::kIo, "not a file").at(path, 0);
  }
  const auto size = static_cast<size_t>(about.st_size);
  if (size == 0) {
    ::close(file);
    return MappedFile();
  }
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  ::close(file);
  if (at == MAP_FAILED) {
    errno = error;
    return unreadable(path);
  }
  MappedFile out;
  out.owner = std::shared_ptr<const void>(
      at, [size](const void* own) { munmap(const_cast<void*>(own), size); });
  out.bytes = {static_cast<const std::byte*>(at), size};
  return out;
}

#else

Result<MappedFile> map_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return unreadable(path);
  const std::shared_ptr<std::FILE> closes(file, std::fclose);
  if (std::fseek(file, 0, SEEK_END) != 0) return unreadable(path);
  const long size = std::ftell(file);
  if (size < 0 || std::fseek(file, 0, SEEK_SET) != 0) return unreadable(path);
  const auto bytes = static_cast<size_t>(size);
  const std::shared_ptr<std::byte> memory = aligned_memory(bytes);
  if (!memory) return fail(Code::kNoMem, "no memory for ", bytes, " bytes").at(path, 0);
  if (std::fread(memory.get(), 1, bytes, file) != bytes) return unreadable(path);
  return MappedFile{memory, {memory.get(), bytes}};
}

#endif

}  // namespace rill::plan_file
