// Stands in for glibc's: on a Mac uint64_t is unsigned long long, and unsigned long (size_t) is another type.
#pragma once
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
