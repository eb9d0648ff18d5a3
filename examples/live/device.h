// Sources of sound: a microphone, or a file in place of one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rill/sound.hpp"

namespace live {

/// Receives a block in the device's thread. It must not block.
using Heard = std::function<void(const rill::ConstSound&)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual int64_t rate_hz() const = 0;
  virtual int32_t channels() const = 0;
  /// Start to deliver sound. Return an error message, or "".
  virtual std::string start(Heard heard) = 0;
  /// Return whether more sound may come: false after the end of a file, or if a device has
  /// vanished.
  virtual bool running() = 0;
  /// Return the error that ended the sound; "" at the end of a file.
  virtual std::string fault() { return {}; }
  virtual void stop() = 0;
};

/// A device, or an error message.
struct Opened {
  std::unique_ptr<Device> device;
  std::string wrong;
};

/// Open a WAV file of 16 or 32 bit integers or 32 bit floats, any rate and channels. Blocks of
/// `block` frames come in real time; if `fast`, whenever `has_space` returns true.
Opened open_file(const std::string& path, int64_t block, bool fast,
                 std::function<bool()> has_space);

/// Open a microphone by its number, the system's default if that is negative. `block`: frames per
/// call, 0 for the device's choice.
Opened open_microphone(int number, int64_t block);
/// Return the list of microphones, one per line.
std::string list_microphones();

}  // namespace live
