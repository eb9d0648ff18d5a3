#include "api/src/npz.h"

#include "api/src/npy.h"
#include "core/base/text.h"
#include "nnef_loader/archive/archive.h"

namespace rill {
namespace {

constexpr std::string_view kExtension = ".npy";

/// Return the last part of a path, without `.npy`.
std::string stem(std::string_view path) {
  path.remove_prefix(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  if (path.ends_with(kExtension)) path.remove_suffix(kExtension.size());
  return std::string(path);
}

Result<std::vector<NamedTensor>> one_array(std::span<const std::byte> bytes,
                                           std::string_view path) {
  RILL_ASSIGN(Tensor tensor, read_npy(bytes, path));
  return std::vector<NamedTensor>{{stem(path), std::move(tensor)}};
}

}  // namespace

Result<std::vector<NamedTensor>> read_npz(const std::string& path) {
  // Only npz files expand.
  RILL_ASSIGN(const std::vector<std::byte> bytes,
              nnef::read_file(path, nnef::LoadLimits{}.max_expanded_bytes));
  return read_npz_memory(bytes, path);
}

Result<std::vector<NamedTensor>> read_npz_memory(std::span<const std::byte> bytes,
                                                 std::string_view name_for_messages) {
  if (is_npy(bytes)) return one_array(bytes, name_for_messages);
  const bool is_zip = bytes.size() >= 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'};
  if (!is_zip) {
    return fail(Code::kParse, "expected an npz bundle or a npy file").at(name_for_messages, 0);
  }
  RILL_ASSIGN(std::vector<nnef::Entry> entries,
              nnef::read_keyed_zip_memory(bytes, name_for_messages));
  std::vector<NamedTensor> tensors;
  for (nnef::Entry& entry : entries) {
    if (!entry.name.ends_with(kExtension)) continue;
    RILL_ASSIGN(Tensor tensor, read_npy(entry.bytes, str_cat(name_for_messages, ", ", entry.name)));
    entry.bytes = {};
    entry.name.resize(entry.name.size() - kExtension.size());
    tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return tensors;
}

Status write_npz(const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<nnef::Entry> entries;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty()) return fail(Code::kArg, "an array without a name");
    Result<std::vector<std::byte>> bytes = write_npy(tensor);
    if (!bytes.ok()) {
      return fail(bytes.error().code, "array \"", name, "\": ", bytes.error().message);
    }
    entries.push_back({str_cat(name, kExtension), std::move(*bytes)});
  }
  return nnef::write_keyed_zip(path, entries);
}

}  // namespace rill
