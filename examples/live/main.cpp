// Listens to a microphone, and shows the probability of speech by a model of voice activity.
//   rill-live MODEL [--file FILE.wav [--fast]] [--device N] [--block FRAMES] [--pulse FRAMES]
//   rill-live --list
// The model runs in the callback of the device; a ring passes its outputs to the main thread.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "device.h"
#include "rill/audio.hpp"

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace live {
namespace {

constexpr int64_t kUsualRate = 16000;  // Hz, for models without a sample rate
constexpr size_t kRingFrames = 4096;
constexpr int kMeterColumns = 40;
constexpr double kLineSeconds = 0.1;  // between lines unless the output is a terminal

std::sig_atomic_t volatile interrupted = 0;

struct Arguments {
  std::string model;
  std::string file;
  std::string pulse = "auto:max_latency=1600";
  bool fast = false;
  bool list = false;
  int device = -1;
  int64_t block = 0;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--fast") {
      out.fast = true;
    } else if (word == "--list") {
      out.list = true;
    } else if (word.rfind("--", 0) != 0 && out.model.empty()) {
      out.model = word;
    } else if (value == nullptr) {
      return std::nullopt;
    } else if (word == "--file") {
      out.file = argv[++i];
    } else if (word == "--pulse") {
      out.pulse = argv[++i];
    } else if (word == "--device") {
      out.device = std::atoi(argv[++i]);
    } else if (word == "--block") {
      out.block = std::atoll(argv[++i]);
    } else {
      return std::nullopt;
    }
  }
  if (out.model.empty() && !out.list) return std::nullopt;
  return out;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return 1;
}

/// A model that listens, and the duration of its frames.
struct Ear {
  rill::AudioListener listener;
  double frame_seconds;
};

rill::Result<Ear> open_ear(const Arguments& arguments, const Device& device) {
  auto model = rill::Model::load(arguments.model);
  if (!model) return model.error();
  if (auto status = model->set("B", 1); !status) return status.error();
  if (auto status = model->pulse("S", arguments.pulse); !status) return status.error();
  auto plan = model->prepare();
  if (!plan) return plan.error();
  auto stream = plan->stream(0);
  if (!stream) return stream.error();
  auto rate = rill::sample_rate(*model);
  rill::AudioOptions options;
  options.device_rate = device.rate_hz();
  options.model_rate = rate ? *rate : kUsualRate;
  options.channels = device.channels();
  auto listener = rill::AudioListener::make(*plan, options);
  if (!listener) return listener.error();
  const auto frames_per_second = static_cast<double>(options.model_rate) *
                                 static_cast<double>(stream->rate_num) /
                                 static_cast<double>(stream->rate_den);
  return Ear{std::move(listener).value(), 1 / frames_per_second};
}

/// Shows a probability per frame: as a moving bar, or as lines.
class Meter {
 public:
  Meter(bool terminal, double frame_seconds) : terminal_(terminal), seconds_(frame_seconds) {}

  void show(float speech) {
    ++frames_;
    speaking_ += speech > 0.5F ? 1 : 0;
    const double at = static_cast<double>(frames_) * seconds_;
    if (terminal_) {
      char bar[kMeterColumns + 1] = {};
      for (int i = 0; i < kMeterColumns; ++i) {
        bar[i] = static_cast<float>(i) < speech * kMeterColumns ? '#' : '-';
      }
      std::printf("\r%8.2f s [%s] %4.2f %s", at, bar, static_cast<double>(speech),
                  speech > 0.5F ? "speech" : "      ");
      std::fflush(stdout);
    } else if (at >= next_) {
      std::printf("%.2f s %.3f\n", at, static_cast<double>(speech));
      next_ += kLineSeconds;
    }
  }
  void finish(int64_t lost) const {
    const auto frames = static_cast<double>(frames_ > 0 ? frames_ : 1);
    const double share = 100.0 * static_cast<double>(speaking_) / frames;
    std::printf("%s%lld frames, speech in %.1f %%, %lld lost\n", terminal_ ? "\n" : "",
                static_cast<long long>(frames_), share, static_cast<long long>(lost));
  }

 private:
  bool terminal_;
  double seconds_;
  double next_ = 0;
  int64_t frames_ = 0;
  int64_t speaking_ = 0;
};

bool is_terminal() {
#if defined(_WIN32)
  return _isatty(_fileno(stdout)) != 0;
#else
  return isatty(STDOUT_FILENO) == 1;
#endif
}

int listen(const Arguments& arguments) {
  auto ring = rill::Ring<float>::make(kRingFrames);
  if (!ring) return fail(ring.error().text);
  const auto has_space = [&ring] { return ring->writable() > kRingFrames / 2; };
  const Opened opened = arguments.file.empty()
                            ? open_microphone(arguments.device, arguments.block)
                            : open_file(arguments.file, arguments.block, arguments.fast, has_space);
  if (!opened.device) return fail(opened.wrong);
  auto ear = open_ear(arguments, *opened.device);
  if (!ear) return fail(ear.error().text);

  // Set by the callback: frames that did not fit the ring, and the status of a failed step.
  std::atomic<int64_t> lost{0};
  std::atomic<rill_status> failed{RILL_OK};
  const auto emit = [&](size_t output, rill::TensorView<const float> frames) {
    if (output != 0) return;
    for (int64_t t = 0; t < frames.extent(1); ++t) {
      const float speech = frames(0, t);
      if (ring->write(&speech, 1) == 0) lost.fetch_add(1, std::memory_order_relaxed);
    }
  };
  const std::string wrong = opened.device->start([&](const rill::ConstSound& sound) {
    const rill_status status = ear->listener.push(sound, emit);
    if (status != RILL_OK) failed.store(status, std::memory_order_relaxed);
  });
  if (!wrong.empty()) return fail(wrong);

  std::signal(SIGINT, [](int) { interrupted = 1; });
  Meter meter(is_terminal(), ear->frame_seconds);
  const auto drain = [&] {
    float speech = 0;
    while (ring->read(&speech, 1) == 1) meter.show(speech);
  };
  while (!interrupted && failed.load() == RILL_OK && opened.device->running()) {
    drain();
    std::this_thread::sleep_for(std::chrono::milliseconds(arguments.fast ? 1 : 20));
  }
  const bool vanished = !interrupted && !opened.device->running() && arguments.file.empty();
  opened.device->stop();
  drain();
  if (failed.load() == RILL_OK && !arguments.file.empty()) {
    // The end of a file is the end of its stream.
    failed.store(ear->listener.finish(emit));
    drain();
  }
  meter.finish(lost.load());
  if (failed.load() != RILL_OK) return fail(rill_status_name(failed.load()));
  return vanished ? fail(opened.device->fault()) : 0;
}

}  // namespace
}  // namespace live

int main(int argc, char** argv) {
  const auto arguments = live::parse(argc, argv);
  if (!arguments) {
    return live::fail("usage: rill-live MODEL [--file FILE.wav [--fast]] [--device N] "
                      "[--block FRAMES] [--pulse FRAMES], or rill-live --list"),
           2;
  }
  if (!arguments->list) return live::listen(*arguments);
  const std::string found = live::list_microphones();
  std::printf("%s", found.empty() ? "there is no microphone\n" : found.c_str());
  return 0;
}
