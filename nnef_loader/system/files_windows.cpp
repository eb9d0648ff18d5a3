#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "core/base/search.h"
#include "nnef_loader/system/files.h"

namespace rill::system {
namespace {

std::wstring wide(std::string_view text) {
  const auto size = static_cast<int>(std::min<size_t>(text.size(), INT_MAX));
  std::wstring out(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, out.data(), static_cast<int>(out.size()));
  return out;
}

std::string utf8(const wchar_t* text) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  if (size <= 1) return {};
  std::string out(static_cast<size_t>(size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, out.data(), size, nullptr, nullptr);
  out.pop_back();
  return out;
}

int error_of(DWORD code) {
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_DRIVE:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
      return EPIPE;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
      return ENOMEM;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    case ERROR_DIR_NOT_EMPTY:
      return ENOTEMPTY;
    default:
      return EIO;
  }
}

/// Store the reason of a failure in `errno`; return whether the call succeeded.
bool done(bool succeeded) {
  if (!succeeded) errno = error_of(GetLastError());
  return succeeded;
}

int open(const std::string& path, DWORD access, DWORD how, DWORD flags) {
  const HANDLE handle =
      CreateFileW(wide(path).c_str(), access,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, how, flags,
                  nullptr);
  if (!done(handle != INVALID_HANDLE_VALUE)) return -1;
  const int mode = _O_BINARY | _O_NOINHERIT | (access == GENERIC_READ ? _O_RDONLY : _O_WRONLY);
  const int descriptor = _open_osfhandle(reinterpret_cast<intptr_t>(handle), mode);
  if (descriptor < 0) CloseHandle(handle);
  return descriptor;
}

HANDLE handle_of(int descriptor) { return reinterpret_cast<HANDLE>(_get_osfhandle(descriptor)); }

DWORD at_most(size_t bytes) { return static_cast<DWORD>(std::min<size_t>(bytes, size_t{1} << 30)); }

struct CloseHandleLater {
  HANDLE handle;
  ~CloseHandleLater() { CloseHandle(handle); }
};

bool report_opened(const std::string& path, DWORD flags, Info* info) {
  const int descriptor =
      open(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags);
  if (descriptor < 0) return false;
  const bool known = stat_open(descriptor, info);
  close(descriptor);
  return known;
}

/// Device names of Windows, with or without an extension.
bool is_device(std::string_view part) {
  std::string stem(part.substr(0, part.find('.')));
  for (char& c : stem) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  if (stem == "CON" || stem == "PRN" || stem == "AUX" || stem == "NUL") return true;
  return stem.size() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT")) &&
         stem[3] >= '0' && stem[3] <= '9';
}

}  // namespace

bool stat_open(int descriptor, Info* info) {
  const HANDLE handle = handle_of(descriptor);
  const DWORD type = GetFileType(handle);
  if (type == FILE_TYPE_PIPE || type == FILE_TYPE_CHAR) {
    *info = {type == FILE_TYPE_PIPE ? Kind::kPipe : Kind::kDevice, 0};
    return true;
  }
  BY_HANDLE_FILE_INFORMATION found;
  if (!done(GetFileInformationByHandle(handle, &found) != 0)) return false;
  info->kind = Kind::kFile;
  if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) info->kind = Kind::kFolder;
  if (found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) info->kind = Kind::kLink;
  info->bytes = static_cast<int64_t>(uint64_t{found.nFileSizeHigh} << 32 | found.nFileSizeLow);
  return true;
}

bool stat_name(const std::string& path, Info* info) {
  return report_opened(path, FILE_FLAG_OPEN_REPARSE_POINT, info);
}

bool stat_target(const std::string& path, Info* info) { return report_opened(path, 0, info); }

int open_to_read(const std::string& path) {
  return open(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
}

int open_to_write(const std::string& path) {
  return open(path, GENERIC_WRITE, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
}

int create(const std::string& path) {
  return open(path, GENERIC_WRITE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL);
}

void close(int descriptor) { _close(descriptor); }

bool close_written(int descriptor) { return _close(descriptor) == 0; }

int64_t read(int descriptor, std::span<std::byte> out) {
  DWORD got = 0;
  if (ReadFile(handle_of(descriptor), out.data(), at_most(out.size()), &got, nullptr)) return got;
  const DWORD code = GetLastError();
  if (code == ERROR_HANDLE_EOF || code == ERROR_BROKEN_PIPE) return 0;
  errno = error_of(code);
  return -1;
}

int64_t read_at(int descriptor, int64_t offset, std::span<std::byte> out) {
  OVERLAPPED where{};
  where.Offset = static_cast<DWORD>(offset);
  where.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD got = 0;
  if (ReadFile(handle_of(descriptor), out.data(), at_most(out.size()), &got, &where)) return got;
  const DWORD code = GetLastError();
  if (code == ERROR_HANDLE_EOF) return 0;
  errno = error_of(code);
  return -1;
}

int64_t write(int descriptor, std::span<const std::byte> bytes) {
  DWORD put = 0;
  const bool written =
      WriteFile(handle_of(descriptor), bytes.data(), at_most(bytes.size()), &put, nullptr) != 0;
  return done(written) ? int64_t{put} : -1;
}

bool sync(int descriptor) { return done(FlushFileBuffers(handle_of(descriptor)) != 0); }

bool make_folder(const std::string& path) {
  return done(CreateDirectoryW(wide(path).c_str(), nullptr) != 0);
}

void remove_folder(const std::string& path) { RemoveDirectoryW(wide(path).c_str()); }

void remove_file(const std::string& path) { DeleteFileW(wide(path).c_str()); }

bool rename_over(const std::string& from, const std::string& to) {
  return done(MoveFileExW(wide(from).c_str(), wide(to).c_str(), MOVEFILE_REPLACE_EXISTING) != 0);
}

bool list(const std::string& folder, const std::function<bool(std::string_view)>& visit) {
  WIN32_FIND_DATAW found;
  const HANDLE search = FindFirstFileW(wide(folder + "/*").c_str(), &found);
  if (!done(search != INVALID_HANDLE_VALUE)) return false;
  bool more = true;
  while (more && visit(utf8(found.cFileName))) more = FindNextFileW(search, &found) != 0;
  const bool complete = more || GetLastError() == ERROR_NO_MORE_FILES;
  if (!complete) errno = error_of(GetLastError());
  FindClose(search);
  return complete;
}

std::string real_path(const std::string& path) {
  const HANDLE handle = CreateFileW(wide(path).c_str(), 0,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (!done(handle != INVALID_HANDLE_VALUE)) return {};
  const CloseHandleLater closing{handle};
  std::wstring real(32768, L'\0');
  const DWORD size =
      GetFinalPathNameByHandleW(handle, real.data(), static_cast<DWORD>(real.size()), 0);
  if (!done(size > 0 && size < real.size())) return {};
  std::string out = utf8(real.c_str());
  constexpr std::string_view kVerbatim = "\\\\?\\";
  const bool shared = out.starts_with("\\\\?\\UNC\\");
  if (out.starts_with(kVerbatim) && !shared) out.erase(0, kVerbatim.size());
  std::replace(out.begin(), out.end(), '\\', '/');
  return out;
}

bool can_hold(std::string_view name) {
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    const bool plain = none_of(part, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 ||
             std::string_view("<>:\"\\|?*").find(c) != std::string_view::npos;
    });
    if (!plain || part.ends_with('.') || part.ends_with(' ') || is_device(part)) return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

int64_t process_id() { return GetCurrentProcessId(); }

}  // namespace rill::system
