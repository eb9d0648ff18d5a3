// Properties of every operator on every type that it accepts: the cases of tests/operators/cases
// with operands of other types.

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <fstream>
#include <set>

#include "core/base/search.h"
#include "tests/operators/case.h"
#include "tests/operators/reference_run.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr DType kTypes[] = {DType::kBool, DType::kU8,  DType::kU16, DType::kU32, DType::kU64,
                            DType::kI8,   DType::kI16, DType::kI32, DType::kI64, DType::kF16,
                            DType::kBF16, DType::kF32, DType::kF64};

struct CaseName {
  std::string operator()(const ::testing::TestParamInfo<Case>& info) const {
    return info.param.name;
  }
};

bool has(const Case& of, DType type) {
  for (const std::vector<Operand>* operands : {&of.inputs, &of.added, &of.weights}) {
    for (const Operand& operand : *operands) {
      if (operand.dtype == type) return true;
    }
  }
  return false;
}

Case with_type(Case of, DType from, DType to) {
  for (std::vector<Operand>* operands : {&of.inputs, &of.added, &of.weights}) {
    for (Operand& operand : *operands) {
      if (operand.dtype == from) operand.dtype = to;
    }
  }
  return of;
}

/// Turn weights into inputs, which may have every type. Constant folding then bypasses no kernel.
Case with_weights_given(Case of) {
  of.inputs.insert(of.inputs.end(), of.weights.begin(), of.weights.end());
  of.weights.clear();
  return of;
}

/// A case with other types, after loading, with its inputs and outputs.
struct Typed {
  Case a_case;
  DType from;
  DType to;
  Graph graph;
  Graph bound;
  std::vector<Tensor> inputs;

  std::string text() const {
    return str_cat(dtype_name(from), " as ", dtype_name(to), "\n", a_case.text());
  }
};

class TypeProperties : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!GetParam().lengths.empty()) length_ = GetParam().lengths.back();
  }

  std::optional<Typed> loaded(Case a_case, DType from, DType to) const {
    auto graph = load_case(a_case);
    if (!graph.ok()) return std::nullopt;
    auto bound = graph->with_symbol("S", Dim(length_));
    if (!bound.ok()) return std::nullopt;
    auto inputs = case_inputs(a_case, *graph, {{"S", length_}}, 7);
    if (!inputs.ok()) return std::nullopt;
    return Typed{std::move(a_case), from, to, *std::move(graph), *std::move(bound),
                 *std::move(inputs)};
  }

  template <class See>
  void for_each_type(const See& see) const {
    if (GetParam().pulsed) return;
    for (const DType from : {DType::kF32, DType::kI64, DType::kI32, DType::kU8, DType::kBool}) {
      if (!has(GetParam(), from)) continue;
      for (const DType to : kTypes) {
        const Case other = with_type(GetParam(), from, to);
        if (const auto typed = loaded(other, from, to)) see(*typed);
        // An input has its declared type, which would ignore graph.quant.
        if (other.weights.empty() || !other.quant.empty()) continue;
        if (const auto typed = loaded(with_weights_given(other), from, to)) see(*typed);
      }
    }
  }

  /// Operators that always compute in f32 do so for f64 operands too.
  static Allowance allowed(const Typed& typed, DType type) {
    if (type == DType::kBF16) return {3e-2, 1e-2};
    return allowance(typed.bound, type == DType::kF64 ? DType::kF32 : type);
  }

  int64_t length_ = 1;
};

TEST_P(TypeProperties, InferredTypesAreComputedAndPlanned) {
  for_each_type([&](const Typed& typed) {
    auto plain = reference_run(typed.bound, typed.inputs);
    ASSERT_TRUE(plain.ok()) << plain.error().to_string() << "\n" << typed.text();
    auto whole = WholeRun::make(typed.graph, length_);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string() << "\n" << typed.text();
    const std::vector<Tensor> found = whole->run(typed.inputs);
    for (size_t i = 0; i < found.size(); ++i) {
      const Allowance allow = allowed(typed, found[i].dtype());
      EXPECT_EQ(difference_within(found[i], (*plain)[i], allow), "") << typed.text();
    }
  });
}

TEST_P(TypeProperties, AStreamGivesTheFramesOfTheWholeRun) {
  for_each_type([&](const Typed& typed) {
    for (const int64_t pulse : GetParam().pulses) {
      auto streamed = StreamedRun::make(typed.graph, pulse);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << "\n" << typed.text();
      auto frames = streamed->run(typed.inputs, length_);
      ASSERT_TRUE(frames.ok()) << frames.error().to_string() << "\n" << typed.text();
      auto whole = WholeRun::make(typed.graph, length_);
      ASSERT_TRUE(whole.ok()) << whole.error().to_string() << "\n" << typed.text();
      const std::vector<Tensor> expected = whole->run(typed.inputs);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(difference((*frames)[i], expected[i]), "")
            << "pulse " << pulse << ", " << typed.text();
      }
    }
  });
}

/// Both runs read the same values, so that only the rounding of computed values differs.
TEST_P(TypeProperties, NarrowFloatsGiveTheNumbersOfWideOnes) {
  const auto wide = loaded(with_weights_given(with_type(GetParam(), DType::kF32, DType::kF64)),
                           DType::kF32, DType::kF64);
  if (GetParam().pulsed || !GetParam().quant.empty() || !wide) return;
  for_each_type([&](const Typed& typed) {
    if (typed.from != DType::kF32 || !is_float(typed.to) || !typed.a_case.weights.empty()) return;
    std::vector<Tensor> upcast;
    for (size_t i = 0; i < typed.inputs.size(); ++i) {
      upcast.push_back(std::move(cast(typed.inputs[i], wide->inputs[i].dtype())).value());
    }
    auto expected = reference_run(wide->bound, upcast);
    auto found = reference_run(typed.bound, typed.inputs);
    ASSERT_TRUE(expected.ok() && found.ok()) << typed.text();
    const double rounding = typed.to == DType::kBF16 ? 5e-2 : typed.to == DType::kF16 ? 5e-3 : 1e-4;
    for (size_t i = 0; i < found->size(); ++i) {
      const DType type = (*expected)[i].dtype();
      const Tensor as_wide = std::move(cast((*found)[i], type)).value();
      EXPECT_EQ(difference_within(as_wide, (*expected)[i], {rounding, rounding}), "")
          << typed.text();
    }
  });
}

/// Return the operators that compute every float type in f32, as docs/operators.md lists them.
const std::set<std::string>& in_f32() {
  static const std::set<std::string> names = [] {
    std::set<std::string> out;
    std::ifstream page(RILL_SOURCE_DIR "/docs/operators.md");
    for (std::string row; std::getline(page, row);) {
      const size_t end = row.find('`', 3);
      if (!row.starts_with("| `") || end == std::string::npos) continue;
      if (row.find("in f32") != std::string::npos) out.insert(row.substr(3, end - 3));
    }
    return out;
  }();
  return names;
}

bool mentions(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = at + name.size() < text.size() ? text[at + name.size()] : ' ';
    if (std::isalnum(before) == 0 && before != '_' && after == '(') return true;
  }
  return false;
}

/// Floats with more digits than f32 has give such floats.
TEST_P(TypeProperties, FloatsOf64BitsKeepTheirDigits) {
  if (in_f32().empty()) GTEST_SKIP() << "no page of the operators";
  for_each_type([&](const Typed& typed) {
    if (typed.from != DType::kF32 || typed.to != DType::kF64 || !typed.a_case.quant.empty()) return;
    const auto narrow = [&](const std::string& name) {
      return mentions(typed.a_case.text(), name);
    };
    const auto is_wide = [](const Tensor& input) { return input.dtype() == DType::kF64; };
    if (any_of(in_f32(), narrow) || none_of(typed.inputs, is_wide)) return;
    std::vector<Tensor> inputs;
    for (const Tensor& input : typed.inputs) {
      Tensor longer = std::move(cast(input, input.dtype())).value();
      if (input.dtype() == DType::kF64) {
        double* const all = longer.mutable_data<double>();
        for (int64_t i = 0; i < longer.volume(); ++i) {
          if (all[i] != std::round(all[i])) all[i] *= 1 + 1e-10 * static_cast<double>(i % 7 + 1);
        }
      }
      inputs.push_back(std::move(longer));
    }
    auto found = reference_run(typed.bound, inputs);
    auto whole = WholeRun::make(typed.graph, length_);
    ASSERT_TRUE(found.ok() && whole.ok()) << typed.text();
    const std::vector<Tensor> planned = whole->run(inputs);
    for (size_t i = 0; i < found->size(); ++i) {
      if ((*found)[i].dtype() != DType::kF64) continue;
      for (const Tensor* each : std::initializer_list<const Tensor*>{&(*found)[i], &planned[i]}) {
        const double* const all = each->data<double>();
        bool rounded = true;  // all are integers, or powers of two
        bool digits = false;
        for (int64_t k = 0; k < each->volume(); ++k) {
          int exponent = 0;
          if (!std::isfinite(all[k]) || all[k] == std::round(all[k])) continue;
          if (std::abs(std::frexp(all[k], &exponent)) == 0.5) continue;
          rounded = false;
          digits |= static_cast<double>(static_cast<float>(all[k])) != all[k];
        }
        EXPECT_TRUE(digits || rounded) << "output " << i << "\n" << typed.text();
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Cases, TypeProperties, ::testing::ValuesIn(all_cases()), CaseName());

}  // namespace
}  // namespace rill::test
