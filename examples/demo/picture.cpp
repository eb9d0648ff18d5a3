#include "examples/demo/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace demo {
namespace {

constexpr double kWidth = 1600;
constexpr double kHeight = 860;
constexpr double kLeft = 96;
constexpr double kRight = 1568;
constexpr char kInk[] = "#1f2933";
constexpr char kSoft[] = "#7b8794";
constexpr char kSpeech[] = "#c6e9d0";
constexpr char kWave[] = "#52606d";
constexpr char kCurve[] = "#1667c5";
constexpr char kError[] = "#d64545";
constexpr char kBar[] = "#e08e0b";

/// A part of the picture, from the top down.
struct Panel {
  double top;
  double bottom;
  double height() const { return bottom - top; }
};
constexpr Panel kWavePanel{150, 400};
constexpr Panel kCurvePanel{440, 670};
constexpr Panel kErrorPanel{680, 692};
constexpr Panel kTimePanel{722, 802};

class Svg {
 public:
  explicit Svg(const Picture& picture) : picture_(picture) {
    seconds_ = static_cast<double>(picture.samples.size()) / picture.rate_hz;
  }
  std::string draw();

 private:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...);
  double x(double seconds) const { return kLeft + (kRight - kLeft) * seconds / seconds_; }
  double frame_x(size_t frame) const {
    return std::min(kRight, x(static_cast<double>(frame) * picture_.frame_ms / 1000));
  }
  double pulse_x(size_t pulse) const {
    return std::min(kRight, x(static_cast<double>(pulse) * picture_.pulse_ms / 1000));
  }
  void text(double at_x, double at_y, double size, const char* colour, const char* anchor,
            const std::string& words, bool bold = false);
  void rect(double left, double top, double right, double bottom, const char* colour);
  void line(double x0, double y0, double x1, double y1, const char* colour, double width,
            const char* dash = "none");
  void bands(const Panel& panel);
  void pulse_grid(const Panel& panel);
  void frame(const Panel& panel, const std::string& name);
  void heading();
  void wave();
  void curve();
  void errors();
  void times();
  void seconds_axis();

  const Picture& picture_;
  double seconds_ = 0;
  std::string out_;
};

void Svg::add(const char* format, ...) {
  char piece[512];
  va_list parts;
  va_start(parts, format);
  const int size = std::vsnprintf(piece, sizeof(piece), format, parts);
  va_end(parts);
  out_.append(piece, std::min<size_t>(static_cast<size_t>(size), sizeof(piece) - 1));
}

std::string escaped(const std::string& words) {
  std::string out;
  for (const char c : words) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void Svg::text(double at_x, double at_y, double size, const char* colour, const char* anchor,
               const std::string& words, bool bold) {
  add("<text x='%.1f' y='%.1f' font-size='%.0f' fill='%s' text-anchor='%s'%s>", at_x, at_y, size,
      colour, anchor, bold ? " font-weight='bold'" : "");
  out_ += escaped(words) + "</text>\n";
}

void Svg::rect(double left, double top, double right, double bottom, const char* colour) {
  add("<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", left, top, right - left,
      bottom - top, colour);
}

void Svg::line(double x0, double y0, double x1, double y1, const char* colour, double width,
               const char* dash) {
  add("<line x1='%.2f' y1='%.2f' x2='%.2f' y2='%.2f' stroke='%s' stroke-width='%.1f' "
      "stroke-dasharray='%s'/>\n",
      x0, y0, x1, y1, colour, width, dash);
}

/// Draw bands of labelled speech.
void Svg::bands(const Panel& panel) {
  const auto& labels = picture_.labels;
  for (size_t begin = 0; begin < labels.size();) {
    size_t end = begin;
    while (end < labels.size() && labels[end] == labels[begin]) ++end;
    if (labels[begin]) rect(frame_x(begin), panel.top, frame_x(end), panel.bottom, kSpeech);
    begin = end;
  }
}

/// Draw one line per pulse, or per ten, hundred, ... pulses if lines would be too dense to see.
void Svg::pulse_grid(const Panel& panel) {
  size_t step = 1;
  while (pulse_x(step) - kLeft < 8) step *= 10;
  for (size_t i = step; x(static_cast<double>(i) * picture_.pulse_ms / 1000) < kRight; i += step) {
    line(pulse_x(i), panel.top, pulse_x(i), panel.bottom, "#d9dee4", 0.7);
  }
}

void Svg::frame(const Panel& panel, const std::string& name) {
  add("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='%s'/>\n", kLeft,
      panel.top, kRight - kLeft, panel.height(), kSoft);
  text(kLeft, panel.top - 8, 16, kInk, "start", name, true);
}

void Svg::heading() {
  text(kLeft, 44, 28, kInk, "start", picture_.title, true);
  double y = 72;
  for (const std::string& figure : picture_.figures) {
    text(kLeft, y, 17, kInk, "start", figure);
    y += 23;
  }
  double at = kRight - 4;
  const auto legend = [&](const char* colour, const std::string& words) {
    text(at, 44, 16, kInk, "end", words);
    at -= 8.2 * static_cast<double>(words.size()) + 12;
    rect(at - 16, 31, at, 47, colour);
    at -= 40;
  };
  if (!picture_.labels.empty()) {
    legend(kError, "disagrees");
    legend(kSpeech, "speech by the labels");
  }
  legend(kCurve, "probability");
}

void Svg::wave() {
  const Panel& panel = kWavePanel;
  bands(panel);
  pulse_grid(panel);
  const double middle = (panel.top + panel.bottom) / 2;
  const auto& samples = picture_.samples;
  float peak = 1e-4F;
  for (const float sample : samples) peak = std::max(peak, std::abs(sample));
  const double scale = panel.height() / 2 / peak * 0.96;
  const auto columns = std::min<size_t>(samples.size(), static_cast<size_t>(kRight - kLeft));
  add("<path fill='%s' stroke='%s' stroke-width='0.6' d='M", kWave, kWave);
  std::vector<std::pair<double, double>> low;
  for (size_t i = 0; i < columns; ++i) {
    const size_t begin = samples.size() * i / columns;
    const size_t end = std::max(begin + 1, samples.size() * (i + 1) / columns);
    const auto [least, most] =
        std::minmax_element(samples.begin() + static_cast<std::ptrdiff_t>(begin),
                            samples.begin() + static_cast<std::ptrdiff_t>(end));
    const double at = x(static_cast<double>(begin) / picture_.rate_hz);
    add("%.1f %.1f ", at, middle - scale * *most);
    low.emplace_back(at, middle - scale * *least);
  }
  for (auto it = low.rbegin(); it != low.rend(); ++it) add("%.1f %.1f ", it->first, it->second);
  out_ += "Z'/>\n";
  frame(panel, "sound");
  char words[64];
  std::snprintf(words, sizeof(words), "peak %.2f", static_cast<double>(peak));
  text(kLeft - 8, panel.top + 14, 13, kSoft, "end", words);
}

void Svg::curve() {
  const Panel& panel = kCurvePanel;
  const auto y = [&](double p) { return panel.bottom - panel.height() * p; };
  bands(panel);
  pulse_grid(panel);
  line(kLeft, y(picture_.threshold), kRight, y(picture_.threshold), kSoft, 1, "6 5");
  add("<path fill='none' stroke='%s' stroke-width='2' stroke-linejoin='round' d='M", kCurve);
  const auto& p = picture_.probability;
  // Long files have many frames per pixel: draw the minimum and the maximum of each pixel.
  const size_t bins = std::min<size_t>(p.size(), 3000);
  for (size_t i = 0; i < bins; ++i) {
    const size_t begin = p.size() * i / bins;
    const size_t end = p.size() * (i + 1) / bins;
    const auto [least, most] = std::minmax_element(p.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   p.begin() + static_cast<std::ptrdiff_t>(end));
    const double at = (frame_x(begin) + frame_x(end)) / 2;
    add("%.1f %.1f ", at, y(*least));
    if (end - begin > 1) add("%.1f %.1f ", at, y(*most));
  }
  out_ += "'/>\n";
  frame(panel, "probability of speech");
  for (const double p_at : {0.0, 0.5, 1.0}) {
    char words[16];
    std::snprintf(words, sizeof(words), "%.1f", p_at);
    text(kLeft - 8, y(p_at) + 5, 14, kSoft, "end", words);
  }
}

/// Draw the frames in which decision and label differ.
void Svg::errors() {
  if (picture_.labels.empty()) return;
  const Panel& panel = kErrorPanel;
  rect(kLeft, panel.top, kRight, panel.bottom, "#f0f2f5");
  const size_t frames = std::min(picture_.labels.size(), picture_.probability.size());
  for (size_t t = 0; t < frames; ++t) {
    const bool found = picture_.probability[t] >= picture_.threshold;
    if (found == (picture_.labels[t] != 0)) continue;
    rect(frame_x(t), panel.top, frame_x(t + 1), panel.bottom, kError);
  }
}

void Svg::times() {
  const Panel& panel = kTimePanel;
  std::vector<double> sorted = picture_.pulse_us;
  std::sort(sorted.begin(), sorted.end());
  // A single slow pulse must not hide the others: clip at three medians.
  const double most = sorted.empty() ? 1 : std::min(sorted.back(), 3 * sorted[sorted.size() / 2]);
  for (size_t i = 0; i < picture_.pulse_us.size() && pulse_x(i) < kRight; ++i) {
    const double share = std::min(1.0, picture_.pulse_us[i] / most);
    const double gap = pulse_x(i + 1) - pulse_x(i) > 3 ? 1 : 0;
    rect(pulse_x(i), panel.bottom - share * panel.height(), pulse_x(i + 1) - gap, panel.bottom,
         kBar);
  }
  char words[96];
  std::snprintf(words, sizeof(words), "time per pulse of %.0f ms", picture_.pulse_ms);
  frame(panel, words);
  const bool cut = !sorted.empty() && sorted.back() > most;
  std::snprintf(words, sizeof(words), "%s%.0f \xC2\xB5s", cut ? "\xE2\x89\xA5 " : "", most);
  text(kLeft - 8, panel.top + 12, 14, kSoft, "end", words);
  text(kLeft - 8, panel.bottom, 14, kSoft, "end", "0");
}

void Svg::seconds_axis() {
  double step = 1;
  while (seconds_ / step > 16) step *= step == 2 || step == 20 || step == 200 ? 2.5 : 2;
  for (double at = 0; at <= seconds_ + 1e-9; at += step) {
    line(x(at), kTimePanel.bottom, x(at), kTimePanel.bottom + 6, kSoft, 1);
    char words[24];
    std::snprintf(words, sizeof(words), "%g s", at);
    text(x(at), kTimePanel.bottom + 24, 14, kSoft, "middle", words);
  }
}

std::string Svg::draw() {
  add("<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' "
      "viewBox='0 0 %.0f %.0f' font-family='DejaVu Sans, Helvetica, Arial, sans-serif'>\n",
      kWidth, kHeight, kWidth, kHeight);
  rect(0, 0, kWidth, kHeight, "#ffffff");
  heading();
  wave();
  curve();
  errors();
  times();
  seconds_axis();
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace

std::string draw(const Picture& picture) { return Svg(picture).draw(); }

}  // namespace demo
