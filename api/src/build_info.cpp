#include <cstdio>

#include "api/include/rill/rill.h"
#include "ops/op_table.h"

extern "C" {

const char* rill_build_info(void) {
  struct Info {
    char text[256];
    Info() {
      std::snprintf(text, sizeof(text),
                    "rill " RILL_VERSION ", " RILL_BUILD_TYPE ", compiler " __VERSION__
                    ", %zu operator modules",
                    rill::ops::op_table().size());
    }
  };
  static const Info info;
  return info.text;
}

}  // extern "C"
