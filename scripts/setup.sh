# Sourced by the other scripts: checks that the build's packages are installed, silently if they
# are. Installs with apt-get as root or through sudo without a password; otherwise prints the
# command and stops.

rill_packages=(
  build-essential cmake ninja-build pkg-config
  zlib1g-dev libarchive-dev libxsimd-dev libeigen3-dev
  libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
  libgtest-dev libbenchmark-dev python3 ccache
)

# Packages for the sanitizers and libFuzzer.
rill_clang_packages=(clang libclang-rt-dev)

rill_configure_options=()

# Packages for the NEON tests on other machines.
rill_neon_packages=(g++-aarch64-linux-gnu qemu-user-static googletest)

rill_missing_packages() {
  local package
  for package in "${rill_packages[@]}"; do
    if [[ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" != "install ok installed" ]]; then
      echo "$package"
    fi
  done
}

rill_setup() {
  if ! command -v dpkg-query >/dev/null; then
    echo "This is no Debian: expecting ${rill_packages[*]} by other names." >&2
    return 0
  fi
  local missing as_root=()
  mapfile -t missing < <(rill_missing_packages)
  [[ ${#missing[@]} -eq 0 ]] && return 0
  if [[ "$(id -u)" -ne 0 ]]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      echo "Packages are missing. Install them, then run this again:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo -n)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# rill_python_environment <name> <package> ...: prints the Python of an environment with these
# packages, which it makes if needed. Clones share it: it is in RILL_ENVIRONMENTS (default:
# ~/.cache/rill/environments), under a name with a checksum of the package list.
rill_python_environment() {
  local name=$1 sum folder
  shift
  sum=$(python3 --version; printf '%s\n' "$@")
  folder=${RILL_ENVIRONMENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/rill/environments}/$name-$(cksum <<<"$sum" | cut -d' ' -f1)
  if [[ ! -e $folder/made ]]; then
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    { python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet "$@" &&
      touch "$folder/made"; } >&2 || { rm -rf "$folder"; return 1; }
  fi
  echo "$folder/bin/python"
}

# rill_use_ccache: make CMake compile through ccache, if installed. Paths below the root are
# relative, so that clones in other folders share the cache. CCACHE_DEPEND compares headers byte for
# byte. Comparing preprocessed text would accept a precompiled header with older comments, and GCC would
# then include its headers a second time. The namespace avoids entries made that way.
rill_use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-20G}
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  export CCACHE_DEPEND=1 CCACHE_NAMESPACE=depend
}

# rill_build <preset> [target ...]: configures, also with rill_configure_options, and builds; the
# output goes to a log, and is shown only on a terminal or after a failure.
rill_build() {
  local preset=$1 log="build/$1/build.log" jobs=${rill_jobs:-$(nproc)}
  shift
  mkdir -p "build/$preset"
  rill_use_ccache
  echo "Building $preset in build/$preset"
  if ! cmake --preset "$preset" "${rill_configure_options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  local build=(cmake --build --preset "$preset" -j "$jobs")
  [[ $# -gt 0 ]] && build+=(--target "$@")
  if [[ -t 1 ]]; then
    "${build[@]}" || exit 1
  elif ! "${build[@]}" >>"$log" 2>&1; then
    grep -A30 -m3 -E '^FAILED:|error:' "$log" >&2 || tail -n 50 "$log" >&2
    exit 1
  fi
}
