# RILL_ARCHIVE chooses how archives are read: by zlib, by libarchive, or tar files only. The tests
# cover all variants that can be built here.

set(RILL_ARCHIVES zlib libarchive none)
set_property(CACHE RILL_ARCHIVE PROPERTY STRINGS ${RILL_ARCHIVES})
if(NOT RILL_ARCHIVE IN_LIST RILL_ARCHIVES)
  message(FATAL_ERROR "RILL_ARCHIVE=${RILL_ARCHIVE}: expected one of ${RILL_ARCHIVES}")
endif()
find_package(ZLIB QUIET)
find_package(LibArchive QUIET)

# File access on this platform.
if(WIN32)
  rill_library(rill_system SMALL SOURCES system/files_windows.cpp system/head.cpp)
else()
  rill_library(rill_system SMALL SOURCES system/files_posix.cpp system/head.cpp)
endif()

# rill_archive_library(<kind> [EXCLUDE_FROM_ALL]) adds rill_archive_<kind>.
function(rill_archive_library kind)
  set(sources archive/atomic_file.cpp archive/entry_names.cpp archive/folder.cpp archive/read.cpp
      archive/source.cpp archive/tar_header.cpp archive/write.cpp)
  set(streams archive/stream.cpp archive/tar_reader.cpp archive/tar_writer.cpp)
  if(kind STREQUAL zlib)
    list(APPEND sources ${streams} archive/deflate.cpp archive/pack.cpp archive/unpack.cpp
         archive/zip_reader.cpp archive/zip_writer.cpp)
    set(library ZLIB::ZLIB)
  elseif(kind STREQUAL libarchive)
    list(APPEND sources archive/gzip_trailer.cpp archive/pack_libarchive.cpp
         archive/unpack_libarchive.cpp archive/utf8_locale.cpp)
    set(fast FAST archive/gzip_trailer.cpp)
    set(library LibArchive::LibArchive)
  else()
    list(APPEND sources ${streams} archive/pack_none.cpp archive/unpack_none.cpp)
  endif()
  if(library AND NOT TARGET ${library})
    message(FATAL_ERROR "${kind} was not found: install it, or set RILL_ARCHIVE to another of ${RILL_ARCHIVES}")
  endif()
  rill_library(rill_archive_${kind} SMALL SOURCES ${sources} ${fast}
               DEPENDS rill_core rill_system PRIVATE ${library})
endfunction()

rill_archive_library(${RILL_ARCHIVE})
set(rill_archives ${RILL_ARCHIVE})
if(RILL_TESTS)
  foreach(kind IN LISTS RILL_ARCHIVES)
    set(needed_zlib ZLIB::ZLIB)
    set(needed_libarchive LibArchive::LibArchive)
    set(needed_none rill_flags)
    if(NOT TARGET rill_archive_${kind} AND TARGET ${needed_${kind}})
      rill_archive_library(${kind})
      list(APPEND rill_archives ${kind})
    endif()
  endforeach()
endif()

foreach(kind IN LISTS rill_archives)
  set(tests archive/archive_test.cpp archive/write_test.cpp)
  if(kind STREQUAL zlib)
    list(APPEND tests archive/tar_test.cpp archive/zip_test.cpp)
  elseif(kind STREQUAL none)
    set(tests archive/none_test.cpp)
  endif()
  rill_test(rill_archive_${kind}_test SOURCES ${tests} DEPENDS rill_archive_${kind})
endforeach()
set(RILL_ARCHIVES_TESTED ${rill_archives} CACHE INTERNAL "Archive readers that are built")
