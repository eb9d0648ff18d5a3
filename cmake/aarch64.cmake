# Cross compilation for 64-bit Arm on Debian: the NEON kernels, tested under emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# The vectoriser of GCC 12 fails on reductions for this target (internal error). The kernels use explicit
# vectors.
set(CMAKE_CXX_FLAGS_INIT -fno-tree-loop-vectorize)
