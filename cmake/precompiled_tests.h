// The same for tests.
#pragma once
#include <gtest/gtest.h>

#include "../tests/test_paths.h"
#include "precompiled.h"
