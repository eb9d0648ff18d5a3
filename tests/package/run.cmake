# Shared by the scripts of this folder.

# run(<command> ...): run a command; on failure print its output and fail.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nstatus ${status}\n${text}")
  endif()
endfunction()

# check_plugin(<folder> [<programs>]): check that a host runs and unloads the plugins of the folder, and that
# they export only their entry.
function(check_plugin folder)
  set(programs "${folder}")
  if(ARGC GREATER 1)
    set(programs "${ARGV1}")
  endif()
  run("${programs}/host" "${folder}/plugin.so" "${MODELS}/kws_gru/model.nnef.tgz")
  run("${programs}/host" "${folder}/effect.so" "${MODELS}/unet_denoiser/model.nnef.tgz")
  foreach(plugin plugin effect)
    execute_process(COMMAND "${NM}" -D --defined-only "${folder}/${plugin}.so" OUTPUT_VARIABLE seen
                    COMMAND_ERROR_IS_FATAL ANY)
    string(STRIP "${seen}" seen)
    if(NOT seen MATCHES "^[0-9a-f]+ T plugin_entry$")
      message(FATAL_ERROR "${plugin}.so: expected the symbol plugin_entry alone, found\n${seen}")
    endif()
  endforeach()
endfunction()

# compile_models(<prefix>): make compiled models, and the step table of one of them.
function(compile_models prefix)
  set(compile "${prefix}/bin/rill" compile)
  run(${compile} "${MODELS}/kws_gru/model.nnef.tgz" --set B=1 --pulse S=8 --no-audit
      -o "${SCRATCH}/kws_gru.rill" --table "${SCRATCH}/rill_steps.c")
  run(${compile} "${MODELS}/vad_speech/model.nnef.tgz" --set B=1 --pulse S=160 --no-audit
      -o "${SCRATCH}/vad_speech.rill")
endfunction()

# check_runs_alone(<program with a table> <program> ...): check that the programs give equal frames, and that
# the one with the steps of one model refuses another model.
function(check_runs_alone table)
  set(expected "")
  foreach(program IN ITEMS ${table} ${ARGN})
    execute_process(COMMAND "${program}" "${SCRATCH}/kws_gru.rill" OUTPUT_VARIABLE told
                    COMMAND_ERROR_IS_FATAL ANY)
    if(NOT told MATCHES "^4[0-9] frames of .*, sum [0-9a-f]+\n$" OR NOT (expected STREQUAL "" OR told STREQUAL expected))
      message(FATAL_ERROR "${program} tells ${told}, expected ${expected}")
    endif()
    set(expected "${told}")
  endforeach()
  foreach(program IN LISTS ARGN)
    run("${program}" "${SCRATCH}/vad_speech.rill" 1000)
  endforeach()
  execute_process(COMMAND "${table}" "${SCRATCH}/vad_speech.rill" RESULT_VARIABLE status
                  ERROR_VARIABLE text)
  if(NOT status EQUAL 1 OR NOT text MATCHES "needs the kind of steps \"")
    message(FATAL_ERROR "expected a refusal that names a kind of steps, found status ${status}, ${text}")
  endif()
endfunction()

# use(<where> <prefix>): build the apps against a prefix, and run them.
function(use where prefix)
  compile_models("${prefix}")
  run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" -B "${SCRATCH}/${where}" -G "${GENERATOR}"
      "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DEXAMPLES=${EXAMPLES}"
      "-DTABLE=${SCRATCH}/rill_steps.c" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
  run("${CMAKE_COMMAND}" --build "${SCRATCH}/${where}")
  run("${SCRATCH}/${where}/app_c" "${MODELS}/kws_gru/model.nnef.tgz")
  run("${SCRATCH}/${where}/app_cpp" "${MODELS}/vad_speech/model.nnef.tgz")
  run("${SCRATCH}/${where}/app_static" "${MODELS}/kws_gru/model.nnef.tgz")
  check_plugin("${SCRATCH}/${where}")
  set(app "${SCRATCH}/${where}/app_rill")
  check_runs_alone("${app}_run_table" "${app}_run" "${app}_run_shared" "${app}_rill")
endfunction()

# use_pkg_config(<prefix>): build and run programs with the flags of rill.pc.
function(use_pkg_config prefix)
  find_program(PKG_CONFIG NAMES pkgconf pkg-config)
  if(NOT PKG_CONFIG)
    return()
  endif()
  file(GLOB_RECURSE pc "${prefix}/*/rill.pc")
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
  # If a shared library is present, the linker takes the archive only by its full name.
  list(TRANSFORM flags REPLACE "^-lrill$" "-l:librill.a")
  run("${C_COMPILER}" -DRILL_STATIC "${EXAMPLES}/stream_c.c" -o "${SCRATCH}/app_pc_static" ${flags})
  run("${SCRATCH}/app_pc_static" "${MODELS}/kws_gru/model.nnef.tgz")

  # The run library alone has no dependencies.
  execute_process(COMMAND "${PKG_CONFIG}" --static --cflags --libs rill_run OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(flags MATCHES "-lz|-larchive|-lrill ")
    message(FATAL_ERROR "rill_run.pc asks for ${flags}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${C_COMPILER}" "${EXAMPLES}/stream_plan.c" -o "${SCRATCH}/app_pc_run" ${flags} "-Wl,-rpath,${lib}")
  list(TRANSFORM flags REPLACE "^-lrill_run$" "-l:librill_run.a")
  run("${C_COMPILER}" -DRILL_STATIC "${EXAMPLES}/stream_plan.c" "${SCRATCH}/rill_steps.c"
      -o "${SCRATCH}/app_pc_table" ${flags})
  check_runs_alone("${SCRATCH}/app_pc_table" "${SCRATCH}/app_pc_run")
endfunction()
