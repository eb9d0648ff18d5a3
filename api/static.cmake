# librill.a: all of rill in one archive.

# rill_parts(<target> <variable>): the static libraries of rill that a target is made of.
function(rill_parts target variable)
  set(found "")
  set(left ${target})
  while(left)
    list(POP_FRONT left next)
    if(next IN_LIST found)
      continue()
    endif()
    list(APPEND found ${next})
    get_target_property(needed ${next} LINK_LIBRARIES)
    foreach(name IN LISTS needed)
      if(name MATCHES "^rill_" AND NOT name STREQUAL "rill_flags")
        list(APPEND left ${name})
      endif()
    endforeach()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

rill_parts(rill_api parts)
set(objects "")
set(archives "")
foreach(part IN LISTS parts)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
  list(APPEND archives $<TARGET_FILE_NAME:${part}>)
endforeach()

# What apps link beside it.
set(rill_needs $<LINK_ONLY:Threads::Threads>)
set(RILL_NEEDS_PACKAGE "")
if(RILL_ARCHIVE STREQUAL zlib)
  list(APPEND rill_needs $<LINK_ONLY:ZLIB::ZLIB>)
  set(RILL_NEEDS_PACKAGE ZLIB)
elseif(RILL_ARCHIVE STREQUAL libarchive)
  list(APPEND rill_needs $<LINK_ONLY:LibArchive::LibArchive>)
  set(RILL_NEEDS_PACKAGE LibArchive)
endif()

if(RILL_NEEDS_PACKAGE)
  find_package(${RILL_NEEDS_PACKAGE} REQUIRED)
endif()
find_package(Threads REQUIRED)

include(CheckLinkerFlag)
# Templates of the standard library are seen from outside whatever is said to the compiler.
check_linker_flag(CXX LINKER:--exclude-libs=librill.a RILL_LINKER_HIDES_ARCHIVES)
if(RILL_LINKER_HIDES_ARCHIVES)
  # One by one: mold 1.10 takes lists for ever.
  list(TRANSFORM archives PREPEND LINKER:--exclude-libs=)
  target_link_options(rill INTERFACE ${archives})
endif()

if(RILL_INSTALL)
  include(GNUInstallDirs)
  add_library(rill_static STATIC ${objects})
  add_library(rill::rill_static ALIAS rill_static)
  set_target_properties(rill_static PROPERTIES OUTPUT_NAME rill LINKER_LANGUAGE CXX)
  target_include_directories(rill_static INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(rill_static INTERFACE RILL_STATIC)
  target_link_libraries(rill_static INTERFACE ${rill_needs})
  if(RILL_LINKER_HIDES_ARCHIVES)
    target_link_options(rill_static INTERFACE LINKER:--exclude-libs=librill.a)
  endif()
endif()
