#pragma once

#include "api/src/errors.h"
#include "plan_file/limits.h"
#include "plan_file/map.h"

namespace rill::api {

/// Options for opening a compiled model.
struct OpenOptions {
  bool read_file = false;
  plan_file::Limits limits;
};

/// Read the options of an app; the defaults for null. Errors: RILL_E_ABI, RILL_E_ARG.
inline rill_status open_options(const rill_open_opts* opts, OpenOptions* out) {
  if (opts == nullptr) return RILL_OK;
  const rill_status known = check_size(opts, "rill_open_opts");
  if (known != RILL_OK) return known;
  for (const int64_t limit : {opts->max_file_bytes, opts->max_session_bytes, opts->max_step_work,
                              opts->max_outputs, opts->max_buffers}) {
    if (limit < 0) return refuse(RILL_E_ARG, "rill_open_opts: a limit below 0");
  }
  out->read_file = opts->read_file != 0;
  out->limits.max_file_bytes = opts->max_file_bytes;
  out->limits.max_session_bytes = opts->max_session_bytes;
  out->limits.max_step_work = opts->max_step_work;
  out->limits.max_ends = opts->max_outputs;
  out->limits.max_buffers = opts->max_buffers;
  return RILL_OK;
}

inline Result<plan_file::MappedFile> file_of(const char* path, const OpenOptions& options) {
  return options.read_file ? plan_file::read_file(path, options.limits.file_bytes())
                           : plan_file::map_file(path);
}

}  // namespace rill::api
