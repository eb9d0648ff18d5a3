#include "examples/demo/detector.h"

#include <algorithm>
#include <chrono>

#include "examples/demo/wav.h"

namespace demo {

rill::Result<Detector> Detector::open(const std::string& path, int64_t pulse) {
  auto model = rill::Model::load(path);
  if (!model) return model.error();
  if (auto bound = model->set("B", 1); !bound) return bound.error();
  auto pulsed = model->clone();
  if (!pulsed) return pulsed.error();
  if (auto done = pulsed->pulse("S", pulse); !done) return done.error();
  auto plan = pulsed->prepare();
  if (!plan) return plan.error();
  auto stream = plan->stream(0);
  if (!stream) return stream.error();
  auto session = rill::Session::make(*plan);
  if (!session) return session.error();
  return Detector(std::move(model).value(), std::move(session).value(), *stream);
}

double Detector::frame_ms() const {
  return 1000.0 / kRateHz * static_cast<double>(stream_.rate_den) /
         static_cast<double>(stream_.rate_num);
}

double Detector::pulse_ms() const { return 1000.0 / kRateHz * static_cast<double>(pulse()); }

rill::Result<Outcome> Detector::stream(const std::vector<float>& samples,
                                       const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  if (auto fresh = session_.reset(); !fresh) return fresh.error();
  Outcome out;
  const auto input = session_.input<float>(0);
  const auto size = static_cast<size_t>(pulse());
  const auto collect = [&](Clock::time_point begin) {
    const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
    out.pulse_us.push_back(taken.count());
    const auto frames = session_.valid<float>(0);
    for (int64_t t = 0; frames && t < frames.extent(1); ++t) {
      out.probability.push_back(frames(0, t));
    }
  };
  for (size_t at = 0; at < samples.size(); at += size) {
    const size_t count = std::min(size, samples.size() - at);
    std::copy_n(samples.data() + at, count, input.data());
    const bool last = at + count == samples.size();
    const auto begin = Clock::now();
    auto ran = last ? session_.step_last(static_cast<int64_t>(count)) : session_.step();
    if (!ran) return ran.error();
    collect(begin);
    progress(at + count, out.probability.empty() ? 0.0F : out.probability.back());
  }
  for (int64_t left = 1; left > 0;) {
    const auto begin = Clock::now();
    auto flushed = session_.flush();
    if (!flushed) return flushed.error();
    left = *flushed;
    if (session_.valid<float>(0)) collect(begin);
  }
  return out;
}

rill::Result<std::vector<float>> Detector::whole(const std::vector<float>& samples) const {
  auto model = model_.clone();
  if (!model) return model.error();
  const auto length = static_cast<int64_t>(samples.size());
  if (auto bound = model->set("S", length); !bound) return bound.error();
  auto plan = model->prepare();
  if (!plan) return plan.error();
  auto session = rill::Session::make(*plan);
  if (!session) return session.error();
  std::copy(samples.begin(), samples.end(), session->input<float>(0).data());
  if (auto ran = session->step(); !ran) return ran.error();
  const auto output = session->output<float>(0);
  return std::vector<float>(output.data(), output.data() + output.size());
}

}  // namespace demo
