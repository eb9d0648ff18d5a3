// A C++ plugin built from rill/audio.hpp and standard templates. Its host sees only its entry
// point.
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "rill/audio.hpp"

/// GCC makes the static variables of inline functions and templates unique symbols, which would
/// keep dlclose from unloading the plugin. `rill_plugin` turns this off.
inline int& calls() {
  static int count = 0;
  return count;
}
template <class T>
struct Kept {
  static std::map<std::string, T> all;
};
template <class T>
std::map<std::string, T> Kept<T>::all;

namespace {

int fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  return 1;
}

int play(rill::AudioEffect* effect) {
  std::vector<float> sound(256);
  double sum = 0;
  for (int block = 0; block < 60; ++block) {
    for (size_t i = 0; i < sound.size(); ++i) {
      sound[i] = 0.1f * static_cast<float>(
                            std::sin(0.05 * static_cast<double>(i + 256u * unsigned(block))));
    }
    const auto frames = static_cast<int64_t>(sound.size());
    const rill_status status =
        effect->process(rill::ConstSound::interleaved(sound.data(), 1, frames),
                        rill::Sound::interleaved(sound.data(), 1, frames));
    if (status != RILL_OK) return fail(rill_status_name(status));
    for (const float value : sound) sum += std::abs(static_cast<double>(value));
  }
  Kept<double>::all["sum"] += sum;
  return sum > 0 ? 0 : fail("silence");
}

}  // namespace

#ifdef _WIN32
extern "C" int plugin_entry(int argc, char** argv);
#else
extern "C" __attribute__((visibility("default"))) int plugin_entry(int argc, char** argv);
#endif

int plugin_entry(int argc, char** argv) {
  static std::once_flag once;
  std::call_once(once, [] { ++calls(); });
  if (argc < 2) return fail("plugin_entry: no model");
  // A failed call stores an error for this thread.
  if (rill::Model::load("/nowhere/model.nnef.tgz")) return fail("loaded /nowhere/model.nnef.tgz");
  auto model = rill::Model::load(argv[1]);
  if (!model) return fail(model.error().text);
  if (auto set = model->set("B", 1); !set) return fail(set.error().text);
  if (auto pulsed = model->pulse("S", "auto:max_latency=480"); !pulsed)
    return fail(pulsed.error().text);
  auto plan = model->prepare();
  if (!plan) return fail(plan.error().text);
  rill::AudioOptions options;
  options.device_rate = 44100;
  options.model_rate = 16000;
  auto effect = rill::AudioEffect::make(*plan, options);
  if (!effect) return fail(effect.error().text);
  const std::function<int(rill::AudioEffect*)> play_it = play;
  std::ostringstream text;
  text << "latency of " << effect->latency() << " frames, expected more (call " << calls() << ')';
  return effect->latency() > 0 ? play_it(&*effect) : fail(text.str());
}
