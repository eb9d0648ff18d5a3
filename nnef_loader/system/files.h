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

/// Return what lies behind a descriptor.
bool tell(int descriptor, Info* info);
/// Return what has that name, where a link is no more than that.
bool describe_name(const std::string& path, Info* info);
/// Return what has that name, or is what links of that name lead to.
bool print_target(const std::string& path, Info* info);

/// Open a file or a folder; a pipe without a writer is not waited for. Returns a descriptor, or -1.
int open_to_read(const std::string& path);
/// Open what is there. Returns a descriptor, or -1.
int open_to_write(const std::string& path);
/// Make a file under a name that nothing has yet. Returns a descriptor, or -1.
int create(const std::string& path);
void close(int descriptor);
/// Close, and return whether everything written has arrived.
bool close_written(int descriptor);

/// Read available bytes, at least one unless the file ends. Returns -1 on failure.
int64_t read(int descriptor, std::span<std::byte> out);
int64_t read_at(int descriptor, int64_t offset, std::span<std::byte> out);
/// Write at least one byte. Returns -1 on failure, that of a pipe without a reader too.
int64_t write(int descriptor, std::span<const std::byte> bytes);
/// Have all that was written arrive on the disk.
bool sync(int descriptor);

/// Read the first bytes of a file, and return their number. 0 for a pipe or a device, which would
/// lose them, and for a missing file.
size_t read_head(const std::string& path, std::span<std::byte> out);

bool make_folder(const std::string& path);
void remove_folder(const std::string& path);
void remove_file(const std::string& path);
/// Rename, in the place of a file that has that name.
bool rename_over(const std::string& from, const std::string& to);
/// Give every name in a folder to `visit`, until it returns false.
bool list(const std::string& folder, const std::function<bool(std::string_view)>& visit);
/// Give the path without links, with `/` between its parts; empty if nothing has it.
std::string real_path(const std::string& path);
/// Return whether a file may have that name, in folders divided by `/`.
bool can_hold(std::string_view name);

int64_t process_id();

}  // namespace rill::system
