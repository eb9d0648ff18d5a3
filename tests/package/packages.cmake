# Make the packages, install them in separate roots, and use the installations.
#   cmake -DBUILD=... -DCONFIG=... -DEXAMPLES=... -DMODELS=... -DSCRATCH=... -DNM=... -P packages.cmake
# Needs a Debian, as the packages do.

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
find_program(DPKG_DEB dpkg-deb REQUIRED)
get_filename_component(tools "${CMAKE_COMMAND}" DIRECTORY)

file(REMOVE_RECURSE "${SCRATCH}")
foreach(kind DEB TGZ)
  run("${tools}/cpack" -G ${kind} --config "${BUILD}/CPackConfig.cmake" -C "${CONFIG}"
      -B "${SCRATCH}/packages")
endforeach()

# expect(<what> <found> <regular expression>)
function(expect what found pattern)
  if(NOT found MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: expected ${pattern}, found\n${found}")
  endif()
endfunction()

# one(<variable> <pattern>): return the only package that matches.
function(one variable pattern)
  file(GLOB found "${SCRATCH}/packages/${pattern}")
  list(LENGTH found count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${pattern}: expected one package, found ${found}")
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

set(root "${SCRATCH}/debian")
foreach(name librill0.1 librill-dev rill)
  one(package "${name}_*.deb")
  foreach(field Package Version Depends Maintainer)
    execute_process(COMMAND "${DPKG_DEB}" -f "${package}" ${field} OUTPUT_VARIABLE ${field}
                    COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
  endforeach()
  expect("name of ${package}" "${Package}" "^${name}$")
  expect("version of ${package}" "${Version}" "^[0-9]+\\.[0-9]+\\.[0-9]+$")
  set(depends_${name} "${Depends}")
  run("${DPKG_DEB}" -x "${package}" "${root}")
endforeach()
expect("what librill needs" "${depends_librill0.1}" "libc6.*libstdc\\+\\+6.*zlib1g")
if(depends_librill0.1 MATCHES "libarchive")
  message(FATAL_ERROR "librill needs ${depends_librill0.1}")
endif()
expect("what librill-dev needs" "${depends_librill-dev}" "librill0\\.1 \\(= .*zlib1g-dev")

# Apps find it as if it were in /usr.
use(app_debian "${root}/usr")
use_pkg_config("${root}/usr")
run("${root}/usr/bin/rill" "${MODELS}/kws_gru/model.nnef.tgz" --pulse S=8 inspect)

one(archive "rill-*.tar.gz")
file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${SCRATCH}/unpacked")
file(GLOB prefix "${SCRATCH}/unpacked/*")
use(app_unpacked "${prefix}")
run("${prefix}/bin/rill" "${MODELS}/kws_gru/model.nnef.tgz" --pulse S=8 inspect)

# The libraries that the library itself needs.
find_program(READELF readelf REQUIRED)
function(expect_needs library allowed)
  file(GLOB_RECURSE file "${prefix}/lib*/${library}.so.*.*.*")
  execute_process(COMMAND "${READELF}" -d "${file}" OUTPUT_VARIABLE dynamic
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*\\[([^]]*)\\]" lines "${dynamic}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" needed "${line}")
    if(NOT needed MATCHES "^(${allowed})\\.so")
      message(FATAL_ERROR "${library} needs ${needed}: expected ${allowed} alone")
    endif()
  endforeach()
endfunction()
set(of_languages "libc|libm|libstdc\\+\\+|libgcc_s|ld-linux.*")
expect_needs(librill "${of_languages}|libz")
expect_needs(librill_run "${of_languages}")
