// Stands in for glibc's, which goes by the architecture: kernels must see arm64 alone.
#pragma once
#define __WORDSIZE 64
#define __WORDSIZE_TIME64_COMPAT32 1
#define __SYSCALL_WORDSIZE 64
