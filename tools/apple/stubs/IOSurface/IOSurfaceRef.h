// The type of IOSurface that metal-cpp names.
#pragma once

typedef struct __IOSurface* IOSurfaceRef;
