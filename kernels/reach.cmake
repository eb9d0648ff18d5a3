# What the machine can do, and what the kernels reach of it; no part of the library.
rill_library(rill_reach SOURCES reach/cases.cpp reach/machine.cpp reach/reach.cpp
             DEPENDS rill_kernels)
rill_test(kernels_reach_test SOURCES reach/reach_test.cpp DEPENDS rill_reach LABELS kernels)
