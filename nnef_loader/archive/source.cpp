#include "nnef_loader/archive/source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/raise_limit.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {

Source::Source(std::span<const std::byte> bytes, std::string_view name)
    : bytes_(bytes), size_(static_cast<int64_t>(bytes.size())), name_(name) {}

Source::Source(int descriptor, int64_t size, std::string_view name)
    : descriptor_(descriptor), size_(size), name_(name) {}

Source::~Source() {
  if (descriptor_ >= 0) system::close(descriptor_);
}

void Source::map() {
  if (descriptor_ >= 0) mapped_ = map_file(descriptor_, static_cast<size_t>(size_));
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
    const int64_t got = system::read_at(descriptor_, offset + static_cast<int64_t>(done),
                                        out.subspan(done, wanted - done));
    if (got < 0) return system_error("cannot read", name_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status system_error(std::string_view what, const std::string& path) {
  const int number = errno;
  if (number == ENOENT && what.starts_with("cannot write")) {
    return fail(Code::kIo, what, " ", path, ": its folder does not exist")
        .hint("Create the folder first");
  }
  if (number == ENOENT) return fail(Code::kIo, "File not found ", path);
  return fail(Code::kIo, what, " ", path, ": ", std::generic_category().message(number));
}

namespace {

std::string_view name_of(system::Kind kind) {
  if (kind == system::Kind::kPipe) return "pipe";
  return kind == system::Kind::kSocket ? "socket" : "device";
}

}  // namespace

Result<int> open_for_reading(const std::string& path) {
  // A path with a zero byte would be truncated silently.
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::kIo, "File not found ", path);
  }
  const int descriptor = system::open_to_read(path);
  if (descriptor < 0) return system_error("cannot open", path);
  Status status;
  system::Info info;
  if (!system::stat_open(descriptor, &info)) {
    status = system_error("cannot read", path);
  } else if (info.kind != system::Kind::kFile && info.kind != system::Kind::kFolder) {
    status = fail(Code::kIo, "cannot read ", path, ": it is a ", name_of(info.kind),
                  ": expected a file or a folder")
                 .hint("Read its bytes first, and load them from memory or from a file");
  }
  if (status.ok()) return descriptor;
  system::close(descriptor);
  return status;
}

namespace {

using TooLarge = Status (*)(const std::string& path, int64_t bytes, int64_t max_bytes);

Status file_too_large(const std::string& path, int64_t bytes, int64_t max_bytes) {
  return fail(Code::kParse, "the file has at least ", counted(bytes, "byte"), ": the limit is ",
              max_bytes)
      .at(path, 0);
}

Result<std::vector<std::byte>> read_all(int descriptor, const std::string& path, int64_t max_bytes,
                                        TooLarge too_large) {
  system::Info info;
  if (!system::stat_open(descriptor, &info)) return system_error("cannot read", path);
  if (info.kind == system::Kind::kFolder) {
    return fail(Code::kIo, "cannot read ", path, ": it is a folder");
  }
  const bool known = info.kind == system::Kind::kFile;
  constexpr size_t kChunk = size_t{64} << 10;
  std::vector<std::byte> bytes;
  if (known && info.bytes <= max_bytes) bytes.reserve(static_cast<size_t>(info.bytes) + 1);
  for (;;) {
    const size_t done = bytes.size();
    if (static_cast<int64_t>(done) > max_bytes) {
      return too_large(path, std::max(static_cast<int64_t>(done), known ? info.bytes : 0),
                       max_bytes);
    }
    // Request one byte past the known size to detect the end without growing.
    bytes.resize(std::max(done + 1, bytes.capacity()));
    if (bytes.size() - done < kChunk && !known) bytes.resize(done + kChunk);
    const int64_t got = system::read(descriptor, std::span(bytes).subspan(done));
    if (got < 0) return system_error("cannot read", path);
    bytes.resize(done + static_cast<size_t>(got));
    if (got == 0) return bytes;
  }
}

}  // namespace

Status model_too_large(const std::string& path, int64_t bytes, int64_t max_bytes) {
  return fail(Code::kParse, "the model has at least ", counted(bytes, "byte"), ": the limit is ",
              max_bytes)
      .at(path, 0)
      .hint(raise_load_limit("max_expanded_bytes"));
}

Result<std::vector<std::byte>> read_descriptor(int descriptor, const std::string& path,
                                               int64_t max_bytes) {
  return read_all(descriptor, path, max_bytes, file_too_large);
}

Result<std::vector<std::byte>> read_model_descriptor(int descriptor, const std::string& path,
                                                     int64_t max_bytes) {
  return read_all(descriptor, path, max_bytes, model_too_large);
}

}  // namespace rill::nnef
