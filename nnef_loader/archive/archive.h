#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/base/status.h"

namespace rill::nnef {

/// A regular file of an archive. The name has `/` between folders and no leading `./`.
struct Entry {
  std::string name;
  std::vector<std::byte> bytes;
  MappedBytes mapped = {};  ///< in place of `bytes`, those of a tensor that stays in its file
};

/// Limits on the expanded contents of a file, checked before every allocation. Real models stay far
/// below all of them.
struct LoadLimits {
  int64_t max_expanded_bytes = int64_t{4} << 30;  ///< all entries together; the file itself too
  int64_t max_ratio = 2000;  ///< expanded bytes per byte of file; deflate reaches 1032
  int64_t ratio_slack_bytes = int64_t{64} << 20;  ///< expanded bytes that are exempt from max_ratio
  int64_t max_entries = 100000;
  int max_folder_depth = 32;
  int64_t max_text_bytes = int64_t{16} << 20;  ///< of graph.nnef, and of graph.quant
  int64_t max_nodes = int64_t{1} << 17;        ///< loop bodies included
  int64_t max_symbols = 64;
  int64_t max_folded_bytes = int64_t{4} << 30;  ///< constants computed or read, all together
  /// Evaluated expressions plus copied list elements: bounds the time of graphs without nodes.
  int64_t max_unfolding_steps = int64_t{1} << 22;
};

/// Read all regular files of a folder, tar, tgz (of one or more gzip members) or zip, detected by
/// their content. A bare `graph.nnef` includes the `.dat` files and `graph.quant` of its folder.
/// Entries come in archive order, those of folders sorted by name. Links, devices and entries with
/// a component that starts with `.` are left out. A folder without `graph.nnef` is not walked.
/// Errors: kIo if the file cannot be read, or is a pipe, a socket or a device; kParse if it is not
/// an archive, is damaged, cut short or over the limits, or has an absolute name, `..` or the same
/// name twice.
/// `map_files`: map large `.dat` files of folders and uncompressed tars instead of reading them.
Result<std::vector<Entry>> read_archive(const std::string& path, const LoadLimits& limits = {},
                                        bool map_files = false);
Result<std::vector<Entry>> read_archive_memory(std::span<const std::byte> bytes,
                                               std::string_view name_for_messages,
                                               const LoadLimits& limits = {});

/// Read all members of a zip whose names are keys, not paths: any name is allowed.
Result<std::vector<Entry>> read_keyed_zip(const std::string& path, const LoadLimits& limits = {});
Result<std::vector<Entry>> read_keyed_zip_memory(std::span<const std::byte> bytes,
                                                 std::string_view name_for_messages,
                                                 const LoadLimits& limits = {});

enum class Container : uint8_t { kFolder, kTar, kTgz, kZip };

/// Write atomically: a temporary sibling, then rename; a failed write leaves the old file. Equal
/// entries give equal bytes: no times, owner 0/0, mode 0644, entries in the given order.
/// Write directly to a path that is neither a file nor a folder, such as /dev/null.
/// Errors: kIo; kArg for names that `read_archive` would refuse or leave out, and for an existing
/// folder, which is never overwritten.
/// `check`: called with the path of the temporary file before the rename; if it fails, the write
/// fails. Not called for direct writes.
using CheckWritten = std::function<Status(const std::string& written)>;
Status write_archive(const std::string& path, Container container, std::span<const Entry> entries,
                     const CheckWritten& check = {});

/// Write a deflated zip as above, with any names but empty or equal ones.
Status write_keyed_zip(const std::string& path, std::span<const Entry> entries);

/// Read a whole file. Errors: kIo; kParse if it is over `max_bytes`.
Result<std::vector<std::byte>> read_file(const std::string& path, int64_t max_bytes);
/// Write a whole file atomically, as `write_archive` does.
Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace rill::nnef
