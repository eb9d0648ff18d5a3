#include "tests/fuzz/mutate_tensor.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace rill::test {
namespace {

// Field numbers of onnx.proto.
constexpr int kName = 1;
constexpr int kFloat = 2;
constexpr int kInteger = 3;
constexpr int kString = 4;
constexpr int kFloats = 7;
constexpr int kIntegers = 8;
constexpr int kAttributeType = 20;
constexpr int kDims = 1;
constexpr int kTensorType = 2;
constexpr int kRaw = 9;
constexpr int kTypeTensor = 1;
constexpr int kElement = 1;
constexpr int kShape = 2;
constexpr int kDim = 1;
constexpr int kDimValue = 1;
constexpr int kDimParam = 2;

// Element type numbers of onnx.proto.
constexpr int64_t kF32 = 1;
constexpr int64_t kI64 = 7;
constexpr int64_t kF16 = 10;
constexpr int64_t kF64 = 11;

int64_t size_of_element(int64_t type) {
  switch (type) {
    case kF32:
    case 6:
    case 12:
      return 4;
    case 4:
    case 5:
    case kF16:
    case 16:
      return 2;
    case kI64:
    case kF64:
    case 13:
      return 8;
    default:
      return 1;
  }
}

int64_t some_type(Random* random) {
  static constexpr int64_t kTypes[] = {kF32, kF32, kI64, kI64, 6, 9, 2, 3, kF16, kF64, 16, 12, 13};
  if (random->chance(5)) return random->in(0, 26);
  return kTypes[random->in(0, std::ssize(kTypes) - 1)];
}

int64_t some_extent(Random* random) {
  if (random->chance(3)) return random->chance(50) ? -1 : int64_t{1} << random->in(10, 62);
  return random->chance(10) ? 0 : random->log_in(1, random->chance(10) ? 300 : 18);
}

int64_t some_integer(Random* random) {
  static constexpr int64_t kFar[] = {std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min(),
                                     int64_t{1} << 62,
                                     int64_t{1} << 31,
                                     -(int64_t{1} << 31) - 1,
                                     1000003};
  if (random->chance(6)) return kFar[random->in(0, std::ssize(kFar) - 1)];
  if (random->chance(60)) return random->in(-2, 4);
  return random->log_in(1, 200) * (random->chance(85) ? 1 : -1);
}

double some_real(Random* random) {
  static constexpr double kEdges[] = {0.0,      -0.0,      1.0,   -1.0,       0.5,  2.0,
                                      1.5,      1e-3,      1e-38, 1e-45,      3e38, -3e38,
                                      HUGE_VAL, -HUGE_VAL, 65504, 16777217.0, 1e9};
  if (random->chance(4)) return std::numeric_limits<double>::quiet_NaN();
  if (random->chance(50)) return kEdges[random->in(0, std::ssize(kEdges) - 1)];
  return random->unit() * 4 - 2;
}

std::string_view some_word(Random* random) {
  static constexpr std::string_view kWords[] = {"NOTSET",
                                                "SAME_UPPER",
                                                "SAME_LOWER",
                                                "VALID",
                                                "constant",
                                                "reflect",
                                                "edge",
                                                "wrap",
                                                "linear",
                                                "nearest",
                                                "cubic",
                                                "bilinear",
                                                "border",
                                                "zeros",
                                                "reflection",
                                                "forward",
                                                "reverse",
                                                "bidirectional",
                                                "Tanh",
                                                "Sigmoid",
                                                "Relu",
                                                "Affine",
                                                "HardSigmoid",
                                                "Softsign",
                                                "add",
                                                "mul",
                                                "min",
                                                "max",
                                                "none",
                                                "mean",
                                                "sum",
                                                "none ",
                                                "half_pixel",
                                                "asymmetric",
                                                "align_corners",
                                                "tf_crop_and_resize",
                                                "pytorch_half_pixel",
                                                "floor",
                                                "ceil",
                                                "round_prefer_floor",
                                                "DCR",
                                                "CRD",
                                                "tanh",
                                                "ij,jk->ik",
                                                "i,j->ij",
                                                "...ij->...ji",
                                                "ii->i",
                                                "ij->"};
  return kWords[random->in(0, std::ssize(kWords) - 1)];
}

uint64_t bits_of_number(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

std::vector<int64_t> extents_of(const Fields& tensor) {
  std::vector<int64_t> out;
  for (const size_t place : places_of(tensor, kDims)) {
    out.push_back(static_cast<int64_t>(tensor[place].value));
  }
  return out;
}

/// Encode values of this type: one per element, or fewer if the shape is large.
std::string values_of(int64_t type, const std::vector<int64_t>& extents, Random* random) {
  constexpr int64_t kMost = 4096;
  int64_t count = 1;
  for (const int64_t extent : extents) {
    count = extent < 0 ? 0 : extent > kMost ? kMost : std::min(count * extent, kMost);
  }
  std::string out;
  const bool edges = random->chance(20);
  for (int64_t i = 0; i < count; ++i) {
    const double real = edges ? some_real(random) : random->unit() * 2 - 1;
    uint64_t bits = static_cast<uint64_t>(edges ? some_integer(random) : random->in(0, 3));
    if (type == kF32) bits = bits_of_number(real);
    if (type == kF64) bits = std::bit_cast<uint64_t>(real);
    if (type == 16) bits = bits_of_number(real) >> 16U;
    if (type == kF16) bits = static_cast<uint64_t>(random->in(0, edges ? 0xFFFF : 0x3FFF));
    if (type == 9) bits &= 1U;
    for (int64_t k = 0; k < size_of_element(type); ++k) {
      out += static_cast<char>(bits >> (8 * static_cast<unsigned>(k)));
    }
  }
  return out;
}

void fill(Fields* tensor, Random* random) {
  const auto type = static_cast<int64_t>(need_field(tensor, kTensorType, 0)->value);
  std::erase_if(*tensor, [](const Field& field) {
    return field.number == 4 || field.number == 5 || field.number == 6 || field.number == 7 ||
           field.number == kRaw || field.number == 10 || field.number == 11;
  });
  tensor->push_back(text_field(kRaw, values_of(type, extents_of(*tensor), random)));
}

void change_list(Fields* attribute, int number, Random* random) {
  const auto places = places_of(*attribute, number);
  const auto value = [&] {
    return number == kFloats ? bits_of_number(some_real(random))
                             : static_cast<uint64_t>(some_integer(random));
  };
  const int64_t choice = random->in(0, 5);
  if (choice == 0 || places.empty()) {
    attribute->push_back({number, number == kFloats ? 5 : 0, value(), {}});
  } else if (choice == 1) {
    attribute->erase(attribute->begin() + static_cast<std::ptrdiff_t>(places.back()));
  } else {
    const size_t at = static_cast<size_t>(random->in(0, std::ssize(places) - 1));
    (*attribute)[places[at]].value = value();
  }
}

Field* tensor_type(Fields* type) { return need_field(type, kTypeTensor, 2); }

void change_dims(Fields* shape, Random* random) {
  const auto dims = places_of(*shape, kDim);
  const int64_t choice = random->in(0, 9);
  if (choice == 0 || dims.empty()) {
    const Fields dim{integer_field(kDimValue, some_extent(random))};
    shape->push_back(text_field(kDim, message_of(dim)));
  } else if (choice == 1) {
    shape->erase(shape->begin() + random->in(0, std::ssize(*shape) - 1));
  } else {
    const size_t at = dims[static_cast<size_t>(random->in(0, std::ssize(dims) - 1))];
    edit(&(*shape)[at],
         [&](Fields* dim) { *dim = {integer_field(kDimValue, some_extent(random))}; });
  }
}

}  // namespace

void change_value(Fields* attribute, Random* random) {
  if (Field* const number = find_field(attribute, kFloat)) {
    number->value = bits_of_number(some_real(random));
  } else if (Field* const integer = find_field(attribute, kInteger)) {
    integer->value = static_cast<uint64_t>(some_integer(random));
  } else if (Field* const word = find_field(attribute, kString)) {
    word->content = some_word(random);
  } else if (find_field(attribute, kFloats)) {
    change_list(attribute, kFloats, random);
  } else if (find_field(attribute, kIntegers)) {
    change_list(attribute, kIntegers, random);
  }
}

void change_tensor(Fields* tensor, Random* random) {
  const int64_t choice = random->in(0, 9);
  if (choice < 2) {
    need_field(tensor, kTensorType, 0)->value = static_cast<uint64_t>(some_type(random));
  } else if (choice < 7) {
    const auto dims = places_of(*tensor, kDims);
    const int64_t change = random->in(0, 5);
    if (change == 0 || dims.empty()) {
      tensor->push_back(integer_field(kDims, some_extent(random)));
    } else if (change == 1) {
      tensor->erase(tensor->begin() + static_cast<std::ptrdiff_t>(dims.back()));
    } else {
      const size_t at = dims[static_cast<size_t>(random->in(0, std::ssize(dims) - 1))];
      (*tensor)[at].value = static_cast<uint64_t>(some_extent(random));
    }
  }
  fill(tensor, random);
}

void change_type(Fields* type, Random* random) {
  edit(tensor_type(type), [&](Fields* tensor) {
    if (random->chance(25)) {
      need_field(tensor, kElement, 0)->value = static_cast<uint64_t>(some_type(random));
    } else {
      edit(need_field(tensor, kShape, 2), [&](Fields* shape) { change_dims(shape, random); });
    }
  });
}

void open_an_extent(Fields* type, Random* random) {
  edit(tensor_type(type), [&](Fields* tensor) {
    edit(find_field(tensor, kShape), [&](Fields* shape) {
      const auto dims = places_of(*shape, kDim);
      if (dims.empty()) return;
      const size_t at = dims[static_cast<size_t>(random->in(0, std::ssize(dims) - 1))];
      edit(&(*shape)[at], [](Fields* dim) { *dim = {text_field(kDimParam, "S")}; });
    });
  });
}

std::string attribute_of(std::string_view name, std::string_view type, Random* random) {
  Fields out{text_field(kName, name)};
  int64_t number = 0;
  const bool list = type.ends_with("[]");
  if (type.starts_with("integer") || type == "logical") {
    number = list ? 7 : 2;
    for (int64_t i = list ? random->in(0, 4) : 1; i > 0; --i) {
      out.push_back(integer_field(list ? kIntegers : kInteger, some_integer(random)));
    }
  } else if (type.starts_with("scalar")) {
    number = list ? 6 : 1;
    for (int64_t i = list ? random->in(0, 3) : 1; i > 0; --i) {
      out.push_back({list ? kFloats : kFloat, 5, bits_of_number(some_real(random)), {}});
    }
  } else if (type.starts_with("string")) {
    number = list ? 8 : 3;
    for (int64_t i = list ? random->in(0, 3) : 1; i > 0; --i) {
      out.push_back(text_field(list ? 9 : kString, some_word(random)));
    }
  } else {
    return {};
  }
  out.push_back(integer_field(kAttributeType, number));
  return message_of(out);
}

std::string tensor_like(const Fields& info, std::string_view name, Random* random) {
  Fields out;
  Fields type_holder = info;
  bool known = false;
  edit(find_field(&type_holder, kInfoType), [&](Fields* type) {
    edit(find_field(type, kTypeTensor), [&](Fields* tensor) {
      out.push_back(
          integer_field(kTensorType, static_cast<int64_t>(need_field(tensor, kElement, 0)->value)));
      edit(find_field(tensor, kShape), [&](Fields* shape) {
        known = true;
        for (const size_t place : places_of(*shape, kDim)) {
          edit(&(*shape)[place], [&](Fields* dim) {
            Field* const value = find_field(dim, kDimValue);
            known &= value != nullptr;
            if (value) out.push_back(integer_field(kDims, static_cast<int64_t>(value->value)));
          });
        }
      });
    });
  });
  if (!known) return {};
  out.push_back(text_field(kTensorName, name));
  fill(&out, random);
  return message_of(out);
}

std::string info_like(const Fields& tensor, std::string_view name) {
  Fields shape;
  for (const int64_t extent : extents_of(tensor)) {
    const Fields dim{integer_field(kDimValue, extent)};
    shape.push_back(text_field(kDim, message_of(dim)));
  }
  Fields copy = tensor;
  const auto element = static_cast<int64_t>(need_field(&copy, kTensorType, 0)->value);
  const Fields type_of_tensor{integer_field(kElement, element),
                              text_field(kShape, message_of(shape))};
  const Fields type{text_field(kTypeTensor, message_of(type_of_tensor))};
  const Fields info{text_field(kName, name), text_field(kInfoType, message_of(type))};
  return message_of(info);
}

}  // namespace rill::test
