// Times steps on silence after speech and on an input of denormals. In ten seconds of silence,
// states decay to denormals, which many processors compute a hundred times slower.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rill/rill.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kUsage[] =
    "usage: rill-bench-silence [--set SYMBOL=VALUE] [--pulse SYMBOL=FRAMES] [--steps N] MODEL ...\n"
    "Steps a stream on noise that swells and fades like speech, on silence, and on denormal\n"
    "numbers, N steps each; by default 1000, ten seconds of pulses of 10 ms. Fails if the median\n"
    "step on silence or on denormal numbers takes over 1.1 times as long as on speech.\n";

struct Options {
  std::vector<std::pair<std::string, std::string>> symbols;
  std::pair<std::string, std::string> pulse = {"S", "8"};
  int steps = 1000;
  std::vector<std::string> models;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options->models.push_back(word);
      continue;
    }
    if (++i == argc) return false;
    const std::string value = argv[i];
    const size_t equals = value.find('=');
    const auto pair = equals == std::string::npos
                          ? std::pair<std::string, std::string>()
                          : std::pair(value.substr(0, equals), value.substr(equals + 1));
    if (word == "--set" && !pair.first.empty()) {
      options->symbols.push_back(pair);
    } else if (word == "--pulse" && !pair.first.empty()) {
      options->pulse = pair;
    } else if (word != "--steps" || (options->steps = std::atoi(value.c_str())) < 1) {
      return false;
    }
  }
  return !options->models.empty();
}

enum class Sound { kSpeech, kSilence, kDenormals };

void fill(rill::Session* session, Sound sound, int step) {
  // Syllables: four per second, at 100 steps per second.
  const float swell = 0.5F - 0.5F * std::cos(static_cast<float>(step) * 0.25F);
  const auto inputs = session->plan().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto floats = session->input<float>(i);  // other types stay 0
    for (int64_t k = 0; k < floats.size(); ++k) {
      const float noise = static_cast<float>(std::rand()) / 1073741824.0F - 1.0F;
      float& value = floats.data()[k];
      if (sound == Sound::kSpeech) value = noise * swell;
      if (sound == Sound::kSilence) value = 0.0F;
      if (sound == Sound::kDenormals) value = noise * 1e-39F;
    }
  }
}

/// Return the median over the second half of the steps, when states have decayed.
rill::Result<double> median_us(rill::Session* session, Sound sound, int steps) {
  std::vector<double> times;
  for (int step = 0; step < steps; ++step) {
    fill(session, sound, step);
    const auto begin = Clock::now();
    auto ran = session->step();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (!ran) return ran.error();
    if (step >= steps / 2) times.push_back(us);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

rill::Result<bool> measure(const std::string& path, const Options& options) {
  auto model = rill::Model::load(path);
  if (!model) return model.error();
  for (const auto& [symbol, value] : options.symbols) {
    auto bound = model->set(symbol, value);
    if (!bound && bound.error().code != RILL_E_SYMBOL) return bound.error();
  }
  auto pulsed = model->pulse(options.pulse.first, std::atoll(options.pulse.second.c_str()));
  if (!pulsed) return pulsed.error();
  auto plan = model->prepare();
  if (!plan) return plan.error();
  auto session = rill::Session::make(*plan);
  if (!session) return session.error();
  double us[3] = {};
  for (const Sound sound : {Sound::kSpeech, Sound::kSilence, Sound::kDenormals}) {
    auto median = median_us(&*session, sound, options.steps);
    if (!median) return median.error();
    us[static_cast<size_t>(sound)] = *median;
  }
  const double most = std::max(us[1], us[2]) / us[0];
  std::printf("%-70s %9.2f %9.2f %9.2f %7.2f\n", path.c_str(), us[0], us[1], us[2], most);
  return most <= 1.1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) return std::fprintf(stderr, "%s", kUsage), 2;
  std::printf("%s, %s\n%-70s %9s %9s %9s %7s\n", rill_build_info(), rill_cpu(), "model, us a step",
              "speech", "silence", "denormals", "most");
  int failures = 0;
  for (const std::string& path : options.models) {
    auto good = measure(path, options);
    if (good && *good) continue;
    ++failures;
    if (!good) std::fprintf(stderr, "%s: %s\n", path.c_str(), good.error().text.c_str());
  }
  return failures == 0 ? 0 : 1;
}
