#include "cli/input_shapes.h"

#include <map>

#include "cli/bundle.h"
#include "cli/inputs.h"
#include "cli/specs.h"

namespace rill::cli {
namespace {

using Shapes = std::map<std::string, std::vector<Dim>>;

/// Use the extents of a spec, and those of the input for each `_`.
Status shape_from_spec(const Log& log, const Graph& graph, size_t index, const FactSpec& spec,
                       std::vector<Dim>* shape) {
  const Fact& fact = graph.fact(graph.inputs[index]);
  const std::string& name = graph.input_name(index);
  if (spec.shape.size() != fact.shape.size()) {
    return fail(Code::kShape, "--input: input ", name, " is ", fact, ", of rank ",
                fact.shape.size(), ", but rank ", spec.shape.size(), " was given")
        .hint("Give one extent per axis; _ keeps that of the model");
  }
  if (spec.dtype && *spec.dtype != fact.dtype) {
    RILL_TRY(unknown_name(
        log, fail(Code::kDType, "--input: input ", name, " is ", fact, ", but ",
                   dtype_name(*spec.dtype), " was given")
                  .hint("-i changes shapes only: leave out the type, or give the model's")));
  }
  for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
    shape->push_back(spec.shape[axis].value_or(fact.shape[axis]));
  }
  return {};
}

std::string names_of_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) names.push_back(graph.input_name(i));
  return join(names, ", ");
}

Status bundle_shapes(const CommonOptions& common, const Log& log, const Graph& graph,
                     Shapes* shapes) {
  RILL_ASSIGN(const Bundle bundle, Bundle::read(common.model.fact_bundles));
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Bundle::Item* item = bundle.find(graph.input_name(i));
    if (item == nullptr) continue;
    FactSpec spec;
    for (const int64_t extent : item->turns[0].shape()) spec.shape.emplace_back(Dim(extent));
    std::vector<Dim> shape;
    RILL_TRY(shape_from_spec(log, graph, i, spec, &shape));
    (*shapes)[graph.input_name(i)] = std::move(shape);
  }
  // A model without inputs may have lost them to values of the bundle.
  if (!common.model.fact_bundles.empty() && shapes->empty() && !graph.inputs.empty()) {
    return fail(Code::kArg, "--input-facts-from-bundle: no input of the model is in the bundle")
        .hint(str_cat("The model's inputs are ", names_of_inputs(graph), "; the bundle has ",
                      bundle.contents()));
  }
  return {};
}

Status given_shapes(const CommonOptions& common, const Log& log, const Graph& graph,
                    Shapes* shapes) {
  size_t unnamed = 0;
  for (const std::string& text : common.model.input_facts) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    size_t index = spec.name.empty() ? unnamed++ : 0;
    while (!spec.name.empty() && index < graph.inputs.size() &&
           graph.input_name(index) != spec.name) {
      ++index;
    }
    if (index >= graph.inputs.size()) {
      RILL_TRY(unknown_name(log, fail(Code::kArg, "--input ", text, ": no such input")
                                      .hint(str_cat("The model's inputs are ",
                                                    names_of_inputs(graph)))));
      continue;
    }
    if (spec.has_values) {
      const auto value = spec_tensor(spec);
      if (!value.ok()) {
        return fail(Code::kArg, "ShapeError/OutOfBounds: --input ", text, ": ",
                    value.error().message);
      }
    }
    std::vector<Dim> shape;
    RILL_TRY(shape_from_spec(log, graph, index, spec, &shape));
    (*shapes)[graph.input_name(index)] = std::move(shape);
  }
  return {};
}

Status override_shapes(const CommonOptions& common, const Graph& graph, Shapes* shapes) {
  for (const std::string& text : common.model.override_facts) {
    // If the type is unchanged, reload the model, so that nodes that read the shape see it.
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Fact& fact = graph.fact(graph.inputs[i]);
      if (graph.input_name(i) != spec.name || spec.dtype.value_or(fact.dtype) != fact.dtype) {
        continue;
      }
      std::vector<Dim> shape;
      for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
        const Dim old = axis < fact.shape.size() ? fact.shape[axis] : Dim(1);
        shape.push_back(spec.shape[axis].value_or(old));
      }
      (*shapes)[spec.name] = std::move(shape);
    }
  }
  return {};
}

}  // namespace

Result<InputShapes> asked_input_shapes(const CommonOptions& common, const Log& log,
                                       const Graph& graph) {
  Shapes shapes;
  RILL_TRY(bundle_shapes(common, log, graph, &shapes));
  RILL_TRY(given_shapes(common, log, graph, &shapes));
  RILL_TRY(override_shapes(common, graph, &shapes));
  return InputShapes(shapes.begin(), shapes.end());
}

Result<InputShapes> set_input_shapes(const CommonOptions& common, const Graph& graph) {
  InputShapes out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    std::vector<Dim> shape(graph.fact(graph.inputs[i]).shape.begin(),
                           graph.fact(graph.inputs[i]).shape.end());
    for (const std::string& text : common.model.set) {
      RILL_ASSIGN(const auto setting, parse_setting(text));
      for (Dim& extent : shape) extent = extent.substitute(setting.first, setting.second);
    }
    out.emplace_back(graph.input_name(i), std::move(shape));
  }
  return out;
}

InputShapes input_shapes_of_values(const CommonOptions& common, const Log& log,
                                   const Graph& graph) {
  const auto source = InputSource::make(common, log);
  if (!source.ok() || !source->has_values()) return {};
  Bindings values;
  for (size_t turn = 0; turn < source->turns(graph); ++turn) {
    const auto inputs = source->resolve(graph, turn);
    if (!inputs.ok() || (turn > 0 && inputs->bindings != values)) return {};
    values = inputs->bindings;
  }
  InputShapes out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    std::vector<Dim> shape = graph.fact(graph.inputs[i]).shape;
    for (Dim& extent : shape) {
      for (const auto& [symbol, value] : values) extent = extent.substitute(symbol, Dim(value));
    }
    out.emplace_back(graph.input_name(i), std::move(shape));
  }
  return out;
}

}  // namespace rill::cli
