#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>

#include "errors.h"
#include "handles.h"
#include "interpreter.h"
#include "interruption.h"
#include "rill/compile.h"

namespace nb = nanobind;

namespace rill::python {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

nb::object io_list(const rill_model* model, rill_dir dir) {
  nb::list out;
  for (size_t i = 0; i < rill_model_count(model, dir); ++i) {
    auto io = sized<rill_io_info>();
    check(rill_model_io(model, dir, i, &io));
    nb::list dims;
    for (uint32_t axis = 0; axis < io.rank; ++axis) dims.append(io.dims[axis]);
    out.append(nb::make_tuple(io.name, rill_dtype_name(io.dtype), nb::tuple(dims), io.text,
                              io.scale, io.zero_point));
  }
  return out;
}

}  // namespace

nb::object value_of(const rill_property& property) {
  nb::list out;
  for (size_t i = 0; i < property.count; ++i) {
    if (property.ints && property.dtype == RILL_BOOL) {
      out.append(property.ints[i] != 0);
    } else if (property.ints) {
      out.append(property.ints[i]);
    } else if (property.floats) {
      out.append(property.floats[i]);
    } else if (property.strings) {
      const char* const text = property.strings[i];
      out.append(nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)),
                                                "replace")));
    }
  }
  if (nb::len(out) == 1) return out[0];
  return out;
}

namespace {

nb::dict properties(const Model& model) {
  nb::dict out;
  for (size_t i = 0; i < rill_model_properties(model.get()); ++i) {
    auto property = sized<rill_property>();
    check(rill_model_property(model.get(), i, &property));
    out[property.key] = value_of(property);
  }
  return out;
}

nb::list symbols(const Model& model) {
  nb::list out;
  const char* name = nullptr;
  for (size_t i = 0;; ++i) {
    check(rill_model_symbol(model.get(), i, &name));
    if (!name) return out;
    out.append(name);
  }
}

/// A changed copy of a model, made without the interpreter's lock.
template <class Change>
Model* changed(const Model& model, Change&& change) {
  rill_model* copy = nullptr;
  rill_status status = RILL_OK;
  {
    const Interruption interruption;
    status = unlocked([&] {
      const rill_status cloned = rill_model_clone(model.get(), &copy);
      return cloned == RILL_OK ? change(copy) : cloned;
    });
  }
  std::unique_ptr<Model> out(copy ? new Model(copy) : nullptr);
  Interruption::rethrow();
  check(status);
  return out.release();
}

Model* with_symbols(const Model& model, const Settings& settings) {
  return changed(model, [&](rill_model* copy) {
    rill_status status = RILL_OK;
    for (const auto& [symbol, value] : settings) {
      if (status != RILL_OK) break;
      status = rill_model_set_symbol(copy, symbol.c_str(), value.c_str());
    }
    return status;
  });
}

Model* with_shapes(const Model& model, const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<rill_view> views;
  for (const std::vector<int64_t>& shape : shapes) {
    auto view = sized<rill_view>();
    view.rank = static_cast<uint32_t>(shape.size());
    // A scalar has no extents, unlike an unknown shape.
    static const int64_t kNone = 0;
    view.shape = shape.empty() ? &kNone : shape.data();
    views.push_back(view);
  }
  return changed(model, [&](rill_model* copy) {
    return rill_model_set_shapes(copy, views.data(), views.size());
  });
}

nb::dict operators(const Model& model) {
  nb::dict out;
  const char* name = nullptr;
  int64_t nodes = 0;
  for (size_t i = 0;; ++i) {
    check(rill_model_operator(model.get(), i, &name, &nodes));
    if (!name) return out;
    out[name] = nodes;
  }
}

Model* pulsed(const Model& model, const std::string& symbol, const std::string& pulse) {
  return changed(model, [&](rill_model* copy) {
    return rill_model_pulse(copy, symbol.c_str(), pulse.c_str());
  });
}

Model* windowed(const Model& model, const std::string& symbol, int64_t left, int64_t step,
                int64_t right) {
  return changed(model, [&](rill_model* copy) {
    return rill_model_window(copy, symbol.c_str(), left, step, right);
  });
}

Model* with_feedback(const Model& model, const Settings& ties) {
  return changed(model, [&](rill_model* copy) {
    rill_status status = RILL_OK;
    for (const auto& [output, input] : ties) {
      if (status != RILL_OK) break;
      status = rill_model_feedback(copy, output.c_str(), input.c_str());
    }
    return status;
  });
}

Model* with_context(const Model& model, const std::string& input, int64_t frames) {
  return changed(model, [&](rill_model* copy) {
    return rill_model_context(copy, input.c_str(), frames);
  });
}

Model* with_frames(const Model& model, const std::vector<std::pair<std::string, int64_t>>& named) {
  return changed(model, [&](rill_model* copy) {
    std::vector<const char*> names;
    std::vector<int64_t> axes;
    for (const auto& [name, axis] : named) {
      names.push_back(name.c_str());
      axes.push_back(axis);
    }
    return rill_model_frames(copy, names.data(), axes.data(), names.size());
  });
}

/// Return the options for `limits`; missing limits have their defaults.
rill_load_opts load_opts(const std::string& constants, const nb::dict& limits) {
  auto options = sized<rill_load_opts>();
  options.constants = constants.empty() ? nullptr : constants.c_str();
  const auto put = [&](const char* name, int64_t& to) {
    if (limits.contains(name)) to = nb::cast<int64_t>(limits[name]);
  };
  put("max_expanded_bytes", options.max_expanded_bytes);
  put("max_ratio", options.max_ratio);
  put("max_entries", options.max_entries);
  put("max_text_bytes", options.max_text_bytes);
  put("max_nodes", options.max_nodes);
  put("max_symbols", options.max_symbols);
  put("max_folded_bytes", options.max_folded_bytes);
  return options;
}

Model* load(const nb::bytes& path, const std::string& constants, const nb::dict& limits) {
  const rill_load_opts options = load_opts(constants, limits);
  rill_model* model = nullptr;
  check(interruptible([&] { return rill_load(path.c_str(), &options, &model); }));
  return new Model(model);
}

Model* load_bytes(const nb::bytes& bytes, const std::string& constants, const nb::dict& limits) {
  const rill_load_opts options = load_opts(constants, limits);
  rill_model* model = nullptr;
  check(interruptible(
      [&] { return rill_load_memory(bytes.data(), bytes.size(), &options, &model); }));
  return new Model(model);
}

Plan* prepare(const Model& model, bool plain, int64_t max_session_bytes) {
  auto options = sized<rill_plan_opts>();
  options.plain = plain ? 1 : 0;
  options.max_session_bytes = max_session_bytes;
  rill_plan* plan = nullptr;
  check(interruptible([&] { return rill_prepare(model.get(), &options, &plan); }));
  return new Plan(plan);
}

/// Return the layers with weights: (node, operator, bytes as f32, bytes, why they stay f32).
nb::list compile(const Model& model, const nb::bytes& path, const std::string& targets,
                 const std::string& weights, const std::vector<std::string>& keep, bool notes) {
  struct Layer {
    std::string node, op, kept;
    int64_t f32_bytes, bytes;
  };
  std::vector<Layer> layers;
  std::vector<const char*> names;
  for (const std::string& node : keep) names.push_back(node.c_str());
  auto options = sized<rill_compile_opts>();
  options.no_notes = notes ? 0 : 1;
  options.targets = targets.c_str();
  options.weights = weights.empty() ? nullptr : weights.c_str();
  options.keep = names.data();
  options.keep_count = names.size();
  options.layer = [](void* user, const rill_weight_layer* layer) {
    static_cast<std::vector<Layer>*>(user)->push_back(
        {layer->node, layer->op, layer->kept, layer->f32_bytes, layer->bytes});
  };
  options.user = &layers;
  check(interruptible([&] { return rill_compile(model.get(), &options, path.c_str()); }));
  nb::list out;
  for (const Layer& layer : layers) {
    out.append(nb::make_tuple(layer.node, layer.op, layer.f32_bytes, layer.bytes, layer.kept));
  }
  return out;
}

nb::dict audit(const Model& whole, const Model& pulsed, double seconds, uint64_t seed) {
  auto options = sized<rill_audit_opts>();
  options.seconds = seconds;
  options.seed = seed;
  auto report = sized<rill_audit_report>();
  check(interruptible(
      [&] { return rill_model_audit(whole.get(), pulsed.get(), &options, &report); }));
  nb::dict out;
  out["lengths"] = report.lengths;
  out["shortest"] = report.shortest;
  out["longest"] = report.longest;
  out["undefined"] = report.undefined;
  out["refused"] = report.refused;
  out["edges"] = report.edges;
  out["edges_compared"] = report.edges_compared;
  out["period"] = report.period;
  out["remainders"] = report.remainders;
  out["streams"] = report.streams;
  out["outputs"] = report.outputs;
  out["frames"] = report.frames;
  return out;
}

}  // namespace

void define_model(nb::module_& module) {
  nb::class_<Model>(module, "Model", "The model of a file. It never changes.")
      .def_static("load", &load, nb::arg("path"), nb::arg("constants") = "",
                  nb::arg("limits") = nb::dict(),
                  "Read a folder, tar, tgz, zip or graph.nnef: the path as the system writes it.")
      .def_static("load_bytes", &load_bytes, nb::arg("data"), nb::arg("constants") = "",
                  nb::arg("limits") = nb::dict(),
                  "Read an archive in memory.")
      .def(
          "inputs", [](const Model& model) { return io_list(model.get(), RILL_INPUT); },
          "List (name, type, extents, text, scale, zero point) of each input.")
      .def(
          "outputs", [](const Model& model) { return io_list(model.get(), RILL_OUTPUT); },
          "List (name, type, extents, text, scale, zero point) of each output.")
      .def("symbols", &symbols, "List the symbols that are free.")
      .def("properties", &properties, "Return the properties of the file by key.")
      .def("with_symbols", &with_symbols, nb::arg("settings"),
           "Replace symbols by numbers or expressions, in a copy.")
      .def("with_shapes", &with_shapes, nb::arg("shapes"),
           "Bind the symbols that follow from the shapes of all inputs, in a copy.")
      .def("with_frames", &with_frames, nb::arg("axes"),
           "Name the axes of frames of inputs and outputs, in a copy.")
      .def("with_feedback", &with_feedback, nb::arg("ties"),
           "Feed outputs to inputs of the next step, in a copy.")
      .def("with_context", &with_context, nb::arg("input"), nb::arg("frames"),
           "Prefix an input with frames of the previous step, in a copy.")
      .def("operators", &operators, "Count the nodes of the graph by operator.")
      .def("pulsed", &pulsed, nb::arg("symbol"), nb::arg("pulse"),
           "Rewrite a copy to run a few frames at a time.")
      .def("windowed", &windowed, nb::arg("symbol"), nb::arg("left"), nb::arg("step"),
           nb::arg("right"), "Rewrite a copy to compute whole windows.")
      .def("prepare", &prepare, nb::arg("plain") = false, nb::arg("max_session_bytes") = 0,
           "Choose kernels, pack weights, lay out memory.")
      .def(
          "save",
          [](const Model& model, const nb::bytes& path) {
            check(unlocked([&] { return rill_save(model.get(), path.c_str()); }));
          },
          nb::arg("path"), "Write a folder, tar, tgz or zip, by suffix.")
      .def("compile", &compile, nb::arg("path"), nb::arg("targets"), nb::arg("weights"),
           nb::arg("keep"), nb::arg("notes"),
           "Write a plan to a file, and list the layers with weights.")
      .def("audit", &audit, nb::arg("pulsed"), nb::arg("seconds"), nb::arg("seed"),
           "Compare streams of noise to whole runs, and report the comparisons.");
}

}  // namespace rill::python
