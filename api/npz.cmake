rill_library(rill_npz
  SOURCES src/npz.cpp src/npy.cpp
  DEPENDS rill_core rill_nnef_files
)

rill_test(rill_npz_test
  SOURCES src/npz_test.cpp
  DEPENDS rill_npz
)
