#include "onnx_loader/proto/beside.h"

#include "nnef_loader/archive/source.h"
#include "nnef_loader/system/files.h"

namespace rill::onnx {
namespace {

Status refused(std::string_view location, std::string_view why) {
  return fail(Code::kIo, "external data \"", location, "\" ", why)
      .hint("Weights are read from the folder of the model alone");
}

bool has_parent(std::string_view path) {
  while (!path.empty()) {
    const size_t end = path.find_first_of(system::kSeparators);
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
  if (system::kSeparators.find(location.front()) != std::string_view::npos ||
      has_parent(location)) {
    return refused(location, "is outside of the model's folder");
  }
  const std::string path = str_cat(folder, "/", location);
  const std::string root = system::real_path(folder);
  const std::string real = system::real_path(path);
  if (root.empty() || real.empty()) {
    return fail(Code::kIo, "File not found ", path)
        .hint("The model's weights are in this file: put it into the model's folder");
  }
  if (!real.starts_with(root == "/" ? root : root + "/")) {
    return refused(location, "is a link to the outside of the model's folder");
  }
  RILL_ASSIGN(const int descriptor, nnef::open_for_reading(real));
  nnef::Source file(descriptor, 0, path);
  system::Info info;
  if (!system::tell(descriptor, &info)) return nnef::system_error("cannot read", path);
  file.set_size(info.bytes);
  if (info.kind != system::Kind::kFile || offset > info.bytes ||
      static_cast<int64_t>(out.size()) > info.bytes - offset) {
    return fail(Code::kIo, "external data \"", location, "\" has ", info.bytes,
                " bytes, expected ", out.size(), " from byte ", offset, " on");
  }
  RILL_ASSIGN(const size_t got, file.read_at(offset, out));
  if (got == out.size()) return {};
  return fail(Code::kIo, "external data \"", location, "\" ended early");
}

}  // namespace rill::onnx
