#!/usr/bin/env python3
"""Check that only the files of PLACES use features of a single system.

    system_headers.py ROOT

Headers of POSIX, Linux and Windows, and functions that POSIX adds to headers of C, occur only in the files
of PLACES, each for one purpose: files, the process, threads, memory, CPU features. Put further uses there, with
code for every system.
"""

import re

import common

FOLDERS = ["api", "audit", "cli", "core", "emit_c", "kernels", "nnef_loader", "onnx_loader", "ops",
           "plan_file", "pulse", "transforms"]
PLACES = [
    r"nnef_loader/system/",
    r"cli/system/",
    r"core/base/aligned\.h$",
    r"core/base/mapped_file\.(h|cpp)$",
    r"core/exec/(weights|workers)\.cpp$",
    r"api/src/errors\.cpp$",
    r"kernels/cpu\.cpp$",
    r"plan_file/map\.cpp$",
    r"kernels/reach/machine\.cpp$",
    # Archives by libarchive, which takes descriptors of POSIX.
    r"nnef_loader/archive/unpack_libarchive\.cpp$",
    r"nnef_loader/archive/utf8_locale\.(h|cpp)$",
    r"(_test\.cpp|/test_\w+\.(h|cpp))$",
]
INCLUDE = re.compile(
    r"^\s*#\s*include\s+<((sys|linux|mach|netinet|arpa)/[\w/.]+|unistd\.h|dirent\.h|fcntl\.h|dlfcn\.h|"
    r"pthread\.h|signal\.h|csignal|malloc\.h|io\.h|windows\.h|psapi\.h|features\.h|xlocale\.h|locale\.h|"
    r"strings\.h|cpuid\.h)>", re.MULTILINE)

CALL = re.compile(
    r"(?<![\w.>])(?:::|std::)?(mkd?s?temp|setenv|unsetenv|putenv|str(?:n?dup|casecmp|tok_r|signal)|realpath|popen|"
    r"pclose|fileno|fdopen|posix_memalign|(?:local|gm)time_r|asprintf|vasprintf|getline_r|drand48|srandom|"
    r"sincosf?|usleep|nanosleep|clock_gettime)\s*\(")


def check(root):
    findings = []
    for path, text in common.sources(root, FOLDERS):
        if any(re.search(place, path) for place in PLACES):
            continue
        for found in INCLUDE.finditer(text):
            line = text[:found.start()].count("\n") + 1
            findings.append(f"{path}:{line}: <{found[1]}> is not of every system: use "
                            "nnef_loader/system or cli/system, or add a place to this lint")
        code = re.sub(r"//.*", "", text)
        for found in CALL.finditer(code):
            line = code[:found.start()].count("\n") + 1
            findings.append(f"{path}:{line}: {found[1]}() is not of every system: use the C++ library, "
                            "nnef_loader/system or cli/system, or add a place to this lint")
    return findings


common.run(
    check,
    broken={"core/exec/a.cpp": "#include <unistd.h>\n", "ops/nn/b.h": "#include <sys/stat.h>\n",
            "cli/c.cpp": "  # include <windows.h>\n", "cli/d.cpp": "if (mkdtemp(stem.data()) == nullptr) {}\n"},
    sound={"cli/system/process_posix.cpp": "#include <unistd.h>\n",
           "core/exec/a.cpp": "#include <cstdio>\n// #include <unistd.h>\n// Not mkdtemp().\nx.popen();\n",
           "nnef_loader/archive/a_test.cpp": "#include <unistd.h>\n"},
)
