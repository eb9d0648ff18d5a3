#pragma once

// The tiers that the lists of kernels contain: `#if RILL_LISTS(AVX2)` in a kernels.inc. A build
// contains kernels for its own processor, without the tiers that RILL_WITHOUT_... excludes. With
// RILL_OTHER_PROCESSORS the lists name the kernels of all processors, so that plans can be compiled
// for them. other_processors.cpp defines RILL_OTHERS_ALONE to list only these, as placeholders.

// Engines that compile the SIMD of WebAssembly also run it, so scalar kernels would waste space.
#if defined(__wasm_simd128__) && !defined(RILL_WITHOUT_SSE42)
#define RILL_WITHOUT_SCALAR
#endif

#if defined(__x86_64__) || defined(__i386__)
#define RILL_ON_X86 1
#define RILL_ON_SSE42 1
#elif defined(__wasm_simd128__)
#define RILL_ON_X86 0
#define RILL_ON_SSE42 1
#else
#define RILL_ON_X86 0
#define RILL_ON_SSE42 0
#endif

#if defined(__aarch64__)
#define RILL_ON_NEON 1
#define RILL_ON_DOTPROD 1
#elif defined(RILL_NEON_32)
#define RILL_ON_NEON 1
#define RILL_ON_DOTPROD 0
#else
#define RILL_ON_NEON 0
#define RILL_ON_DOTPROD 0
#endif

#if defined(RILL_WITHOUT_SCALAR)
#define RILL_HAS_SCALAR 0
#else
#define RILL_HAS_SCALAR 1
#endif
#if defined(RILL_WITHOUT_SSE42)
#define RILL_HAS_SSE42 0
#else
#define RILL_HAS_SSE42 RILL_ON_SSE42
#endif
#if defined(RILL_WITHOUT_AVX2)
#define RILL_HAS_AVX2 0
#else
#define RILL_HAS_AVX2 RILL_ON_X86
#endif
#if defined(RILL_WITHOUT_AVXVNNI)
#define RILL_HAS_AVXVNNI 0
#else
#define RILL_HAS_AVXVNNI RILL_ON_X86
#endif
#if defined(RILL_WITHOUT_AVX512)
#define RILL_HAS_AVX512 0
#else
#define RILL_HAS_AVX512 RILL_ON_X86
#endif
#if defined(RILL_WITHOUT_AVX512VNNI)
#define RILL_HAS_AVX512VNNI 0
#else
#define RILL_HAS_AVX512VNNI RILL_ON_X86
#endif
#if defined(RILL_WITHOUT_NEON)
#define RILL_HAS_NEON 0
#else
#define RILL_HAS_NEON RILL_ON_NEON
#endif
#if defined(RILL_WITHOUT_DOTPROD)
#define RILL_HAS_DOTPROD 0
#else
#define RILL_HAS_DOTPROD RILL_ON_DOTPROD
#endif

#if defined(RILL_OTHERS_ALONE)
#define RILL_LISTS(tier) (!RILL_HAS_##tier)
#define RILL_LISTS_ALWAYS 0
#elif defined(RILL_OTHER_PROCESSORS)
#define RILL_LISTS(tier) 1
#define RILL_LISTS_ALWAYS 1
#else
#define RILL_LISTS(tier) RILL_HAS_##tier
#define RILL_LISTS_ALWAYS 1
#endif
