// Effects and listeners of rill/audio.hpp.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>

#include "errors.h"
#include "handles.h"
#include "rill/audio.hpp"

namespace nb = nanobind;

namespace rill::python {
namespace {

using Block = nb::ndarray<nb::c_contig, nb::device::cpu, nb::ro>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;

template <class T>
T good(Result<T> made) {
  if (!made) throw Failure{made.error()};
  return std::move(made).value();
}
[[noreturn]] void fail(rill_status code, const char* message) {
  Failure failure;
  failure.code = code;
  failure.text = failure.message = message;
  throw failure;
}
void expect(rill_status status) {
  if (status == RILL_OK) return;
  if (status == RILL_E_PARSE)
    fail(status, "the bytes are not a state of an effect with this model and these options");
  if (status == RILL_E_SHAPE)
    fail(status, "a block has other channels or frames than the options allow");
  check(status);
}

SampleFormat format_of(nb::dlpack::dtype type) {
  if (type == nb::dtype<float>()) return SampleFormat::kFloat;
  if (type == nb::dtype<int16_t>()) return SampleFormat::kInt16;
  return SampleFormat::kInt32;
}

/// Frames of sound, (frames, channels), whose type the Python side has checked.
ConstSound sound_of(const Block& block) {
  ConstSound out;
  out.format = format_of(block.dtype());
  out.frames = static_cast<int64_t>(block.shape(0));
  out.channels = static_cast<int32_t>(block.shape(1));
  out.data = block.data();
  return out;
}

rill::Plan plan_of(const Plan& plan) { return rill::Plan(rill_plan_retain(plan.get())); }

AudioOptions options_of(const Plan& plan, int64_t device, int64_t model, int32_t channels,
                        int64_t block, bool worker, int32_t reference, int crossings) {
  AudioOptions options;
  options.device_rate = device;
  options.model_rate = model != 0 ? model : good(sample_rate(plan_of(plan)));
  options.channels = channels;
  options.block = block;
  options.worker = worker;
  options.reference_channels = reference;
  options.crossings = crossings;
  return options;
}

/// An effect, and the memory of its plan. Two threads may use it, if one of them calls `work`.
struct Effect {
  Effect(const Plan& plan, int64_t device, int64_t model, int32_t channels, int64_t block,
         bool worker, int32_t reference, int crossings)
      : memory(plan.memory()),
        effect(good(AudioEffect::make(
            plan_of(plan),
            options_of(plan, device, model, channels, block, worker, reference, crossings)))) {}

  /// Returns whether no pulse was late.
  bool process(const Block& in, const std::optional<Block>& reference, const Output& out) {
    Sound to;
    to.format = format_of(out.dtype());
    to.frames = static_cast<int64_t>(out.shape(0));
    to.channels = static_cast<int32_t>(out.shape(1));
    to.data = out.data();
    const ConstSound from = sound_of(in);
    const ConstSound second = reference ? sound_of(*reference) : ConstSound();
    rill_status status = RILL_OK;
    {
      nb::gil_scoped_release released;
      const std::lock_guard<std::mutex> held(one);
      status = reference ? effect.process(from, second, to) : effect.process(from, to);
    }
    if (status == RILL_E_STATE) return false;
    expect(status);
    return true;
  }
  int64_t work() {
    nb::gil_scoped_release released;
    const std::lock_guard<std::mutex> held(working);
    return effect.work();
  }
  /// Call `act` while no thread processes or works.
  template <class Act>
  auto alone(const Act& act) {
    nb::gil_scoped_release released;
    const std::scoped_lock held(one, working);
    return act();
  }
  nb::bytes save() {
    std::vector<double> state;
    size_t size = 0;
    expect(alone([&] {
      state.resize(effect.state_bytes() / sizeof(double) + 1);
      return effect.save(state.data(), state.size() * sizeof(double), &size);
    }));
    return nb::bytes(reinterpret_cast<const char*>(state.data()), size);
  }
  void load(const nb::bytes& bytes) {
    std::vector<double> state(bytes.size() / sizeof(double) + 1);
    std::memcpy(state.data(), bytes.c_str(), bytes.size());
    expect(alone([&] { return effect.load(state.data(), bytes.size()); }));
  }

  std::shared_ptr<const void> memory;
  AudioEffect effect;
  std::mutex one;
  std::mutex working;
};

struct Listener {
  Listener(const Plan& plan, int64_t device, int64_t model, int32_t channels, int64_t block,
           int32_t reference, int crossings)
      : memory(plan.memory()),
        listener(good(AudioListener::make(
            plan_of(plan),
            options_of(plan, device, model, channels, block, false, reference, crossings)))) {
    for (size_t i = 0; i < plan.io(RILL_OUTPUT).size(); ++i) axes.push_back(plan.stream(i).axis);
  }

  /// The new frames of each output, as (shape, bytes of f32) with frames as the first axis.
  nb::list hear(const Block* block, const Block* reference) {
    std::vector<std::vector<float>> frames(axes.size());
    std::vector<std::vector<int64_t>> shapes(axes.size());
    const auto keep = [&](size_t output, const TensorView<const float>& view) {
      append(view, axes[output], &frames[output], &shapes[output]);
    };
    rill_status status = RILL_OK;
    const ConstSound sound = block ? sound_of(*block) : ConstSound();
    const ConstSound second = reference ? sound_of(*reference) : ConstSound();
    {
      nb::gil_scoped_release released;
      const std::lock_guard<std::mutex> held(one);
      status = !block      ? listener.finish(keep)
               : reference ? listener.push(sound, second, keep)
                           : listener.push(sound, keep);
    }
    expect(status);
    nb::list out;
    for (size_t i = 0; i < axes.size(); ++i) {
      nb::list shape;
      for (const int64_t extent : shapes[i]) shape.append(extent);
      out.append(nb::make_tuple(shape, nb::bytes(reinterpret_cast<const char*>(frames[i].data()),
                                                 frames[i].size() * sizeof(float))));
    }
    return out;
  }

  /// Append frames, each with contiguous elements.
  static void append(const TensorView<const float>& view, int axis, std::vector<float>* to,
                     std::vector<int64_t>* shape) {
    if (shape->empty()) {
      shape->push_back(0);
      for (int i = 0; i < view.rank(); ++i) {
        if (i != axis) shape->push_back(view.extent(i));
      }
    }
    shape->front() += view.extent(axis);
    int64_t elements = 1;
    for (int i = 0; i < view.rank(); ++i) elements *= i == axis ? 1 : view.extent(i);
    for (int64_t frame = 0; frame < view.extent(axis); ++frame) {
      for (int64_t element = 0; element < elements; ++element) {
        int64_t left = element;
        int64_t offset = frame * view.stride(axis);
        for (int i = view.rank() - 1; i >= 0; --i) {
          if (i == axis) continue;
          offset += left % view.extent(i) * view.stride(i);
          left /= view.extent(i);
        }
        to->push_back(view.data()[offset]);
      }
    }
  }

  std::shared_ptr<const void> memory;
  AudioListener listener;
  std::vector<int> axes;
  std::mutex one;
};

}  // namespace

void define_sound(nb::module_& module) {
  nb::class_<Effect>(module, "Effect", "Sound through a model, with a fixed latency.")
      .def(nb::init<const Plan&, int64_t, int64_t, int32_t, int64_t, bool, int32_t, int>())
      .def("process", &Effect::process, nb::arg(), nb::arg().none(), nb::arg())
      .def("work", &Effect::work)
      .def("save", &Effect::save)
      .def("load", &Effect::load)
      .def("reset", [](Effect& self) { expect(self.alone([&] { return self.effect.reset(); })); })
      .def("bypass", [](Effect& self, bool on) { self.alone([&] { self.effect.bypass(on); }); })
      .def("offline", [](Effect& self, bool on) { self.alone([&] { self.effect.offline(on); }); })
      .def("latency", [](Effect& self) { return self.effect.latency(); })
      .def("bypassed", [](Effect& self) { return self.effect.bypassed(); })
      .def("late", [](Effect& self) { return self.effect.late(); });
  nb::class_<Listener>(module, "Listener", "Frames of a model from sound of a device.")
      .def(nb::init<const Plan&, int64_t, int64_t, int32_t, int64_t, int32_t, int>())
      .def(
          "push",
          [](Listener& self, const Block& block, const std::optional<Block>& reference) {
            return self.hear(&block, reference ? &*reference : nullptr);
          },
          nb::arg(), nb::arg().none())
      .def("finish", [](Listener& self) { return self.hear(nullptr, nullptr); })
      .def("reset", [](Listener& self) { expect(self.listener.reset()); })
      .def("latency", [](Listener& self, size_t output) { return self.listener.latency(output); });
}

}  // namespace rill::python
