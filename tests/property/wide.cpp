#include "tests/property/wide.h"

#include "tests/property/texts.h"
#include "tests/property/wide_writer.h"

namespace rill::test {
namespace {

const char kLoops[] = R"(fragment sum_loop(h: tensor<scalar>, x: tensor<scalar>)
    -> (h_t: tensor<scalar>) {
  h_t = tanh(x + h * 0.5);
}
)";

}  // namespace

WideWire WideWriter::start() {
  batch_ = draw_.chance(60) ? 1 : draw_.in(2, 3);
  const int64_t channels = draw_.in(1, 2);
  times_ = draw_.chance(75) ? 1 : draw_.in(2, 3);
  input("x", str_cat(batch_, ", ", channels, ", ", times_, "*S"));
  return {"x", channels};
}

WideWire WideWriter::link(const WideWire& x) {
  using Link = WideWire (WideWriter::*)(const WideWire&);
  const struct {
    int weight;
    Link link;
  } links[] = {
      {18, &WideWriter::trim},        {10, &WideWriter::padded},     {14, &WideWriter::conv},
      {6, &WideWriter::deconv},       {7, &WideWriter::pool},        {5, &WideWriter::branches},
      {5, &WideWriter::shifted},      {4, &WideWriter::strided},     {5, &WideWriter::joined},
      {5, &WideWriter::against_kept}, {5, &WideWriter::running},     {4, &WideWriter::resized},
      {3, &WideWriter::regrouped},    {5, &WideWriter::by_position}, {4, &WideWriter::with_static},
      {3, &WideWriter::with_stream},  {3, &WideWriter::pointwise},   {4, &WideWriter::last_state},
      {1, &WideWriter::attention},
  };
  int all = 0;
  for (const auto& each : links) all += each.weight;
  int64_t dice = draw_.in(0, all - 1);
  WideWire out = x;
  for (const auto& each : links) {
    dice -= each.weight;
    if (dice >= 0) continue;
    out = (this->*each.link)(x);
    break;
  }
  wires_.push_back(out);
  return out;
}

void WideWriter::finish(const WideWire& x) {
  text_ += str_cat("  y = copy(", x.name, ");\n");
  const char* const ends[] = {"max_reduce(", "sum_reduce(", "mean_reduce(", "argmax_reduce("};
  if (draw_.chance(15)) more_.push_back(put({ends[draw_.in(0, 3)], x.name, ", axes = [2])"}));
  if (!wires_.empty() && draw_.chance(30)) {
    const auto any = draw_.in(0, static_cast<int64_t>(wires_.size()) - 1);
    more_.push_back(put({"copy(", wires_[static_cast<size_t>(any)].name, ")"}));
  }
  for (size_t i = 0; i < more_.size(); ++i) {
    text_ += str_cat("  z", i, " = copy(", more_[i], ");\n");
    results_ += str_cat(", z", i);
  }
}

std::string WideWriter::text() const {
  const bool loops = text_.find("_loop'") != std::string::npos;
  return str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
                 asserts_, loops ? str_cat(kLoops, kGruLoop) : "", "graph network(", inputs_,
                 ") -> (", results_, ")\n{\n", externals_, text_, "}\n");
}

WideRecipe wide_recipe(uint64_t seed) {
  WideRecipe out{seed, {}};
  const int64_t count = audit::Draw(seed * 7919).in(1, 6);
  for (int i = 0; i < count; ++i) out.links.push_back(i);
  return out;
}

std::string wide_graph(const WideRecipe& recipe) {
  WideWriter writer(recipe.seed * 7919 + 7001);
  WideWire wire = writer.start();
  for (const int i : recipe.links) {
    writer.reseed(recipe.seed * 7919 + static_cast<uint64_t>(i) + 1);
    wire = writer.link(wire);
  }
  writer.reseed(recipe.seed * 7919 + 7000);
  writer.finish(wire);
  return writer.text();
}

}  // namespace rill::test
