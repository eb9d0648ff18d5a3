#include "examples/demo/wav.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace demo {
namespace {

constexpr uint16_t kPcm = 1;
constexpr uint16_t kExtensible = 0xFFFE;  // the real format is in the first bytes of a GUID

std::string read_bytes(const std::string& path, std::vector<uint8_t>* bytes) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return path + ": cannot be opened";
  uint8_t block[65536];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof(block), file)) > 0;) {
    bytes->insert(bytes->end(), block, block + got);
  }
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  return failed ? path + ": cannot be read" : "";
}

// WAV files are little endian on every machine.
uint32_t number(const std::vector<uint8_t>& bytes, size_t at, int count) {
  uint32_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | bytes[at + static_cast<size_t>(i)];
  return value;
}

bool tag_at(const std::vector<uint8_t>& bytes, size_t at, const char* tag) {
  return std::memcmp(bytes.data() + at, tag, 4) == 0;
}

std::string check_format(const std::string& path, const std::vector<uint8_t>& bytes, size_t at,
                         size_t size) {
  if (size < 16) return path + ": its format chunk is too short";
  auto format = static_cast<uint16_t>(number(bytes, at, 2));
  if (format == kExtensible && size >= 26) {
    format = static_cast<uint16_t>(number(bytes, at + 24, 2));
  }
  const uint32_t channels = number(bytes, at + 2, 2);
  const uint32_t rate = number(bytes, at + 4, 4);
  const uint32_t bits = number(bytes, at + 14, 2);
  if (format == kPcm && channels == 1 && rate == kRateHz && bits == 16) return "";
  return path + ": expected 16-bit PCM, mono, 16000 Hz; found " + std::to_string(bits) + "-bit " +
         (format == kPcm ? "PCM" : "format " + std::to_string(format)) + ", " +
         std::to_string(channels) + " channel(s), " + std::to_string(rate) +
         " Hz. Convert it: " + "ffmpeg -i IN -ac 1 -ar 16000 -c:a pcm_s16le OUT.wav";
}

}  // namespace

std::string read_wav(const std::string& path, std::vector<float>* samples) {
  std::vector<uint8_t> bytes;
  if (std::string problem = read_bytes(path, &bytes); !problem.empty()) return problem;
  if (bytes.size() < 12 || !tag_at(bytes, 0, "RIFF") || !tag_at(bytes, 8, "WAVE")) {
    return path + ": not a WAV file";
  }
  bool format_known = false;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const size_t body = at + 8;
    // Programs that write into a pipe leave the size open: the chunk then ends with the file.
    const size_t size = std::min<size_t>(number(bytes, at + 4, 4), bytes.size() - body);
    if (tag_at(bytes, at, "fmt ")) {
      std::string problem = check_format(path, bytes, body, size);
      if (!problem.empty()) return problem;
      format_known = true;
    } else if (tag_at(bytes, at, "data")) {
      if (!format_known) return path + ": its data come before their format";
      samples->clear();
      for (size_t i = 0; i + 1 < size; i += 2) {
        const auto sample = static_cast<int16_t>(number(bytes, body + i, 2));
        samples->push_back(static_cast<float>(sample) / 32768.0F);
      }
      return samples->empty() ? path + ": holds no sound" : "";
    }
    at = body + size + size % 2;  // chunks begin at even offsets
  }
  return path + ": holds no sound";
}

}  // namespace demo
