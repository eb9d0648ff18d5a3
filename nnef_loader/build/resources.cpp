#include "nnef_loader/build/resources.h"

#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef {

Resources::Resources(std::vector<Entry> entries) {
  for (Entry& entry : entries) {
    files_[std::move(entry.name)] = {std::move(entry.bytes), std::move(entry.mapped), nullptr};
  }
}

std::string_view Resources::text(std::string_view name) const {
  const auto it = files_.find(name);
  if (it == files_.end()) return {};
  const std::span<const std::byte> bytes = it->second.content();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> Resources::bytes(std::string_view name) const {
  const auto it = files_.find(name);
  if (it == files_.end()) return {};
  return it->second.content();
}

std::vector<std::string> Resources::names() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : files_) out.push_back(name);
  return out;
}

std::string Resources::elsewhere(std::string_view name) const {
  const std::string suffix = str_cat("/", name);
  for (const auto& [path, file] : files_) {
    if (path.ends_with(suffix)) return path;
  }
  return {};
}

Result<TensorPtr> Resources::tensor(std::string_view label) {
  auto it = files_.find(str_cat(label, ".dat"));
  std::string_view trimmed = label;
  while (!trimmed.empty() && trimmed.front() == '/') trimmed.remove_prefix(1);
  if (it == files_.end()) it = files_.find(str_cat(trimmed, ".dat"));
  if (it == files_.end()) {
    return fail(Code::kIo, "No data for tensor \"", label, "\"")
        .hint(str_cat("The archive must hold \"", trimmed, ".dat\""));
  }
  File& file = it->second;
  if (file.tensor) return file.tensor;
  auto read = file.mapped.data ? read_mapped_tensor(file.mapped, it->first)
                               : read_tensor(file.bytes, it->first);
  if (!read.ok()) return std::move(read).take_status();
  file.tensor = std::make_shared<const Tensor>(std::move(read).value());
  file.bytes = {};
  file.mapped = {};
  return file.tensor;
}

}  // namespace rill::nnef
