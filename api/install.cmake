# Installs headers, librill and librill_run, shared and static, and their CMake and pkg-config
# files. The installation may be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Components: programs run with `library`, and are built with `development`.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/rill TYPE INCLUDE)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rill)
if(TARGET rill_static)
  install(TARGETS rill_static EXPORT rill-static-targets)
  install(EXPORT rill-static-targets NAMESPACE rill:: DESTINATION ${package})
endif()
if(TARGET rill_shared)
  install(TARGETS rill_shared EXPORT rill-shared-targets
          RUNTIME COMPONENT library
          LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  set_target_properties(rill_shared PROPERTIES EXPORT_NAME rill)
  install(EXPORT rill-shared-targets NAMESPACE rill:: DESTINATION ${package})
endif()
if(TARGET rill_run_static)
  install(TARGETS rill_run_static EXPORT rill-run-targets)
  set_target_properties(rill_run_static PROPERTIES EXPORT_NAME run)
  if(TARGET rill_run_shared)
    install(TARGETS rill_run_shared EXPORT rill-run-targets
            RUNTIME COMPONENT library
            LIBRARY COMPONENT library NAMELINK_COMPONENT development)
    set_target_properties(rill_run_shared PROPERTIES EXPORT_NAME run_shared)
  endif()
  install(EXPORT rill-run-targets NAMESPACE rill:: DESTINATION ${package})
endif()

set_target_properties(rill_audio PROPERTIES EXCLUDE_FROM_ALL OFF)
install(TARGETS rill_audio EXPORT rill-audio-targets)
install(EXPORT rill-audio-targets NAMESPACE rill:: DESTINATION ${package})

configure_package_config_file(rill-config.cmake.in rill-config.cmake INSTALL_DESTINATION ${package}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(rill-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rill-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/rill-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/rill-plugin.cmake
        DESTINATION ${package})

# Paths in pkg-config files are relative to the folder of the file.
file(RELATIVE_PATH RILL_UP "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" RILL_UP "${RILL_UP}")
set(requires "")
if(RILL_NEEDS_PACKAGE STREQUAL ZLIB)
  set(requires zlib)
elseif(RILL_NEEDS_PACKAGE STREQUAL LibArchive)
  set(requires libarchive)
endif()
set(RILL_PC_LIBS "")
if(CMAKE_THREAD_LIBS_INIT)
  set(RILL_PC_LIBS " ${CMAKE_THREAD_LIBS_INIT}")
endif()
foreach(library IN LISTS CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  # Add the libraries that the compiler links implicitly to C++ but not to C.
  if(library MATCHES "c\\+\\+|^m$")
    string(APPEND RILL_PC_LIBS " -l${library}")
  endif()
endforeach()
set(RILL_PC_CFLAGS "")
if(NOT TARGET rill_shared AND NOT TARGET rill_run_shared)
  set(RILL_PC_CFLAGS " -DRILL_STATIC")
endif()
function(rill_pc name description requires)
  set(RILL_PC_NAME ${name})
  set(RILL_PC_DESCRIPTION "${description}")
  set(RILL_PC_REQUIRES "${requires}")
  configure_file(rill.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
if(TARGET rill_static)
  rill_pc(rill "Neural networks exported as NNEF, whole or a few frames at a time" "${requires}")
endif()
if(TARGET rill_run_static)
  rill_pc(rill_run "Neural networks that rill compiled, whole or a few frames at a time" "")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE-APACHE ${PROJECT_SOURCE_DIR}/LICENSE-MIT
        DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rill)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md")
install(FILES ${PROJECT_SOURCE_DIR}/examples/stream_c.c ${PROJECT_SOURCE_DIR}/examples/stream_cpp.cpp
              ${PROJECT_SOURCE_DIR}/examples/stream_plan.c
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
