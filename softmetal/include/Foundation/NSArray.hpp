// An immutable list of objects, each of which it holds a count of.
#pragma once

#include "Foundation/NSObject.hpp"

namespace softmetal::detail {
NS::Object* array_object(const void* array, NS::UInteger index);
}

namespace NS {

class Array : public Copying<Array> {
 public:
  static Array* array();
  static Array* array(const Object* pObject);
  static Array* array(const Object* const* pObjects, UInteger count);
  static Array* alloc();
  Array* init();
  Array* init(const Object* const* pObjects, UInteger count);

  // Borrowed from the array.
  template <class Class = Object>
  Class* object(UInteger index) const {
    return static_cast<Class*>(softmetal::detail::array_object(this, index));
  }
  UInteger count() const;
};

}  // namespace NS
