// Streams sound files through a voice activity detector as a device would, and reports delay, time,
// memory, agreement with labels and with the whole run; draws a picture of each file.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "examples/demo/detector.h"
#include "examples/demo/labels.h"
#include "examples/demo/picture.h"
#include "examples/demo/wav.h"

namespace {

constexpr float kThreshold = 0.5F;
constexpr char kUsage[] =
    "usage: rill-demo --model MODEL [--pulse SAMPLES] [--labels NPZ] [--out FOLDER] [--live]\n"
    "                 FILE.wav ...\n"
    "  --pulse SAMPLES  samples per step, 1600 unless given\n"
    "  --labels NPZ     one array of 0 and 1 per file name, one number per frame\n"
    "  --out FOLDER     the folder for pictures, FILE.svg; it must exist\n"
    "  --live           take each pulse in real time, like a microphone\n";

struct Options {
  std::string model;
  std::string labels;
  std::string out;
  int64_t pulse = 1600;
  bool live = false;
  std::vector<std::string> files;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--live") {
      options->live = true;
      continue;
    }
    if (word.rfind("--", 0) != 0) {
      options->files.push_back(word);
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    char* end = nullptr;
    if (word == "--model")
      options->model = value;
    else if (word == "--labels")
      options->labels = value;
    else if (word == "--out")
      options->out = value;
    else if (word == "--pulse")
      options->pulse = std::strtoll(value, &end, 10);
    else
      return false;
    if (end && *end != '\0') return false;
  }
  return !options->model.empty() && !options->files.empty();
}

std::string stem_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find_last_of('.'));
}

/// Return the resident memory of the process; 0 if the system does not report it.
double resident_mib() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576.0;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(q * last))];
}

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char out[256];
  va_list parts;
  va_start(parts, format);
  std::vsnprintf(out, sizeof(out), format, parts);
  va_end(parts);
  return out;
}

/// Draw a progress bar if standard error is a terminal.
void show_progress(size_t done, size_t all, float probability) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) return;
  constexpr size_t kCells = 40;
  const auto filled = static_cast<size_t>(std::lround(probability * kCells));
  std::fprintf(stderr, "\r  %5.1f s of %.1f s  speech |%s%s| %.2f ",
               static_cast<double>(done) / demo::kRateHz, static_cast<double>(all) / demo::kRateHz,
               std::string(filled, '#').c_str(), std::string(kCells - filled, ' ').c_str(),
               static_cast<double>(probability));
  if (done == all) std::fprintf(stderr, "\r%*s\r", 79, "");
  std::fflush(stderr);
}

struct Times {
  double median;
  double p99;
  double max;
};

struct Report {
  std::vector<std::string> lines;    ///< name and value, in two columns
  std::vector<std::string> figures;  ///< for the picture
};

void add_line(Report* report, const char* name, const std::string& value) {
  report->lines.push_back(text("  %-12s ", name) + value);
}

std::string agreement_text(const demo::Agreement& agreement) {
  const std::string accuracy = text("accuracy %.1f %%", 100 * agreement.accuracy());
  if (!agreement.has_speech()) {
    return accuracy + text(": no speech, %lld false frames of %lld",
                           static_cast<long long>(agreement.false_alarms),
                           static_cast<long long>(agreement.frames));
  }
  return accuracy + text(", F1 %.3f at %.1f", agreement.f1(), static_cast<double>(kThreshold));
}

Report describe(const demo::Detector& detector, const demo::Outcome& outcome,
                const std::vector<float>& whole, const std::vector<uint8_t>& labels) {
  Report report;
  const auto& us = outcome.pulse_us;
  const Times time{quantile(us, 0.5), quantile(us, 0.99), quantile(us, 1)};
  const double delay_ms = static_cast<double>(detector.delay_frames()) * detector.frame_ms();
  const std::string delay = text("delay %lld frames = %.0f ms",
                                 static_cast<long long>(detector.delay_frames()), delay_ms);
  add_line(&report, "delay",
           delay.substr(6) + text(", once a pulse of %.1f ms is full", detector.pulse_ms()));
  add_line(&report, "per pulse",
           text("median %.0f us, p99 %.0f us, max %.0f us of %.0f us: %.0f times real time",
                time.median, time.p99, time.max, 1000 * detector.pulse_ms(),
                1000 * detector.pulse_ms() / time.median));
  const rill_memory_info memory = detector.plan().memory();
  add_line(&report, "memory",
           text("plan %.0f KiB of weights, session %.0f KiB (state %.1f, work %.1f, io %.1f), "
                "process %.1f MiB",
                static_cast<double>(memory.weight_bytes) / 1024,
                static_cast<double>(detector.session().bytes()) / 1024,
                static_cast<double>(memory.state_bytes) / 1024,
                static_cast<double>(memory.arena_bytes) / 1024,
                static_cast<double>(memory.io_bytes) / 1024, resident_mib()));
  float difference = 0;
  const size_t frames = std::min(whole.size(), outcome.probability.size());
  for (size_t t = 0; t < frames; ++t) {
    difference = std::max(difference, std::abs(whole[t] - outcome.probability[t]));
  }
  std::string whole_text = text("the same bits in all %zu frames", frames);
  if (whole.size() != outcome.probability.size()) {
    whole_text =
        text("%zu frames, but %zu when streamed", whole.size(), outcome.probability.size());
  } else if (difference > 0) {
    whole_text =
        text("largest difference %.1e over %zu frames", static_cast<double>(difference), frames);
  }
  add_line(&report, "whole run", whole_text);
  report.figures = {
      delay + text("   \xC2\xB7   per pulse of %.0f ms: median %.0f \xC2\xB5s, p99 "
                   "%.0f \xC2\xB5s, max %.0f \xC2\xB5s   \xC2\xB7   %.0f times real time",
                   detector.pulse_ms(), time.median, time.p99, time.max,
                   1000 * detector.pulse_ms() / time.median),
      "against the whole run: " + whole_text};
  if (!labels.empty()) {
    const std::string agreement =
        agreement_text(demo::agree(outcome.probability, labels, kThreshold));
    add_line(&report, "labels", agreement);
    report.figures[1] += "   \xC2\xB7   " + agreement;
  }
  return report;
}

bool write_file(const std::string& path, const std::string& content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  return std::fclose(file) == 0 && written;
}

bool fail(const std::string& message) {
  std::fprintf(stderr, "rill-demo: %s\n", message.c_str());
  return false;
}

bool run_file(const Options& options, demo::Detector* detector, const std::string& path) {
  std::vector<float> samples;
  std::vector<uint8_t> labels;
  if (std::string problem = demo::read_wav(path, &samples); !problem.empty()) return fail(problem);
  if (!options.labels.empty()) {
    std::string problem = demo::read_labels(options.labels, stem_of(path), &labels);
    if (!problem.empty()) return fail(problem);
  }
  std::printf("%s: %.1f s\n", path.c_str(), static_cast<double>(samples.size()) / demo::kRateHz);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  auto outcome = detector->stream(samples, [&](size_t done, float probability) {
    show_progress(done, samples.size(), probability);
    if (!options.live) return;
    const std::chrono::duration<double> heard(static_cast<double>(done) / demo::kRateHz);
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(heard));
  });
  if (!outcome) return fail(path + ": " + outcome.error().text);
  auto whole = detector->whole(samples);
  if (!whole) return fail(path + ": " + whole.error().text);
  const Report report = describe(*detector, *outcome, *whole, labels);
  for (const std::string& line : report.lines) std::printf("%s\n", line.c_str());
  if (options.out.empty()) return true;

  demo::Picture picture;
  picture.title = stem_of(path) + ", streamed";
  picture.figures = report.figures;
  picture.samples = samples;
  picture.probability = outcome->probability;
  picture.labels = labels;
  picture.pulse_us = outcome->pulse_us;
  picture.rate_hz = demo::kRateHz;
  picture.frame_ms = detector->frame_ms();
  picture.pulse_ms = detector->pulse_ms();
  picture.threshold = kThreshold;
  const std::string target = options.out + "/" + stem_of(path) + ".svg";
  if (!write_file(target, demo::draw(picture))) return fail(target + ": cannot be written");
  std::printf("  %-12s %s\n", "picture", target.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) return std::fprintf(stderr, "%s", kUsage), 2;
  auto detector = demo::Detector::open(options.model, options.pulse);
  if (!detector) return fail(detector.error().text), 1;
  bool all_well = true;
  for (const std::string& path : options.files) {
    all_well &= run_file(options, &*detector, path);
  }
  return all_well ? 0 : 1;
}
