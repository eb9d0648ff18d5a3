# Cross compilation for browsers and node: the distribution's emscripten, with 128-bit SIMD, which every
# engine has since 2021.
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
# The loader of emscripten 3.1.6 mistakes node for a browser if node has `fetch`.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-experimental-fetch)
include("/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake")
string(APPEND CMAKE_C_FLAGS_INIT " -msimd128")
string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128")
