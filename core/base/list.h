#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rill {

/// A list that owns heap memory, or borrows memory. A borrowing list does not allocate unless it
/// grows, and calls no destructors. A copy owns its memory.
template <class T>
class List {
 public:
  using value_type = T;

  List() = default;
  List(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <class Range>
    requires(!std::is_same_v<Range, List> && requires(const Range& all) { *std::begin(all); })
  List(const Range& values) {  // NOLINT: vectors and spans are lists
    assign(std::begin(values), std::end(values));
  }
  List(const List& other) { assign(other.begin(), other.end()); }
  List(List&& other) noexcept { swap(other); }
  List& operator=(const List& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  List& operator=(List&& other) noexcept {
    List taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~List() { drop(); }
  /// Return a list that borrows `count` elements at `data`.
  static List at(T* data, size_t count) {
    List list;
    list.data_ = data;
    list.size_ = count;
    return list;
  }

  size_t size() const { return size_; }
  /// Return the capacity of the owned memory; 0 if the list borrows.
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() {
    List none;
    swap(none);
  }
  void reserve(size_t count) {
    if (count > capacity_) move_to(count);
  }
  /// Change the size. A list that borrows may shrink in place.
  void resize(size_t count) {
    if (capacity_ == 0 && count <= size_) {
      size_ = count;
      return;
    }
    if (count > capacity_) move_to(count);
    while (size_ > count) data_[--size_].~T();
    for (; size_ < count; ++size_) new (data_ + size_) T();
  }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    T value{std::forward<Arguments>(arguments)...};
    if (size_ == capacity_ || capacity_ == 0) move_to(std::max<size_t>(4, 2 * size_));
    T& added = *new (data_ + size_) T(std::move(value));
    ++size_;
    return added;
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class From, class To>
  void assign(From first, To last) {
    List made;
    made.reserve(static_cast<size_t>(std::distance(first, last)));
    // Count each item only after it is copied, because a copy may run out of memory.
    for (; first != last; ++first, ++made.size_) new (made.data_ + made.size_) T(*first);
    swap(made);
  }
  void swap(List& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  friend bool operator==(const List& a, const List& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
#ifdef RILL_NO_HEAP
  // Without a heap, every list borrows memory.
  void move_to(size_t) { __builtin_trap(); }
  void drop() {}
#else
  void move_to(size_t capacity) {
    constexpr auto kAlign = static_cast<std::align_val_t>(alignof(T));
    auto* const to = static_cast<T*>(::operator new(capacity * sizeof(T), kAlign));
    std::uninitialized_move(begin(), end(), to);
    const size_t size = size_;
    drop();
    data_ = to;
    size_ = size;
    capacity_ = capacity;
  }
  void drop() {
    if (capacity_ == 0) return;
    std::destroy(begin(), end());
    ::operator delete(data_, static_cast<std::align_val_t>(alignof(T)));
  }
#endif

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// A zero-terminated text, in owned or borrowed memory.
class Text {
 public:
  Text() = default;
  Text(std::string_view text) {  // NOLINT: a text is a text
    if (text.empty()) return;
    letters_.reserve(text.size() + 1);
    for (const char letter : text) letters_.push_back(letter);
    letters_.push_back('\0');
  }
  Text(const char* text) : Text(std::string_view(text)) {}  // NOLINT: a literal is a text
  template <class String>
    requires(std::is_convertible_v<const String&, std::string_view> &&
             !std::is_same_v<String, Text> && !std::is_convertible_v<const String&, const char*>)
  Text(const String& text) : Text(std::string_view(text)) {}  // NOLINT: a string is a text
  /// Return a text that borrows `size` letters, and a zero after them, at `data`.
  static Text at(char* data, size_t size) {
    Text text;
    text.letters_ = List<char>::at(data, size + 1);
    return text;
  }

  size_t size() const { return letters_.empty() ? 0 : letters_.size() - 1; }
  bool empty() const { return size() == 0; }
  const char* data() const { return c_str(); }
  const char* c_str() const { return letters_.empty() ? "" : letters_.data(); }
  std::string_view view() const { return {c_str(), size()}; }
  operator std::string_view() const { return view(); }  // NOLINT: a text is a view of itself
  friend bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }
  friend bool operator==(const Text& a, std::string_view b) { return a.view() == b; }

 private:
  List<char> letters_;
};

}  // namespace rill
