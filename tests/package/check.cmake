# Install, build an app against what was installed, run it.
#   cmake -DBUILD=... -DCONFIG=... -DEXAMPLES=... -DMODELS=... -DSCRATCH=... -P check.cmake

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nstatus ${status}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${SCRATCH}/installed")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/app" -G "${GENERATOR}"
    "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_PREFIX_PATH=${SCRATCH}/installed"
    "-DEXAMPLES=${EXAMPLES}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/app")
run("${SCRATCH}/app/app_c" "${MODELS}/kws_gru/model.nnef.tgz")
run("${SCRATCH}/app/app_cpp" "${MODELS}/vad_speech/model.nnef.tgz")
