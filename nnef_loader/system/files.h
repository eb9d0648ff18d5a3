#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

// The file system as loaders use it, with one interface for POSIX and Windows. Paths are UTF-8. A
// failed call leaves its reason in `errno`.
namespace rill::system {

#if defined(_WIN32)
inline constexpr std::string_view kSeparators = "/\\";
#else
inline constexpr std::string_view kSeparators = "/";
#endif

enum class Kind : uint8_t { kFile, kFolder, kLink, kPipe, kSocket, kDevice };

struct Info {
  Kind kind = Kind::kFile;
  int64_t bytes = 0;
};

/// Find the kind and size of an open descriptor.
bool stat_open(int descriptor, Info* info);
/// Find the kind and size of a path, without following links.
bool stat_name(const std::string& path, Info* info);
/// Find the kind and size of a path, following links.
bool stat_target(const std::string& path, Info* info);

/// Open a file or a folder; do not wait for the writer of a pipe. Return a descriptor, or -1.
int open_to_read(const std::string& path);
/// Open an existing path for writing. Return a descriptor, or -1.
int open_to_write(const std::string& path);
/// Create a file that does not exist yet. Return a descriptor, or -1.
int create(const std::string& path);
void close(int descriptor);
/// Close, and return whether all writes succeeded.
bool close_written(int descriptor);

/// Read available bytes, at least one unless the file ends. Returns -1 on failure.
int64_t read(int descriptor, std::span<std::byte> out);
int64_t read_at(int descriptor, int64_t offset, std::span<std::byte> out);
/// Write at least one byte. Return -1 on failure, also for a pipe without a reader.
int64_t write(int descriptor, std::span<const std::byte> bytes);
/// Sync all writes to the disk.
bool sync(int descriptor);

/// Read the first bytes of a file, and return their number. 0 for a missing file, and for a pipe or
/// device, from which reading would remove them.
size_t read_head(const std::string& path, std::span<std::byte> out);

bool make_folder(const std::string& path);
void remove_folder(const std::string& path);
void remove_file(const std::string& path);
/// Rename, replacing an existing file.
bool rename_over(const std::string& from, const std::string& to);
/// Call `visit` with every name in a folder, until it returns false.
bool list(const std::string& folder, const std::function<bool(std::string_view)>& visit);
/// Return the path with links resolved and `/` between its parts; empty if it does not exist.
std::string real_path(const std::string& path);
/// Return whether a file may have that name, in folders divided by `/`.
bool can_hold(std::string_view name);

int64_t process_id();

}  // namespace rill::system
