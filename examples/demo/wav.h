#pragma once

#include <string>
#include <vector>

namespace demo {

constexpr int kRateHz = 16000;

/// Read a WAV file of 16-bit PCM, mono, 16 kHz. Units: samples in [-1, 1). Return an error message,
/// or "".
std::string read_wav(const std::string& path, std::vector<float>* samples);

}  // namespace demo
