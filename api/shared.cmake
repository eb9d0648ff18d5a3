# librill.so, of which nothing but rill_* can be seen, and what is installed.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(rill_shared SHARED $<TARGET_OBJECTS:rill_api>)
add_library(rill::rill_shared ALIAS rill_shared)
target_link_libraries(rill_shared PRIVATE rill_api)
target_include_directories(rill_shared INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(rill_shared PROPERTIES OUTPUT_NAME rill LINKER_LANGUAGE CXX
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
# Hidden visibility does not reach the templates of the standard library.
set(rill_exports "${CMAKE_CURRENT_SOURCE_DIR}/rill.map")
# Functions of other libraries are looked up when this one is loaded, not by the first step that calls
# them, for which the dynamic linker may lock.
target_link_options(rill_shared PRIVATE "LINKER:--version-script=${rill_exports}"
                    LINKER:--gc-sections LINKER:-z,now)
set_target_properties(rill_shared PROPERTIES LINK_DEPENDS "${rill_exports}")
# Tables of operators are pointers, which the loader finds in a form that takes little room, where
# linker and C library know it. Programs of an older C library are told what they lack.
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:-z,pack-relative-relocs RILL_LINKER_PACKS_POINTERS)
check_cxx_source_compiles("
#include <features.h>
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
#error older
#endif
int main() {}" RILL_LOADER_UNPACKS_POINTERS)
if(RILL_LINKER_PACKS_POINTERS AND RILL_LOADER_UNPACKS_POINTERS)
  target_link_options(rill_shared PRIVATE LINKER:-z,pack-relative-relocs)
endif()

install(FILES include/rill/rill.h include/rill/rill.hpp include/rill/streamer.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rill)
install(TARGETS rill_shared EXPORT rill-targets)
set_target_properties(rill_shared PROPERTIES EXPORT_NAME rill)
install(EXPORT rill-targets NAMESPACE rill:: FILE rill-config.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rill)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rill-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rill-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rill)
configure_file(rill.pc.in rill.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rill.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
