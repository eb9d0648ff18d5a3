#include <portaudio.h>

#include <atomic>

#include "device.h"

namespace live {
namespace {

constexpr const char* kNone = "there is no microphone";

class Microphone : public Device {
 public:
  ~Microphone() override {
    Microphone::stop();
    Pa_Terminate();
  }

  std::string open(int number, int64_t block) {
    PaStreamParameters input{};
    input.device = number < 0 ? Pa_GetDefaultInputDevice() : number;
    const PaDeviceInfo* info = input.device == paNoDevice || input.device >= Pa_GetDeviceCount()
                                   ? nullptr
                                   : Pa_GetDeviceInfo(input.device);
    if (info == nullptr || info->maxInputChannels < 1) return kNone;
    input.channelCount = info->maxInputChannels < 2 ? 1 : 2;
    input.sampleFormat = paFloat32;
    input.suggestedLatency = info->defaultLowInputLatency;
    channels_ = input.channelCount;
    rate_ = static_cast<int64_t>(info->defaultSampleRate);
    const PaError error =
        Pa_OpenStream(&stream_, &input, nullptr, info->defaultSampleRate,
                      block > 0 ? static_cast<unsigned long>(block) : paFramesPerBufferUnspecified,
                      paNoFlag, on_block, this);
    return error == paNoError ? std::string() : Pa_GetErrorText(error);
  }

  int64_t rate_hz() const override { return rate_; }
  int32_t channels() const override { return channels_; }

  std::string start(Heard heard) override {
    heard_ = std::move(heard);
    const PaError error = Pa_StartStream(stream_);
    return error == paNoError ? std::string() : Pa_GetErrorText(error);
  }
  // If the device vanishes, PortAudio ends its stream.
  bool running() override { return Pa_IsStreamActive(stream_) == 1; }
  std::string fault() override { return "the microphone has gone"; }
  void stop() override {
    if (stream_ != nullptr) Pa_CloseStream(stream_);
    stream_ = nullptr;
  }

 private:
  static int on_block(const void* in, void*, unsigned long frames, const PaStreamCallbackTimeInfo*,
                      PaStreamCallbackFlags, void* own) {
    auto* self = static_cast<Microphone*>(own);
    if (in != nullptr) {
      self->heard_(rill::ConstSound::interleaved(static_cast<const float*>(in), self->channels_,
                                                 static_cast<int64_t>(frames)));
    }
    return paContinue;
  }

  PaStream* stream_ = nullptr;
  Heard heard_;
  int64_t rate_ = 0;
  int32_t channels_ = 0;
};

}  // namespace

Opened open_microphone(int number, int64_t block) {
  const PaError error = Pa_Initialize();
  if (error != paNoError) return {nullptr, Pa_GetErrorText(error)};
  auto device = std::make_unique<Microphone>();
  std::string wrong = device->open(number, block);
  if (!wrong.empty()) device.reset();
  return {std::move(device), std::move(wrong)};
}

std::string list_microphones() {
  if (Pa_Initialize() != paNoError) return {};
  std::string out;
  for (int i = 0; i < Pa_GetDeviceCount(); ++i) {
    const PaDeviceInfo* info = Pa_GetDeviceInfo(i);
    if (info->maxInputChannels < 1) continue;
    out += std::to_string(i) + ": " + info->name + "\n";
  }
  Pa_Terminate();
  return out;
}

}  // namespace live
