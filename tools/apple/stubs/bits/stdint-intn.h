// Stands in for glibc's: on a Mac int64_t is long long, and long (ptrdiff_t, ssize_t) is another type.
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
