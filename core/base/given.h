#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace rill {

/// The items of an argument: a list in braces, a vector or a span. They must outlive the call.
template <class T>
class Given {
 public:
  Given() = default;
  Given(std::initializer_list<T> items)  // NOLINT: by design, as the next two
      : Given(std::span<const T>(items.begin(), items.size())) {}
  Given(const std::vector<T>& items) : first_(items.data()), count_(items.size()) {}  // NOLINT
  Given(std::span<const T> items) : first_(items.data()), count_(items.size()) {}     // NOLINT

  const T* begin() const { return first_; }
  const T* end() const { return first_ + count_; }
  size_t size() const { return count_; }
  const T& operator[](size_t i) const { return first_[i]; }
  operator std::span<const T>() const { return {first_, count_}; }  // NOLINT: by design
  std::vector<T> to_vector() const { return {begin(), end()}; }

 private:
  const T* first_ = nullptr;
  size_t count_ = 0;
};

}  // namespace rill
