#include "nnef_loader/archive/utf8_locale.h"

#include <initializer_list>
#include <mutex>

#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace rill::nnef {
namespace {

constexpr locale_t kNone = nullptr;

/// One locale per process, made at first use because making it reads files, and kept until the
/// process ends or the library is closed.
class Shared {
 public:
  /// Acquire the locale; null if there is none. Each acquired one is released.
  static locale_t take() {
    static const Shared closes;
    const std::scoped_lock lock(mutex());
    for (const char* name : {"C.UTF-8", "en_US.UTF-8"}) {
      if (made() == kNone) made() = newlocale(LC_CTYPE_MASK, name, kNone);
    }
    if (made() != kNone) ++users();
    return made();
  }
  static void give_back() {
    const std::scoped_lock lock(mutex());
    --users();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

 private:
  Shared() = default;
  ~Shared() {
    const std::scoped_lock lock(mutex());
    // The process may end while another thread loads a model.
    if (made() == kNone || users() > 0) return;
    freelocale(made());
    made() = kNone;
  }
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static locale_t& made() {
    static locale_t made = kNone;
    return made;
  }
  static int& users() {
    static int users = 0;
    return users;
  }
};

}  // namespace

Utf8Locale::Utf8Locale() {
  const locale_t own = Shared::take();
  if (own != kNone) before_ = uselocale(own);
}

Utf8Locale::~Utf8Locale() {
  if (before_ == kNone) return;
  uselocale(before_);
  Shared::give_back();
}

}  // namespace rill::nnef
