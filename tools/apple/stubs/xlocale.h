// What libc++ takes from Apple's header of this name beyond the C library's locales.
#pragma once

#include <ctype.h>
#include <locale.h>
#include <stdio.h>

// Functions, not glibc's macros, which look into a locale.
#undef isdigit_l
#undef isxdigit_l

#ifdef __cplusplus
extern "C" {
#endif
int sscanf_l(const char* text, locale_t locale, const char* format, ...);
int snprintf_l(char* to, size_t bytes, locale_t locale, const char* format, ...);
int asprintf_l(char** to, locale_t locale, const char* format, ...);
#ifdef __cplusplus
}
#endif
