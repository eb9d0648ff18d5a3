# Measures the limits of the machine and how near the kernels come to them; not part of the library.
rill_library(rill_reach SOURCES reach/cases.cpp reach/machine.cpp reach/reach.cpp
             DEPENDS rill_kernels)
rill_test(kernels_reach_test SOURCES reach/reach_test.cpp DEPENDS rill_reach LABELS kernels)
