// The base of all objects. They are handles: no fields, no virtual functions; what stands behind one is softmetal's.
//
// Ownership, as in Metal: alloc, new... and copy give the caller one count, to be released; everything else is
// borrowed, or autoreleased (it lives until the innermost pool of the thread is drained). A message to nil is a fault
// here, save for retain, release and autorelease, which do nothing: on Apple's runtime it returns zero, and the mistake
// goes unseen. Thread rule: counts from any thread; other calls as Metal has it, encoders and command buffers from one
// at a time.
#pragma once

#include "Foundation/NSTypes.hpp"

namespace softmetal::detail {
void retain(const void* object);
void release(const void* object);
void autorelease(const void* object);
NS::UInteger retain_count(const void* object);
const void* copy_object(const void* object);
}  // namespace softmetal::detail

namespace NS {

class String;

// Holds nothing: the root that objc_object is for metal-cpp.
class Handle {
 public:
  Handle() = delete;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 protected:
  ~Handle() = delete;
};

template <class Class, class Base = class Object>
class Referencing : public Base {
 public:
  Class* retain() {
    softmetal::detail::retain(this);
    return static_cast<Class*>(this);
  }
  void release() { softmetal::detail::release(this); }
  Class* autorelease() {
    softmetal::detail::autorelease(this);
    return static_cast<Class*>(this);
  }
  UInteger retainCount() const { return softmetal::detail::retain_count(this); }

 protected:
  ~Referencing() = delete;
};

template <class Class, class Base = class Object>
class Copying : public Referencing<Class, Base> {
 public:
  Class* copy() const { return static_cast<Class*>(const_cast<void*>(softmetal::detail::copy_object(this))); }

 protected:
  ~Copying() = delete;
};

template <class Class, class Base = class Object>
class SecureCoding : public Referencing<Class, Base> {
 protected:
  ~SecureCoding() = delete;
};

class Object : public Referencing<Object, Handle> {
 public:
  UInteger hash() const;
  bool isEqual(const Object* pObject) const;
  String* description() const;
  String* debugDescription() const;

 protected:
  ~Object() = delete;
};

}  // namespace NS
