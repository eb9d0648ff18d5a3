#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rill/rill.hpp"

namespace demo {

/// The outputs for one file, streamed.
struct Outcome {
  std::vector<float> probability;  ///< one per frame
  std::vector<double> pulse_us;    ///< time of every step
};

/// The model: samples in, one probability of speech per frame out.
class Detector {
 public:
  static rill::Result<Detector> open(const std::string& path, int64_t pulse);

  int64_t pulse() const { return stream_.input_pulse; }
  int64_t delay_frames() const { return stream_.delay; }
  double frame_ms() const;
  double pulse_ms() const;
  const rill::Plan& plan() const { return session_.plan(); }
  const rill::Session& session() const { return session_; }

  /// Run samples pulse by pulse, as they would come from a microphone. `progress` is called after
  /// every pulse with the samples that went in and the last probability that came out.
  using Progress = std::function<void(size_t samples, float probability)>;
  rill::Result<Outcome> stream(const std::vector<float>& samples, const Progress& progress);
  /// Run all samples at once.
  rill::Result<std::vector<float>> whole(const std::vector<float>& samples) const;

 private:
  Detector(rill::Model unpulsed, rill::Session session, rill_stream_info stream)
      : model_(std::move(unpulsed)), session_(std::move(session)), stream_(stream) {}

  rill::Model model_;
  rill::Session session_;
  rill_stream_info stream_;
};

}  // namespace demo
