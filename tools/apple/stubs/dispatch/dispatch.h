// The types of libdispatch that metal-cpp names.
#pragma once

#include <stddef.h>

typedef struct dispatch_data_s* dispatch_data_t;
typedef struct dispatch_queue_s* dispatch_queue_t;
