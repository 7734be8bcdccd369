// The C library's, and what spdlog takes from Apple's: the number of the calling thread.
#pragma once
#include_next <pthread.h>
#include <stdint.h>
#ifdef __cplusplus
int pthread_threadid_np(decltype(nullptr), uint64_t* id);
#endif
