#include "ops/math/binary_groups.h"

#include <algorithm>
#include <utility>

#include "ops/array/walk.h"

namespace rill::ops {
namespace {

constexpr int64_t kGroup = 16;
constexpr int64_t kBlock = 8 * kGroup;

/// Compute contiguous groups of elements. Booleans are inverted if `flip` is 1.
using GroupsFn = void (*)(int64_t groups, const void* a, const void* b, void* out,
                          uint8_t flip) noexcept RILL_NONBLOCKING;

/// A group of 16 bytes, aligned for one element. Compilers use vector instructions for these even
/// when optimising for size.
template <class T>
struct LanesOf {
  using Type [[gnu::vector_size(16), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
using Lanes = typename LanesOf<T>::Type;

enum class Comparison { kEqual, kLess, kAtMost };

/// Integers of `kBytes` bytes for truth values: all bits are set for true.
template <size_t kBytes>
using Truths = Lanes<std::conditional_t<
    kBytes == 1, int8_t,
    std::conditional_t<kBytes == 2, int16_t, std::conditional_t<kBytes == 4, int32_t, int64_t>>>>;

template <size_t kBytes, size_t... kAt>
Truths<kBytes> narrowed(Truths<2 * kBytes> first, Truths<2 * kBytes> second,
                        std::index_sequence<kAt...>) {
  return __builtin_shufflevector(reinterpret_cast<Truths<kBytes>>(first),
                                 reinterpret_cast<Truths<kBytes>>(second), (2 * kAt)...);
}

/// Compare 16 / kBytes elements.
template <class T, Comparison kIs, size_t kBytes>
Truths<kBytes> compared(const T* x, const T* y) {
  if constexpr (kBytes == sizeof(T)) {
    const auto& p = *reinterpret_cast<const Lanes<T>*>(x);
    const auto& q = *reinterpret_cast<const Lanes<T>*>(y);
    if constexpr (kIs == Comparison::kEqual) return reinterpret_cast<Truths<kBytes>>(p == q);
    if constexpr (kIs == Comparison::kLess) return reinterpret_cast<Truths<kBytes>>(p < q);
    if constexpr (kIs == Comparison::kAtMost) return reinterpret_cast<Truths<kBytes>>(p <= q);
  } else {
    constexpr size_t kHalf = 8 / kBytes;
    return narrowed<kBytes>(compared<T, kIs, 2 * kBytes>(x, y),
                            compared<T, kIs, 2 * kBytes>(x + kHalf, y + kHalf),
                            std::make_index_sequence<16 / kBytes>());
  }
}

template <class T, Comparison kIs>
void compare_groups(int64_t groups, const void* a, const void* b, void* out,
                    uint8_t flip) noexcept RILL_NONBLOCKING {
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  auto* to = static_cast<Truths<1>*>(out);
  for (int64_t i = 0; i < groups; ++i) {
    const Truths<1> holds = compared<T, kIs, 1>(x + i * kGroup, y + i * kGroup);
    to[i] = (holds & 1) ^ static_cast<int8_t>(flip);
  }
}

enum class Truth { kBoth, kEither, kOneOf };

template <Truth kIs>
void join_groups(int64_t groups, const void* a, const void* b, void* out,
                 uint8_t flip) noexcept RILL_NONBLOCKING {
  const auto* x = static_cast<const Lanes<uint8_t>*>(a);
  const auto* y = static_cast<const Lanes<uint8_t>*>(b);
  auto* to = static_cast<Truths<1>*>(out);
  for (int64_t i = 0; i < groups; ++i) {
    const auto p = x[i] != 0;
    const auto q = y[i] != 0;
    const auto holds = kIs == Truth::kBoth ? p & q : kIs == Truth::kEither ? p | q : p ^ q;
    to[i] = (holds & 1) ^ static_cast<int8_t>(flip);
  }
}

template <class T, BinaryKind kKind>
void compute_groups(int64_t groups, const void* a, const void* b, void* out,
                    uint8_t) noexcept RILL_NONBLOCKING {
  const auto* x = static_cast<const Lanes<T>*>(a);
  const auto* y = static_cast<const Lanes<T>*>(b);
  auto* to = static_cast<Lanes<T>*>(out);
  for (int64_t i = 0; i < groups * static_cast<int64_t>(sizeof(T)); ++i) {
    if constexpr (kKind == BinaryKind::kAdd) to[i] = x[i] + y[i];
    if constexpr (kKind == BinaryKind::kSub) to[i] = x[i] - y[i];
    if constexpr (kKind == BinaryKind::kMul) to[i] = x[i] * y[i];
    if constexpr (kKind == BinaryKind::kDiv) to[i] = x[i] / y[i];
  }
}

/// A loop, and whether it runs with swapped operands or a flipped result.
struct Loop {
  GroupsFn run = nullptr;
  bool swaps = false;
  uint8_t flip = 0;
};

Loop truth_loop(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAnd:
    case BinaryKind::kBitAnd:
      return {join_groups<Truth::kBoth>};
    case BinaryKind::kOr:
    case BinaryKind::kBitOr:
      return {join_groups<Truth::kEither>};
    default:
      return {join_groups<Truth::kOneOf>, false,
              static_cast<uint8_t>(kind == BinaryKind::kEq ? 1 : 0)};
  }
}

template <Comparison kIs>
GroupsFn of_floats(DType type) {
  if (type == DType::kF32) return compare_groups<float, kIs>;
  return type == DType::kF64 ? compare_groups<double, kIs> : nullptr;
}

GroupsFn of_equal_bits(DType type) {
  GroupsFn run = nullptr;
  visit_plain_size(type,
                   [&](auto tag) { run = compare_groups<decltype(tag), Comparison::kEqual>; });
  return run;
}

GroupsFn of_less_integers(DType type) {
  GroupsFn run = nullptr;
  visit_number(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) run = compare_groups<T, Comparison::kLess>;
  });
  return run;
}

Loop comparison_loop(BinaryKind kind, DType type) {
  const bool floats = is_float(type);
  const bool equal = kind == BinaryKind::kEq || kind == BinaryKind::kNe;
  const bool greater = kind == BinaryKind::kGt || kind == BinaryKind::kGe;
  const bool or_equal = kind == BinaryKind::kLe || kind == BinaryKind::kGe;
  if (equal) {
    const auto flip = static_cast<uint8_t>(kind == BinaryKind::kNe ? 1 : 0);
    return {floats ? of_floats<Comparison::kEqual>(type) : of_equal_bits(type), false, flip};
  }
  // Floats have loops for < and <=: both are false for a NaN, so neither is the negation of the
  // other with swapped operands. For integers, <= is the negation of a swapped <.
  if (floats)
    return {or_equal ? of_floats<Comparison::kAtMost>(type) : of_floats<Comparison::kLess>(type),
            greater};
  return {of_less_integers(type), greater != or_equal, static_cast<uint8_t>(or_equal ? 1 : 0)};
}

template <BinaryKind kKind>
GroupsFn of_numbers(DType type) {
  if (type == DType::kF64) return compute_groups<double, kKind>;
  GroupsFn run = nullptr;
  if (!is_int(type)) return run;
  visit_plain_size(type, [&](auto tag) { run = compute_groups<decltype(tag), kKind>; });
  return run;
}

Loop loop_of(BinaryKind kind, DType type) {
  if (type == DType::kBool) return truth_loop(kind);
  if (is_comparison(kind)) return comparison_loop(kind, type);
  switch (kind) {
    case BinaryKind::kAdd:
      return {of_numbers<BinaryKind::kAdd>(type)};
    case BinaryKind::kSub:
      return {of_numbers<BinaryKind::kSub>(type)};
    case BinaryKind::kMul:
      return {of_numbers<BinaryKind::kMul>(type)};
    case BinaryKind::kDiv:
      return {type == DType::kF64 ? compute_groups<double, BinaryKind::kDiv> : nullptr};
    default:
      return {};
  }
}

/// A row of elements with stride `step`, in elements.
struct Row {
  std::byte* first = nullptr;
  int64_t step = 0;
  DType type = DType::kU8;

  std::byte* at(int64_t i) const { return first + i * step * dtype_size(type); }
};

void copy_row(const Row& from, const Row& to, int64_t count) {
  visit_plain_size(from.type, [&](auto tag) {
    using T = decltype(tag);
    const T* x = reinterpret_cast<const T*>(from.first);
    T* y = reinterpret_cast<T*>(to.first);
    for (int64_t i = 0; i < count; ++i) y[i * to.step] = x[i * from.step];
  });
}

/// Buffer for a block of the widest type. Elements beyond the end of a row are arbitrary, and their
/// results are discarded.
struct Block {
  alignas(64) std::byte bytes[kBlock * 8] = {};
};

/// Run one row in blocks. Elements that are not contiguous, or do not fill their last group, are
/// copied to a buffer.
void run_row(const Loop& loop, const Row& a, const Row& b, const Row& out, int64_t count) {
  const int64_t whole = count / kGroup;
  if (a.step == 1 && b.step == 1 && out.step == 1 && whole * kGroup == count) {
    return loop.run(whole, a.first, b.first, out.first, loop.flip);
  }
  Block blocks[3];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t some = std::min(count - begin, kBlock);
    const bool fills = some % kGroup == 0;
    const auto in_groups = [&](const Row& row, Block* block) {
      if (row.step == 1 && fills) return row.at(begin);
      const bool is_copied = row.step == 0 && begin > 0;
      if (!is_copied) copy_row({row.at(begin), row.step, row.type}, {block->bytes, 1}, some);
      return block->bytes;
    };
    const std::byte* x = in_groups(a, &blocks[0]);
    const std::byte* y = in_groups(b, &blocks[1]);
    const bool in_place = out.step == 1 && fills;
    std::byte* to = in_place ? out.at(begin) : blocks[2].bytes;
    loop.run((some + kGroup - 1) / kGroup, x, y, to, loop.flip);
    if (!in_place) copy_row({to, 1, out.type}, {out.at(begin), out.step}, some);
  }
}

}  // namespace

bool combine_groups(BinaryKind kind, const View& a, const View& b, const View& out) {
  const Loop loop = loop_of(kind, a.dtype);
  if (!loop.run || out.volume() == 0) return false;
  const std::array<View, 3> views = {out, loop.swaps ? b : a, loop.swaps ? a : b};
  std::array<int64_t, 3> steps{};
  if (rows_of(views, steps.data()).count < kGroup) return false;
  for_each_row<3>(views, [&](const std::array<int64_t, 3>& at, const std::array<int64_t, 3>& step,
                             int64_t count) {
    const auto row = [&](size_t i) {
      const Row first{views[i].as<std::byte>(), step[i], views[i].dtype};
      return Row{first.first + at[i] * dtype_size(first.type), step[i], first.type};
    };
    run_row(loop, row(1), row(2), row(0), count);
  });
  return true;
}

}  // namespace rill::ops
