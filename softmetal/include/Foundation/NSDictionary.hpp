// An immutable map from texts to objects.
#pragma once

#include "Foundation/NSObject.hpp"

namespace softmetal::detail {
NS::Object* dictionary_object(const void* dictionary, const NS::Object* key);
}

namespace NS {

class Dictionary : public Copying<Dictionary> {
 public:
  static Dictionary* dictionary();
  static Dictionary* dictionary(const Object* pObject, const Object* pKey);
  static Dictionary* dictionary(const Object* const* pObjects, const Object* const* pKeys, UInteger count);
  static Dictionary* alloc();
  Dictionary* init();
  Dictionary* init(const Object* const* pObjects, const Object* const* pKeys, UInteger count);

  template <class Class = Object>
  Class* object(const Object* pKey) const {
    return static_cast<Class*>(softmetal::detail::dictionary_object(this, pKey));
  }
  UInteger count() const;
};

}  // namespace NS
