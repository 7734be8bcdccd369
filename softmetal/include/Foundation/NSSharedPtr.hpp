// A pointer that owns one count of an object.
#pragma once

#include <cstddef>
#include <type_traits>

namespace NS {

template <class Class>
class SharedPtr {
  template <class Other>
  using IfConvertible = std::enable_if_t<std::is_convertible_v<Other*, Class*>>;

 public:
  SharedPtr() = default;
  SharedPtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  ~SharedPtr() { drop(); }
  SharedPtr(const SharedPtr& other) noexcept : object_(other.object_) { keep(); }
  template <class Other, class = IfConvertible<Other>>
  SharedPtr(const SharedPtr<Other>& other) noexcept : object_(other.get()) {  // NOLINT(google-explicit-constructor)
    keep();
  }
  SharedPtr(SharedPtr&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  template <class Other, class = IfConvertible<Other>>
  SharedPtr(SharedPtr<Other>&& other) noexcept : object_(other.get()) {  // NOLINT(google-explicit-constructor)
    other.detach();
  }
  SharedPtr& operator=(const SharedPtr& other) {
    if (object_ != other.object_) *this = SharedPtr(other);
    return *this;
  }
  template <class Other, class = IfConvertible<Other>>
  SharedPtr& operator=(const SharedPtr<Other>& other) {
    if (object_ != other.get()) *this = SharedPtr(other);
    return *this;
  }
  SharedPtr& operator=(SharedPtr&& other) noexcept {
    if (this == &other) return *this;
    drop();
    object_ = other.object_;
    other.object_ = nullptr;
    return *this;
  }
  template <class Other, class = IfConvertible<Other>>
  SharedPtr& operator=(SharedPtr<Other>&& other) noexcept {
    return *this = SharedPtr(static_cast<SharedPtr<Other>&&>(other));
  }

  Class* get() const { return object_; }
  Class* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Gives the count up by releasing it.
  void reset() {
    drop();
    object_ = nullptr;
  }
  // Gives the count up without releasing it: the caller has it.
  void detach() { object_ = nullptr; }

  template <class Other>
  friend SharedPtr<Other> RetainPtr(Other* object);
  template <class Other>
  friend SharedPtr<Other> TransferPtr(Other* object);

 private:
  void keep() {
    if (object_ != nullptr) object_->retain();
  }
  void drop() {
    if (object_ != nullptr) object_->release();
  }
  Class* object_ = nullptr;
};

// Takes a count of its own.
template <class Class>
SharedPtr<Class> RetainPtr(Class* object) {
  SharedPtr<Class> p;
  p.object_ = object;
  p.keep();
  return p;
}
// Takes over the count that the caller has.
template <class Class>
SharedPtr<Class> TransferPtr(Class* object) {
  SharedPtr<Class> p;
  p.object_ = object;
  return p;
}

template <class A, class B>
bool operator==(const SharedPtr<A>& a, const SharedPtr<B>& b) {
  return a.get() == b.get();
}
template <class A, class B>
bool operator!=(const SharedPtr<A>& a, const SharedPtr<B>& b) {
  return a.get() != b.get();
}

}  // namespace NS
