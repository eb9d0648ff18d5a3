#include "onnx_loader/proto/external_file.h"

#include "nnef_loader/system/files.h"

namespace rill::onnx {
namespace {

Status refused(std::string_view location, std::string_view why) {
  return fail(Code::kIo, "external data \"", location, "\" ", why)
      .hint("Weights are only read from the folder of the model");
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

Result<std::unique_ptr<nnef::Source>> open_external(const std::string& folder,
                                                    std::string_view location) {
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
  auto file = std::make_unique<nnef::Source>(descriptor, 0, path);
  system::Info info;
  if (!system::stat_open(descriptor, &info)) return nnef::system_error("cannot read", path);
  if (info.kind != system::Kind::kFile) return refused(location, "is not a regular file");
  file->set_size(info.bytes);
  return file;
}

Status check_range(std::string_view location, int64_t bytes, int64_t offset, int64_t wanted) {
  if (offset <= bytes && wanted <= bytes - offset) return {};
  return fail(Code::kIo, "external data \"", location, "\" has ", bytes, " bytes, expected ",
              wanted, " from byte ", offset, " on");
}

}  // namespace rill::onnx
