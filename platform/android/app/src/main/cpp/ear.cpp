// The microphone by Oboe, through a model of voice activity in the callback itself. A ring
// carries its results to the app's thread, and `poll` reports a lost microphone.
#include <jni.h>
#include <oboe/Oboe.h>

#include <atomic>
#include <memory>
#include <string>

#include "rill/audio.hpp"

namespace {

constexpr int64_t kModelRate = 16000;
constexpr float kNothingNew = -1;
constexpr float kGone = -2;

class Ear : public oboe::AudioStreamDataCallback, public oboe::AudioStreamErrorCallback {
 public:
  /// Return an error message, or "".
  std::string open(const void* model_bytes, size_t size) {
    auto model = rill::Model::load(model_bytes, size);
    if (!model) return model.error().text;
    if (auto status = model->set("B", 1); !status) return status.error().text;
    if (auto status = model->pulse("S", "auto:max_latency=1600"); !status) {
      return status.error().text;
    }
    auto plan = model->prepare();
    if (!plan) return plan.error().text;

    oboe::AudioStreamBuilder builder;
    builder.setDirection(oboe::Direction::Input)
        ->setPerformanceMode(oboe::PerformanceMode::LowLatency)
        ->setSharingMode(oboe::SharingMode::Exclusive)
        ->setFormat(oboe::AudioFormat::Float)
        ->setChannelCount(oboe::ChannelCount::Mono)
        ->setDataCallback(this)
        ->setErrorCallback(this);
    if (builder.openStream(stream_) != oboe::Result::OK) return "the microphone cannot be opened";

    rill::AudioOptions options;
    options.device_rate = stream_->getSampleRate();  // the device's own, so the system does not resample
    options.model_rate = kModelRate;
    options.channels = stream_->getChannelCount();
    auto listener = rill::AudioListener::make(*plan, options);
    if (!listener) return listener.error().text;
    listener_ = std::make_unique<rill::AudioListener>(std::move(listener).value());
    auto ring = rill::Ring<float>::make(4096);
    if (!ring) return ring.error().text;
    ring_ = std::make_unique<rill::Ring<float>>(std::move(ring).value());
    return stream_->requestStart() == oboe::Result::OK ? "" : "the microphone does not start";
  }

  void close() {
    if (stream_) stream_->close();
    stream_.reset();
  }

  /// Return the largest probability of speech of the frames since the last call.
  float poll() {
    float most = kNothingNew;
    float speech = 0;
    while (ring_ && ring_->read(&speech, 1) == 1) most = speech > most ? speech : most;
    return most == kNothingNew && gone_.load() ? kGone : most;
  }

  oboe::DataCallbackResult onAudioReady(oboe::AudioStream* stream, void* data,
                                        int32_t frames) override {
    const auto sound = rill::ConstSound::interleaved(static_cast<const float*>(data),
                                                     stream->getChannelCount(), frames);
    const auto emit = [this](size_t output, rill::TensorView<const float> heard) {
      for (int64_t t = 0; output == 0 && t < heard.extent(1); ++t) {
        const float speech = heard(0, t);
        ring_->write(&speech, 1);
      }
    };
    const bool well = listener_->push(sound, emit) == RILL_OK;
    if (!well) gone_.store(true);
    return well ? oboe::DataCallbackResult::Continue : oboe::DataCallbackResult::Stop;
  }

  // Called if a device vanishes, for example when a headset is unplugged.
  void onErrorAfterClose(oboe::AudioStream*, oboe::Result) override { gone_.store(true); }

 private:
  std::shared_ptr<oboe::AudioStream> stream_;
  std::unique_ptr<rill::AudioListener> listener_;
  std::unique_ptr<rill::Ring<float>> ring_;
  std::atomic<bool> gone_{false};
};

Ear* ear_of(jlong handle) { return reinterpret_cast<Ear*>(static_cast<intptr_t>(handle)); }

}  // namespace

extern "C" JNIEXPORT jlong JNICALL Java_rill_example_Ear_open(JNIEnv* env, jclass,
                                                              jbyteArray model) {
  auto ear = std::make_unique<Ear>();
  jbyte* bytes = env->GetByteArrayElements(model, nullptr);
  if (bytes == nullptr) return 0;
  const std::string wrong = ear->open(bytes, static_cast<size_t>(env->GetArrayLength(model)));
  env->ReleaseByteArrayElements(model, bytes, JNI_ABORT);
  if (wrong.empty()) return static_cast<jlong>(reinterpret_cast<intptr_t>(ear.release()));
  ear->close();
  if (jclass type = env->FindClass("java/lang/IllegalStateException")) {
    env->ThrowNew(type, wrong.c_str());
  }
  return 0;
}

extern "C" JNIEXPORT jfloat JNICALL Java_rill_example_Ear_poll(JNIEnv*, jclass, jlong handle) {
  return ear_of(handle)->poll();
}

extern "C" JNIEXPORT void JNICALL Java_rill_example_Ear_close(JNIEnv*, jclass, jlong handle) {
  ear_of(handle)->close();
  delete ear_of(handle);
}
