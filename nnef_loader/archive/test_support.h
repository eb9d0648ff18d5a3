#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  Bytes out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  return out;
}

inline Entry entry(std::string name, std::string_view text) {
  return {std::move(name), bytes_of(text)};
}

inline std::string text_of(const Entry& entry) {
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

/// Return the entries as `name=text`, one after another.
inline std::string listing(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) out += entry.name + "=" + text_of(entry) + ";";
  return out;
}

/// Set the program's time zone; null restores the machine's.
inline void set_time_zone(const char* zone) {
#if defined(_WIN32)
  _putenv_s("TZ", zone ? zone : "");
#else
  if (zone) {
    setenv("TZ", zone, 1);
  } else {
    unsetenv("TZ");
  }
#endif
}

/// A separate folder for each test, removed afterwards.
class InFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("rill_") + info->name() + "_" + std::to_string(system::process_id()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string get(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Return the names in the folder, sorted, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& item : std::filesystem::directory_iterator(folder_)) {
      out.push_back(item.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::filesystem::path folder_;
};

}  // namespace rill::nnef
