// What is autoreleased on a thread is released when the innermost pool of that thread is drained or released. Pools of
// a thread end in the reverse order of their making.
#pragma once

#include "Foundation/NSObject.hpp"

namespace NS {

class AutoreleasePool : public Object {
 public:
  static AutoreleasePool* alloc();
  AutoreleasePool* init();
  void drain();
  void addObject(Object* pObject);
  static void showPools();
};

}  // namespace NS
