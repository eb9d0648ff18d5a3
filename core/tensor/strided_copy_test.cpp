#include "core/tensor/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace rill {
namespace {

/// Copy by the definition, element by element.
template <class T>
void naive_copy(int rank, const int64_t* extent, const T* src, const int64_t* src_stride, T* dst,
                const int64_t* dst_stride) {
  if (rank == 0) {
    *dst = *src;
    return;
  }
  for (int64_t i = 0; i < extent[0]; ++i) {
    naive_copy(rank - 1, extent + 1, src + i * src_stride[0], src_stride + 1,
               dst + i * dst_stride[0], dst_stride + 1);
  }
}

/// Strides of one array: a random order of axes, with gaps and axes that run backwards.
struct Layout {
  int64_t stride[kCopyMaxRank] = {};
  int64_t first = 0;  // offset of the element with index 0
  int64_t size = 1;   // elements of memory
};

Layout random_layout(std::mt19937& rng, int rank, const int64_t* extent, bool repeat) {
  Layout l;
  int order[kCopyMaxRank];
  std::iota(order, order + rank, 0);
  if (rng() % 2 == 0) std::shuffle(order, order + rank, rng);
  for (int k = rank - 1; k >= 0; --k) {
    const int d = order[k];
    if (repeat && rng() % 5 == 0) continue;
    l.stride[d] = l.size;
    l.size *= extent[d];
    if (rng() % 6 == 0) l.size += 3;
    if (rng() % 6 == 0) {
      l.first += l.stride[d] * (extent[d] - 1);
      l.stride[d] = -l.stride[d];
    }
  }
  return l;
}

template <class T>
void expect_copies(uint32_t seed) {
  std::mt19937 rng(seed);
  const int rank = static_cast<int>(rng() % (kCopyMaxRank + 1));
  int64_t extent[kCopyMaxRank], total = 1;
  for (int d = 0; d < rank; ++d) {
    const int64_t choices[] = {1, 2, 3, 5, 17, 40};
    extent[d] = choices[rng() % 6];
    if (total * extent[d] > 20000) extent[d] = 1;
    total *= extent[d];
  }
  const Layout from = random_layout(rng, rank, extent, true);
  const Layout to = random_layout(rng, rank, extent, false);
  std::vector<T> x(static_cast<size_t>(std::max<int64_t>(from.size, 1)));
  for (T& v : x) v = static_cast<T>(rng());
  std::vector<T> want(static_cast<size_t>(to.size), T{77}), got = want;
  naive_copy(rank, extent, x.data() + from.first, from.stride, want.data() + to.first, to.stride);
  copy_strided(sizeof(T), rank, extent, x.data() + from.first, from.stride, got.data() + to.first,
               to.stride);
  ASSERT_EQ(got, want) << "seed " << seed << " elements of " << sizeof(T);
}

TEST(Copy, EqualsACopyElementByElementForAnyStrides) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    expect_copies<uint8_t>(seed);
    expect_copies<uint16_t>(seed);
    expect_copies<uint32_t>(seed);
    expect_copies<uint64_t>(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Copy, APlaneIsTransposed) {
  for (int64_t rows : {1, 3, 4, 16, 33}) {
    for (int64_t columns : {1, 2, 15, 64, 67}) {
      std::vector<float> x(static_cast<size_t>(rows * columns)), y(x.size());
      std::iota(x.begin(), x.end(), 0.0f);
      const int64_t extent[] = {columns, rows}, from[] = {1, columns}, to[] = {rows, 1};
      copy_strided(4, 2, extent, x.data(), from, y.data(), to);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_EQ(y[static_cast<size_t>(c * rows + r)], x[static_cast<size_t>(r * columns + c)]);
        }
      }
    }
  }
}

TEST(Copy, AnEmptyAxisWritesNothing) {
  const int64_t extent[] = {3, 0}, stride[] = {1, 1};
  float x = 1.0f, y = 2.0f;
  copy_strided(4, 2, extent, &x, stride, &y, stride);
  EXPECT_EQ(y, 2.0f);
}

TEST(Copy, AContiguousRunMayMoveToOverlappingMemory) {
  for (int64_t n : {3, 16, 40}) {
    for (int64_t shift : {-2, 2}) {
      std::vector<uint32_t> x(static_cast<size_t>(n) + 4), want;
      std::iota(x.begin(), x.end(), 0u);
      want = x;
      std::memmove(want.data() + 2 + shift, x.data() + 2, static_cast<size_t>(n) * 4);
      const int64_t stride = 1;
      copy_strided(4, 1, &n, x.data() + 2, &stride, x.data() + 2 + shift, &stride);
      EXPECT_EQ(x, want) << n << " by " << shift;
    }
  }
}

TEST(Fill, SetsTheStridedElementsOnly) {
  std::vector<uint16_t> x(40, 1);
  const int64_t extent[] = {3, 4}, stride[] = {10, 2};
  const uint16_t value = 9;
  fill_strided(2, 2, extent, &value, x.data(), stride);
  for (size_t i = 0; i < x.size(); ++i) {
    const bool inside = i / 10 < 3 && i % 10 < 8 && i % 2 == 0;
    EXPECT_EQ(x[i], inside ? 9 : 1) << i;
  }
}

}  // namespace
}  // namespace rill
