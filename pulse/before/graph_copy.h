#pragma once

// Passes of attention name it here.
#include "core/graph/graph_copy.h"
