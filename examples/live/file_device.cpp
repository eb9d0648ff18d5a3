#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "device.h"

namespace live {
namespace {

struct Wav {
  int64_t rate = 0;
  int32_t channels = 0;
  rill::SampleFormat format = rill::SampleFormat::kInt16;
  int64_t frame_bytes = 0;
  int64_t frames = 0;
  std::vector<char> data;
};

uint32_t number(const std::string& bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

std::string parse_format(const std::string& chunk, Wav* wav) {
  if (chunk.size() < 16) return "its format is cut short";
  uint32_t kind = number(chunk, 0, 2);
  const uint32_t bits = number(chunk, 14, 2);
  if (kind == 0xFFFE && chunk.size() >= 26) kind = number(chunk, 24, 2);
  wav->channels = static_cast<int32_t>(number(chunk, 2, 2));
  wav->rate = number(chunk, 4, 4);
  if (kind == 1 && bits == 16) {
    wav->format = rill::SampleFormat::kInt16;
  } else if (kind == 1 && bits == 32) {
    wav->format = rill::SampleFormat::kInt32;
  } else if (kind == 3 && bits == 32) {
    wav->format = rill::SampleFormat::kFloat;
  } else {
    return "expected 16 or 32 bit integers or 32 bit floats";
  }
  if (wav->channels < 1 || wav->rate < 1) return "it has no channels or no rate";
  wav->frame_bytes = int64_t{bits / 8} * wav->channels;
  return {};
}

std::string read_wav(const std::string& path, Wav* wav) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "it cannot be read";
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < 12 || bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0) {
    return "not a WAV file";
  }
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string name = bytes.substr(at, 4);
    const size_t size = std::min<size_t>(number(bytes, at + 4, 4), bytes.size() - at - 8);
    if (name == "fmt ") {
      const std::string wrong = parse_format(bytes.substr(at + 8, size), wav);
      if (!wrong.empty()) return wrong;
    } else if (name == "data" && wav->frame_bytes > 0) {
      wav->frames = static_cast<int64_t>(size) / wav->frame_bytes;
      wav->data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at + 8),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at + 8 + size));
      return {};
    }
    at += 8 + size + size % 2;
  }
  return "it has no samples";
}

class FileDevice : public Device {
 public:
  FileDevice(Wav wav, int64_t block, bool fast, std::function<bool()> has_space)
      : wav_(std::move(wav)),
        block_(block > 0 ? block : 480),
        fast_(fast),
        has_space_(std::move(has_space)) {}
  ~FileDevice() override { FileDevice::stop(); }

  int64_t rate_hz() const override { return wav_.rate; }
  int32_t channels() const override { return wav_.channels; }
  bool running() override { return !ended_; }

  std::string start(Heard heard) override {
    thread_ = std::thread([this, heard = std::move(heard)] { play(heard); });
    return {};
  }
  void stop() override {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void play(const Heard& heard) {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t at = 0; at < wav_.frames && !stopping_; at += block_) {
      while (fast_ && !has_space_() && !stopping_) std::this_thread::yield();
      if (!fast_) {
        const double due_s = static_cast<double>(at) / static_cast<double>(wav_.rate);
        std::this_thread::sleep_until(begin + std::chrono::duration<double>(due_s));
      }
      rill::ConstSound sound;
      sound.format = wav_.format;
      sound.channels = wav_.channels;
      sound.frames = std::min(block_, wav_.frames - at);
      sound.data = wav_.data.data() + at * wav_.frame_bytes;
      heard(sound);
    }
    ended_ = true;
  }

  Wav wav_;
  int64_t block_;
  bool fast_;
  std::function<bool()> has_space_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace

Opened open_file(const std::string& path, int64_t block, bool fast,
                 std::function<bool()> has_space) {
  Wav wav;
  const std::string wrong = read_wav(path, &wav);
  if (!wrong.empty()) return {nullptr, path + ": " + wrong};
  return {std::make_unique<FileDevice>(std::move(wav), block, fast, std::move(has_space)), {}};
}

}  // namespace live
