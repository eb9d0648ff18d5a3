#include "device.h"

namespace live {

Opened open_microphone(int, int64_t) {
  return {nullptr, "this program was built without PortAudio: it hears files, with --file"};
}

std::string list_microphones() { return {}; }

}  // namespace live
