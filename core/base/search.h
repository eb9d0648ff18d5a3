#pragma once

#include <iterator>

// List searches as plain loops. The searches of the standard library are unrolled four times, with
// everything inlined into each copy.

namespace rill {

/// Return whether an item passes a test.
template <class List, class Test>
bool any_of(const List& items, Test&& test) {
  for (const auto& item : items) {
    if (test(item)) return true;
  }
  return false;
}

/// Return whether every item passes a test.
template <class List, class Test>
bool all_of(const List& items, Test&& test) {
  for (const auto& item : items) {
    if (!test(item)) return false;
  }
  return true;
}

/// Return whether no item passes a test.
template <class List, class Test>
bool none_of(const List& items, Test&& test) {
  return !any_of(items, test);
}

/// Find the first item that passes a test; the end if none does.
template <class List, class Test>
auto find_if(List& items, Test&& test) {
  auto at = std::begin(items);
  while (at != std::end(items) && !test(*at)) ++at;
  return at;
}

/// Find the first item that equals a value; the end if none does.
template <class List, class Value>
auto find(List& items, const Value& value) {
  return find_if(items, [&](const auto& item) { return item == value; });
}

/// Return whether an item equals a value.
template <class List, class Value>
bool contains(const List& items, const Value& value) {
  return any_of(items, [&](const auto& item) { return item == value; });
}

}  // namespace rill
