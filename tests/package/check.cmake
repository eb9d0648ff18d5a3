# Install rill, build apps against the installation, and run them.
#   cmake -DBUILD=... -DCONFIG=... -DEXAMPLES=... -DMODELS=... -DSCRATCH=... -DNM=... -P check.cmake

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${SCRATCH}/installed")

use(app "${SCRATCH}/installed")

# Move the installation, as packages do; no path may refer to the old folder.
set(moved "${SCRATCH}/moved place")
file(RENAME "${SCRATCH}/installed" "${moved}")
use(app_moved "${moved}")

use_pkg_config("${moved}")
