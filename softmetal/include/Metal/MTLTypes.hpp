// Sizes of grids and threadgroups.
#pragma once

#include "Foundation/Foundation.hpp"

namespace MTL {

struct Origin {
  Origin() = default;
  Origin(NS::UInteger x_, NS::UInteger y_, NS::UInteger z_) : x(x_), y(y_), z(z_) {}
  static Origin Make(NS::UInteger x, NS::UInteger y, NS::UInteger z) { return Origin(x, y, z); }
  NS::UInteger x;
  NS::UInteger y;
  NS::UInteger z;
} __attribute__((packed));

struct Size {
  Size() = default;
  Size(NS::UInteger width_, NS::UInteger height_, NS::UInteger depth_)
      : width(width_), height(height_), depth(depth_) {}
  static Size Make(NS::UInteger width, NS::UInteger height, NS::UInteger depth) { return Size(width, height, depth); }
  NS::UInteger width;
  NS::UInteger height;
  NS::UInteger depth;
} __attribute__((packed));

struct ResourceID {
  uint64_t _impl;
} __attribute__((packed));

struct SizeAndAlign {
  NS::UInteger size;
  NS::UInteger align;
} __attribute__((packed));

// Types of function constants (the numbers are Metal's). Kernels for the software GPU have bool, int and uint.
enum DataType : NS::UInteger {
  DataTypeNone = 0,
  DataTypeFloat = 3,
  DataTypeHalf = 16,
  DataTypeInt = 29,
  DataTypeUInt = 33,
  DataTypeShort = 37,
  DataTypeUShort = 41,
  DataTypeChar = 45,
  DataTypeUChar = 49,
  DataTypeBool = 53,
  DataTypeLong = 81,
  DataTypeULong = 85,
  DataTypeBFloat = 121,
};

}  // namespace MTL
