# Install, build apps against what was installed, run them.
#   cmake -DBUILD=... -DCONFIG=... -DEXAMPLES=... -DMODELS=... -DSCRATCH=... -DNM=... -P check.cmake

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${SCRATCH}/installed")

# use(<where> <prefix>): build the apps against a prefix, and run them.
function(use where prefix)
  run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/${where}" -G "${GENERATOR}"
      "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DEXAMPLES=${EXAMPLES}"
      "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
  run("${CMAKE_COMMAND}" --build "${SCRATCH}/${where}")
  run("${SCRATCH}/${where}/app_c" "${MODELS}/kws_gru/model.nnef.tgz")
  run("${SCRATCH}/${where}/app_cpp" "${MODELS}/vad_speech/model.nnef.tgz")
  run("${SCRATCH}/${where}/app_static" "${MODELS}/kws_gru/model.nnef.tgz")
  check_plugin("${SCRATCH}/${where}")
endfunction()

use(app "${SCRATCH}/installed")

# Moved, as packages are on their way to a device; nothing may point at where it was.
set(moved "${SCRATCH}/moved place")
file(RENAME "${SCRATCH}/installed" "${moved}")
use(app_moved "${moved}")

find_program(PKG_CONFIG NAMES pkgconf pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc "${moved}/*/rill.pc")
  get_filename_component(folder "${pc}" DIRECTORY)
  get_filename_component(lib "${folder}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs rill OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${C_COMPILER}" "${EXAMPLES}/stream_c.c" -o "${SCRATCH}/app_pc" ${flags} "-Wl,-rpath,${lib}")
  run("${SCRATCH}/app_pc" "${MODELS}/kws_gru/model.nnef.tgz")
  execute_process(COMMAND "${PKG_CONFIG}" --static --cflags --libs rill OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  # Beside a shared library the linker takes the archive only by its whole name.
  list(TRANSFORM flags REPLACE "^-lrill$" "-l:librill.a")
  run("${C_COMPILER}" -DRILL_STATIC "${EXAMPLES}/stream_c.c" -o "${SCRATCH}/app_pc_static" ${flags})
  run("${SCRATCH}/app_pc_static" "${MODELS}/kws_gru/model.nnef.tgz")
endif()
