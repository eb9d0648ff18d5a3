#include "ops/math/test_support.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/array/axis_ops.h"
#include "ops/op_table.h"
#include "pulse/pulse.h"

namespace rill::ops::test {

Tensor f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::of<float>(DType::kF32, std::move(shape), values).value();
}
Tensor i64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(DType::kI64, std::move(shape), values).value();
}
Tensor boolean(std::vector<int64_t> shape, const std::vector<int>& values) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  return Tensor::of<uint8_t>(DType::kBool, std::move(shape), bytes).value();
}

Tensor typed(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  if (dtype == DType::kI64 || dtype == DType::kU64) {
    // In f64, integers beyond 2^53 would lose digits. The tables have no such integers but the
    // limits of the types.
    Tensor out = std::move(Tensor::zeros(DType::kI64, shape)).value();
    for (size_t i = 0; i < values.size(); ++i) {
      const double v = values[i];
      out.mutable_data<int64_t>()[i] = v >= 9.3e18   ? -1
                                       : v >= 9.2e18 ? INT64_MAX
                                                     : static_cast<int64_t>(v);
    }
    return dtype == DType::kI64 ? out : cast(out, dtype).value();
  }
  return cast(Tensor::of<double>(DType::kF64, std::move(shape), values).value(), dtype).value();
}

Tensor random_f32(uint32_t seed, std::vector<int64_t> shape) {
  std::mt19937 generator(seed);
  Tensor out = std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
  for (int64_t i = 0; i < out.volume(); ++i) {
    out.mutable_data<float>()[i] = static_cast<float>(generator() >> 8) * 0x1p-22F - 2.0F;
  }
  return out;
}

Result<Graph> load_text(std::string_view graph) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / str_cat("rill_ops_test_", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "graph.nnef") << graph;
  Result<Graph> loaded = nnef::load(folder.string(), op_table());
  std::filesystem::remove_all(folder);
  return loaded;
}

Result<Graph> load(const std::vector<Input>& inputs, std::string_view statements,
                   std::string_view results, std::string_view extensions) {
  std::string names;
  std::string body;
  for (const Input& input : inputs) {
    names += (names.empty() ? "" : ", ") + input.name;
    body += str_cat("  ", input.name, " = tract_core_external(shape = [", input.shape,
                    "], datum_type = '", input.dtype, "');\n");
  }
  return load_text(str_cat(
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_registry tract_pulse;\n"
      "extension tract_registry tract_extra;\nextension tract_registry tract_transformers;\n"
      "extension tract_registry tract_onnx;\nextension tract_registry tract_resource;\n"
      "extension tract_registry rill_onnx;\n"
      "extension tract_symbol S;\nextension tract_symbol B;\n",
      extensions, "graph network(", names, ") -> (", results, ") {\n", body, "  ", statements,
      "\n}\n"));
}

Graph graph_of(const std::vector<Input>& inputs, std::string_view statements,
               std::string_view results, std::string_view extensions) {
  Result<Graph> graph = load(inputs, statements, results, extensions);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string() << "\n" << statements;
  return graph.ok() ? std::move(graph).value() : Graph();
}

Result<std::vector<Tensor>> eval(const Op& op, const std::vector<Tensor>& inputs) {
  std::vector<TensorPtr> values;
  Facts facts;
  for (const Tensor& input : inputs) {
    values.push_back(std::make_shared<const Tensor>(input));
    facts.push_back(Fact::of_tensor(values.back()).without_value());
  }
  RILL_ASSIGN(const Facts out, op.infer(facts));
  return evaluate(op, values, out);
}

namespace {

void fill(const View& view, const Tensor& tensor) {
  if (tensor.size_bytes() > 0) {
    std::memcpy(view.data, tensor.raw(), static_cast<size_t>(tensor.size_bytes()));
  }
}

Tensor taken(const View& view) {
  const std::vector<int64_t> shape(view.shape.begin(), view.shape.begin() + view.rank);
  Tensor out = std::move(Tensor::zeros(view.dtype, shape, view.q)).value();
  copy_view(view, out.view());
  return out;
}

}  // namespace

Result<std::vector<Tensor>> run(const Graph& graph, const std::vector<Tensor>& inputs,
                                bool optimize, WeightChoice* weights) {
  Graph bound = graph;
  // As models are loaded: rewrites that round differently need the open graph.
  if (optimize) {
    RILL_ASSIGN(bound, declutter(bound));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int axis = 0; axis < inputs[i].rank(); ++axis) {
      const Dim extent = bound.fact(bound.inputs[i]).dim(axis);
      if (const auto found = solve(extent, inputs[i].extent(axis), {})) {
        RILL_ASSIGN(bound, bound.with_symbol(found->first, Dim(found->second)));
      }
    }
  }
  if (optimize) {
    RILL_ASSIGN(bound, declutter(bound));
  }
  PrepareOptions options;
  options.optimize = optimize;
  options.weights = weights;
  RILL_ASSIGN(const auto plan, prepare(bound, options));
  RILL_ASSIGN(const auto session, Session::make(plan));
  for (size_t i = 0; i < inputs.size(); ++i) fill(session->input(i), inputs[i]);
  session->step();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < plan->outputs.size(); ++i) outputs.push_back(taken(session->output(i)));
  return outputs;
}

std::string text(const Tensor& tensor) { return tensor_text(tensor, tensor.volume()); }

namespace {

bool same_element(const Tensor& a, const Tensor& b, int64_t i) {
  const double x = element_as_double(a, i).value();
  const double y = element_as_double(b, i).value();
  if (std::isnan(x) && std::isnan(y)) return true;
  const auto size = static_cast<size_t>(dtype_size(a.dtype()));
  return std::memcmp(a.data<std::byte>() + static_cast<size_t>(i) * size,
                     b.data<std::byte>() + static_cast<size_t>(i) * size, size) == 0;
}

}  // namespace

void expect_same(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < got.volume(); ++i) {
    ASSERT_TRUE(same_element(got, want, i))
        << "element " << i << "\n got " << text(got) << "\nwant " << text(want);
  }
}

void expect_near(const Tensor& got, const Tensor& want, double atol, double rtol) {
  ASSERT_EQ(got.dtype(), want.dtype()) << text(got);
  ASSERT_EQ(got.shape(), want.shape()) << text(got);
  for (int64_t i = 0; i < got.volume(); ++i) {
    const double x = element_as_double(got, i).value();
    const double y = element_as_double(want, i).value();
    const bool same = (std::isnan(x) && std::isnan(y)) || x == y;
    ASSERT_TRUE(same || std::abs(x - y) <= atol + rtol * std::abs(y))
        << "element " << i << "\n got " << text(got) << "\nwant " << text(want);
  }
}

namespace {

/// Return the tensor with its axes in another physical order; `perm` is set to the permutation that
/// reverses it.
Tensor reordered(const Tensor& tensor, const std::vector<int64_t>& order,
                 std::vector<int64_t>* perm) {
  perm->assign(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    (*perm)[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return eval(Transpose(order), {tensor}).value()[0];
}

}  // namespace

void expect_every_layout(const OpPtr& op, const std::vector<Tensor>& inputs) {
  const auto want = eval(*op, inputs);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  std::vector<int64_t> order(static_cast<size_t>(inputs[0].rank()));
  std::iota(order.begin(), order.end(), 0);
  do {
    Graph graph;
    std::vector<OutletId> wires;
    std::vector<Tensor> stored;
    for (const Tensor& input : inputs) {
      const bool moved = input.rank() == static_cast<int>(order.size());
      std::vector<int64_t> perm;
      stored.push_back(moved ? reordered(input, order, &perm) : input);
      const auto value = std::make_shared<const Tensor>(stored.back());
      OutletId wire =
          graph.add_source(str_cat("in", wires.size()), Fact::of_tensor(value).without_value());
      if (moved) wire = graph.add("moved", make_op<Transpose>(perm), {wire}).value()[0];
      wires.push_back(wire);
    }
    const auto outlets = graph.add("op", op, wires);
    ASSERT_TRUE(outlets.ok()) << outlets.error().to_string();
    for (const OutletId& outlet : *outlets) graph.add_output("y", outlet);
    const auto got = run(graph, stored, false);
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    for (size_t i = 0; i < got->size(); ++i) {
      SCOPED_TRACE(str_cat(op->name(), " ", op->attributes(), ", physical order ", order));
      expect_same((*got)[i], (*want)[i]);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

void expect_written_and_read(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto simple = declutter(graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  const auto want = run(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  for (const Graph* written : {&graph, &*simple}) {
    const auto path =
        std::filesystem::temp_directory_path() / str_cat("rill_ops_test_", getpid(), ".nnef.tar");
    const Status saved = nnef::save(*written, path.string(), nnef::Container::kTar);
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    const auto again = nnef::load(path.string(), op_table());
    std::filesystem::remove(path);
    ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n"
                            << nnef::graph_text(*written).value();
    const auto got = run(*again, inputs);
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    for (size_t i = 0; i < want->size(); ++i) expect_same((*got)[i], (*want)[i]);
  }
}

void expect_load_error(const std::vector<Input>& inputs, std::string_view statements, Code code,
                       std::string_view words) {
  const auto graph = load(inputs, statements);
  ASSERT_FALSE(graph.ok()) << "loaded: " << statements;
  EXPECT_EQ(graph.error().code, code) << graph.error().to_string();
  EXPECT_NE(graph.error().message.find(words), std::string::npos) << graph.error().to_string();
}

namespace {

/// Return frames [from, to) of a tensor; missing frames are NaN.
Tensor frames(const Tensor& tensor, int axis, int64_t from, int64_t to) {
  std::vector<int64_t> shape = tensor.shape();
  shape[static_cast<size_t>(axis)] = to - from;
  Tensor out = std::move(Tensor::zeros(tensor.dtype(), shape)).value();
  if (tensor.dtype() == DType::kF32) {
    std::fill_n(out.mutable_data<float>(), out.volume(), std::nanf(""));
  }
  const int64_t first = std::max<int64_t>(from, 0);
  const int64_t last = std::min(to, tensor.extent(axis));
  if (first >= last) return out;
  View source = tensor.view();
  View target = out.view();
  const int64_t size = dtype_size(tensor.dtype());
  source.shape[static_cast<size_t>(axis)] = last - first;
  target.shape[static_cast<size_t>(axis)] = last - first;
  source.data = static_cast<std::byte*>(source.data) + first * source.step(axis) * size;
  target.data = static_cast<std::byte*>(target.data) + (first - from) * target.step(axis) * size;
  copy_view(source, target);
  return out;
}

struct Streamed {
  Tensor frames;
  int64_t delay = 0;
};

Result<Streamed> stream(const Graph& graph, int axis, int64_t pulse, const Tensor& x,
                        int64_t frames_out) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  pulse::Report report;
  RILL_ASSIGN(Graph pulsed, pulse::pulsify(graph, options, &report));
  RILL_ASSIGN(pulsed, declutter(pulsed));
  RILL_ASSIGN(const auto plan, prepare(pulsed));
  RILL_ASSIGN(const auto session, Session::make(plan));
  const pulse::Stream& out = report.outputs[0];
  const List<int64_t>& extents = plan->outputs[0].shape;
  std::vector<int64_t> shape(extents.begin(), extents.end());
  shape[static_cast<size_t>(out.axis)] = frames_out;
  RILL_ASSIGN(Tensor all, Tensor::zeros(plan->outputs[0].dtype, shape));
  const int64_t length = x.extent(axis);
  for (int64_t tick = 0; tick * out.pulse < out.delay + frames_out; ++tick) {
    if (!session->end_announced() && (tick + 1) * pulse >= length) session->announce_end(length);
    fill(session->input(0), frames(x, axis, tick * pulse, (tick + 1) * pulse));
    session->step();
    const Tensor y = taken(session->output(0));
    const int64_t first = tick * out.pulse - out.delay;
    for (int64_t i = 0; i < out.pulse; ++i) {
      if (first + i < 0 || first + i >= frames_out) continue;
      const Tensor one = frames(y, out.axis, i, i + 1);
      View target = all.view();
      target.shape[static_cast<size_t>(out.axis)] = 1;
      target.data = static_cast<std::byte*>(target.data) +
                    (first + i) * target.step(out.axis) * dtype_size(target.dtype);
      copy_view(one.view(), target);
    }
  }
  return Streamed{std::move(all), out.delay};
}

}  // namespace

void expect_streams(const Graph& graph, int axis, const std::vector<int64_t>& pulses,
                    const std::vector<int64_t>& lengths, std::vector<int64_t> delays) {
  const auto simple = declutter(graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  for (size_t i = 0; i < pulses.size(); ++i) {
    for (const int64_t length : lengths) {
      SCOPED_TRACE(str_cat("pulse ", pulses[i], ", ", length, " frames"));
      std::vector<int64_t> shape;
      for (const Dim& extent : graph.fact(graph.inputs[0]).shape) {
        shape.push_back(extent.is_const() ? *extent.to_int() : length);
      }
      const Tensor x = random_f32(static_cast<uint32_t>(length), shape);
      const auto whole = run(graph, {x});
      ASSERT_TRUE(whole.ok()) << whole.error().to_string();
      int out_axis = -1;
      const Fact& out = graph.fact(graph.outputs[0]);
      for (int a = 0; a < out.rank(); ++a) {
        if (out.dim(a).mentions("S")) out_axis = a;
      }
      ASSERT_GE(out_axis, 0) << out.to_string();
      const auto got = stream(*simple, axis, pulses[i], x, (*whole)[0].extent(out_axis));
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      if (!delays.empty()) {
        EXPECT_EQ(got->delay, delays[i]);
      }
      expect_same(got->frames, (*whole)[0]);
    }
  }
}

void expect_refused(const Graph& graph, int64_t pulse, std::string_view words) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  const auto simple = declutter(graph);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  const auto pulsed = pulse::pulsify(*simple, options);
  ASSERT_FALSE(pulsed.ok()) << "was not refused";
  EXPECT_EQ(pulsed.error().code, Code::kPulse);
  EXPECT_NE(pulsed.error().message.find(words), std::string::npos) << pulsed.error().to_string();
}

int64_t weight_bytes(const Graph& graph) {
  const auto plan = prepare(graph);
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  int64_t bytes = 0;
  for (const PlanBuffer& buffer : (*plan)->buffers) {
    if (buffer.kind == BufferKind::kConst) bytes += buffer.bytes;
  }
  return bytes;
}

}  // namespace rill::ops::test
