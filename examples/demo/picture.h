#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// The content of a picture.
struct Picture {
  std::string title;
  std::vector<std::string> figures;  ///< short lines under the title
  std::vector<float> samples;
  std::vector<float> probability;  ///< one per frame
  std::vector<uint8_t> labels;     ///< one per frame, or empty
  std::vector<double> pulse_us;
  double rate_hz = 16000;
  double frame_ms = 10;
  double pulse_ms = 100;
  float threshold = 0.5F;
};

/// Draw as SVG: the sound, the probability of speech over it, the labels as bands, and the time
/// that each pulse took.
std::string draw(const Picture& picture);

}  // namespace demo
