#include "onnx_loader/proto/beside.h"

#include <sys/stat.h>

#include <cstdlib>
#include <memory>

#include "nnef_loader/archive/source.h"

namespace rill::onnx {
namespace {

struct Freed {
  void operator()(char* text) const { std::free(text); }
};

/// The path without links; empty if there is no such file.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, Freed> real(realpath(path.c_str(), nullptr));
  return real ? std::string(real.get()) : std::string();
}

Status refused(std::string_view location, std::string_view why) {
  return fail(Code::kIo, "external data \"", location, "\" ", why)
      .hint("Weights are read from the folder of the model alone");
}

bool has_parent(std::string_view path) {
  while (!path.empty()) {
    const size_t end = path.find('/');
    if (path.substr(0, end) == "..") return true;
    path.remove_prefix(end == path.npos ? path.size() : end + 1);
  }
  return false;
}

}  // namespace

Status read_beside(const std::string& folder, std::string_view location, int64_t offset,
                   std::span<std::byte> out) {
  if (location.empty()) return refused(location, "has no name");
  if (location.find('\0') != location.npos) return refused(location, "has a zero byte in its name");
  if (location.front() == '/' || has_parent(location)) {
    return refused(location, "is outside of the model's folder");
  }
  const std::string path = str_cat(folder, "/", location);
  const std::string root = real_path(folder);
  const std::string real = real_path(path);
  if (root.empty() || real.empty()) {
    return fail(Code::kIo, "File not found ", path)
        .hint("The model's weights are in this file: put it beside the model");
  }
  if (!real.starts_with(root == "/" ? root : root + "/")) {
    return refused(location, "is a link to the outside of the model's folder");
  }
  RILL_ASSIGN(const int descriptor, nnef::open_for_reading(real));
  nnef::Source file(descriptor, 0, path);
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return nnef::system_error("cannot read", path);
  file.set_size(info.st_size);
  if (!S_ISREG(info.st_mode) || offset > info.st_size ||
      static_cast<int64_t>(out.size()) > info.st_size - offset) {
    return fail(Code::kIo, "external data \"", location, "\" has ", int64_t{info.st_size},
                " bytes, expected ", out.size(), " from byte ", offset, " on");
  }
  RILL_ASSIGN(const size_t got, file.read_at(offset, out));
  if (got == out.size()) return {};
  return fail(Code::kIo, "external data \"", location, "\" ended early");
}

}  // namespace rill::onnx
