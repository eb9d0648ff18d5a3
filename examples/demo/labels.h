#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// Read the array `name` of an npz file to `labels`: one 0 or 1 per frame; empty if there is none.
/// Return an error message, or "".
std::string read_labels(const std::string& path, const std::string& name,
                        std::vector<uint8_t>* labels);

/// Counts of the agreement of decisions with labels.
struct Agreement {
  int64_t frames = 0;
  int64_t hits = 0;          ///< speech found
  int64_t misses = 0;        ///< speech not found
  int64_t false_alarms = 0;  ///< speech found where there is none

  double accuracy() const {
    return frames == 0
               ? 0.0
               : static_cast<double>(frames - misses - false_alarms) / static_cast<double>(frames);
  }
  bool has_speech() const { return hits + misses > 0; }
  double f1() const {
    const auto twice = static_cast<double>(2 * hits);
    return twice / (twice + static_cast<double>(misses + false_alarms));
  }
};

Agreement agree(const std::vector<float>& probability, const std::vector<uint8_t>& labels,
                float threshold);

}  // namespace demo
