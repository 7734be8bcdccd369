// Whether the tests are built with AddressSanitizer or ThreadSanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHIARO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHIARO_SANITIZED 1
#endif
#endif
#ifndef CHIARO_SANITIZED
#define CHIARO_SANITIZED 0
#endif
