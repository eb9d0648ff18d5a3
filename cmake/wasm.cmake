# Cross compilation for browsers and node: emscripten of the distribution, with 128-bit SIMD, which
# every engine since 2021 has.
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
# The loader that emscripten 3.1.6 writes takes node for a browser where node has `fetch`.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
include("/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake")
string(APPEND CMAKE_C_FLAGS_INIT " -msimd128")
string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128")
