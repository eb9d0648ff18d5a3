#include "nnef_loader/system/files.h"

namespace rill::system {

size_t read_head(const std::string& path, std::span<std::byte> out) {
  Info info;
  if (!stat_target(path, &info) || info.kind != Kind::kFile) return 0;
  const int file = open_to_read(path);
  if (file < 0) return 0;
  const int64_t bytes = read_at(file, 0, out);
  close(file);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

}  // namespace rill::system
