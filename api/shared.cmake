# librill.so and librill_run.so, which export only rill_*.

include(GNUInstallDirs)

rill_api_library(rill_api_seen)
set(unasked "")
if(NOT RILL_INSTALL AND NOT PROJECT_IS_TOP_LEVEL)
  set(unasked EXCLUDE_FROM_ALL)
endif()

# Hidden visibility does not reach the templates of the standard library.
set(rill_exports "${CMAKE_CURRENT_SOURCE_DIR}/rill.map")
# ELF options are used if the linker supports them. Functions of other libraries are resolved when this one is
# loaded (-z now). Otherwise the dynamic linker could take a lock in the first step that calls them.
include(CheckLinkerFlag)
check_linker_flag(CXX "LINKER:--version-script=${rill_exports}" RILL_LINKER_TAKES_VERSION_SCRIPT)
check_linker_flag(CXX LINKER:-z,now RILL_LINKER_BINDS_AT_ONCE)
# Report missing symbols here, and not to the apps. Programs link sanitizers.
if(NOT RILL_SANITIZE)
  check_linker_flag(CXX LINKER:--no-undefined RILL_LINKER_WANTS_ALL)
endif()
# Tables of operators are pointers. Their relocations are packed if linker and C library support it. On a
# system with an older C library, the loader then refuses the program with a message.
option(RILL_PACK_POINTERS "Let the loader unpack pointers (RELR), which takes glibc 2.36" ON)
include(CheckCXXSourceCompiles)
check_linker_flag(CXX LINKER:-z,pack-relative-relocs RILL_LINKER_PACKS_POINTERS)
check_cxx_source_compiles("
#include <features.h>
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
#error older
#endif
int main() {}" RILL_LOADER_UNPACKS_POINTERS)

# rill_shared_of(<name> <file> <root> [<library>]): a shared library of the objects of <root> and of
# <library>, and of their dependencies.
function(rill_shared_of name file root)
  set(seen $<TARGET_OBJECTS:${root}>)
  foreach(library IN LISTS ARGN)
    list(APPEND seen $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${name} SHARED ${unasked} ${seen})
  set_target_properties(${root} ${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  target_link_libraries(${name} PRIVATE ${root})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} LINKER_LANGUAGE CXX
                        VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(RILL_LINKER_TAKES_VERSION_SCRIPT)
    target_link_options(${name} PRIVATE "LINKER:--version-script=${rill_exports}")
    set_target_properties(${name} PROPERTIES LINK_DEPENDS "${rill_exports}")
  endif()
  rill_shared_object(${name})
  if(RILL_LINKER_WANTS_ALL)
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
  if(RILL_LINKER_BINDS_AT_ONCE)
    target_link_options(${name} PRIVATE LINKER:-z,now)
  endif()
  if(RILL_PACK_POINTERS AND RILL_LINKER_PACKS_POINTERS AND RILL_LOADER_UNPACKS_POINTERS)
    target_link_options(${name} PRIVATE LINKER:-z,pack-relative-relocs)
  endif()
endfunction()

if(NOT RILL_RUN_ONLY)
  rill_shared_of(rill_shared rill rill_api_seen rill_api_seen_run)
  add_library(rill::rill_shared ALIAS rill_shared)
endif()
if(RILL_PLAN_FILES)
  rill_shared_of(rill_run_shared rill_run rill_api_seen_alone rill_api_seen_run)
  add_library(rill::run_shared ALIAS rill_run_shared)
endif()
