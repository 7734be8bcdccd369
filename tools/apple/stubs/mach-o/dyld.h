// Where the running program lies, as Apple's loader tells it.
#pragma once
#include <stdint.h>
extern "C" int _NSGetExecutablePath(char* path, uint32_t* bytes);
