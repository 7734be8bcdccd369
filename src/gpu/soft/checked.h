// Pointers of the checked kernels: every access knows its buffer, its bounds and its source line.
#pragma once

#include <cstring>
#include <type_traits>

#include "gpu/soft/language.h"

namespace chiaro::gpu::soft::checked {

// An index and the line that it stands in.
struct At {
  int64_t i;
  Where where;
  template <std::integral I>
  At(I index, Where w = Where::here()) : i(static_cast<int64_t>(index)), where(w) {}  // NOLINT
};

// Bytes of the scalars that T is made of: the unit in which races on device memory are told apart.
template <class T>
inline constexpr int64_t kScalar = sizeof(T) < 4 ? static_cast<int64_t>(sizeof(T)) : 4;
template <>
inline constexpr int64_t kScalar<language::half4> = 2;

template <class T>
T device_load(Binding& b, int64_t at, Where where) {
  constexpr int64_t size = sizeof(T);
  if (at < 0 || at > b.bytes - size) fault_bounds(b, at, size, where);
  if (b.region != nullptr || b.init != nullptr) device_read(b, at, size, where);
  b.read += sizeof(T);
  if ((++b.state->ticks & 0xFFFFFu) == 0) check_clock(where);
  T v;
  std::memcpy(&v, b.base + at, sizeof(T));
  return v;
}

template <class T>
struct DeviceRef {
  Binding* b;
  int64_t at;
  Where where;
  operator T() const { return device_load<T>(*b, at, where); }  // NOLINT(google-explicit-constructor)
  const DeviceRef& operator=(T v) const {
    constexpr int64_t size = sizeof(T);
    if (at < 0 || at > b->bytes - size) fault_bounds(*b, at, size, where);
    device_write(*b, at, size, kScalar<T>, where);
    b->written += sizeof(T);
    if ((++b->state->ticks & 0xFFFFFu) == 0) check_clock(where);
    std::memcpy(b->base + at, &v, sizeof(T));
    return *this;
  }
  const DeviceRef& operator=(const DeviceRef& other) const { return *this = T(other); }
  DeviceRef(const DeviceRef&) = default;
  DeviceRef(Binding* binding, int64_t offset, Where w) : b(binding), at(offset), where(w) {}
  const DeviceRef& operator+=(T v) const { return *this = T(*this) + v; }
  const DeviceRef& operator-=(T v) const { return *this = T(*this) - v; }
  const DeviceRef& operator*=(T v) const { return *this = T(*this) * v; }
};

template <class T>
struct DevicePtr {
  using Element = std::remove_const_t<T>;
  Binding* b = nullptr;
  int64_t at = 0;
  auto operator[](At i) const {
    const int64_t offset = at + i.i * static_cast<int64_t>(sizeof(T));
    if constexpr (std::is_const_v<T>) {
      return device_load<Element>(*b, offset, i.where);
    } else {
      return DeviceRef<T>(b, offset, i.where);
    }
  }
  template <std::integral I>
  DevicePtr operator+(I n) const {
    return {b, at + static_cast<int64_t>(n) * static_cast<int64_t>(sizeof(T))};
  }
  template <std::integral I>
  DevicePtr operator-(I n) const {
    return {b, at - static_cast<int64_t>(n) * static_cast<int64_t>(sizeof(T))};
  }
  template <std::integral I>
  DevicePtr& operator+=(I n) {
    return *this = *this + n;
  }
  operator DevicePtr<const Element>() const requires(!std::is_const_v<T>) { return {b, at}; }  // NOLINT
};

template <class U, class T>
DevicePtr<U> device_cast(DevicePtr<T> p, Where where = Where::here()) {
  static_assert(std::is_const_v<U> || !std::is_const_v<T>, "casts const away");
  if constexpr (alignof(U) > alignof(T)) {
    if ((reinterpret_cast<uintptr_t>(p.b->base) + static_cast<uintptr_t>(p.at)) % alignof(U) != 0) {
      fault_misaligned("buffer", p.b->name, alignof(U), where);
    }
  }
  return {p.b, p.at};
}

// Slot N of a kernel. Any: the element type is chosen by a constant.
template <class T, int N, bool Any = false>
struct DeviceArg : DevicePtr<T> {
  static constexpr int slot = N;
  static constexpr bool writable = !std::is_const_v<T>;
  static constexpr uint32_t element_bytes = Any ? 1 : sizeof(T), alignment = alignof(T);
  static DeviceArg bind(Binding* bindings) {
    DeviceArg p;
    p.b = &bindings[N];
    return p;
  }
};

template <class T>
struct GroupRef {
  const GroupArray* a;
  uint32_t at;
  Where where;
  operator T() const {  // NOLINT(google-explicit-constructor)
    for (uint32_t c = 0; c < sizeof(T); c += a->cell_bytes) group_read(*a, (at + c) / a->cell_bytes, where);
    T v;
    std::memcpy(&v, a->memory + at, sizeof(T));
    return v;
  }
  const GroupRef& operator=(T v) const {
    for (uint32_t c = 0; c < sizeof(T); c += a->cell_bytes) group_write(*a, (at + c) / a->cell_bytes, where);
    std::memcpy(a->memory + at, &v, sizeof(T));
    return *this;
  }
  const GroupRef& operator=(const GroupRef& other) const { return *this = T(other); }
  GroupRef(const GroupRef&) = default;
  GroupRef(const GroupArray* array, uint32_t offset, Where w) : a(array), at(offset), where(w) {}
  const GroupRef& operator+=(T v) const { return *this = T(*this) + v; }
  const GroupRef& operator-=(T v) const { return *this = T(*this) - v; }
  const GroupRef& operator*=(T v) const { return *this = T(*this) * v; }
};

template <class T>
struct GroupPtr {
  using Element = std::remove_const_t<T>;
  const GroupArray* a = nullptr;
  int64_t at = 0;
  auto operator[](At i) const {
    constexpr int64_t size = sizeof(T);
    const int64_t offset = at + i.i * size;
    if (offset < 0 || offset > static_cast<int64_t>(a->bytes) - size) fault_group_bounds(*a, offset, size, i.where);
    const GroupRef<Element> ref(a, static_cast<uint32_t>(offset), i.where);
    if constexpr (std::is_const_v<T>) {
      return Element(ref);
    } else {
      return ref;
    }
  }
  template <std::integral I>
  GroupPtr operator+(I n) const {
    return {a, at + static_cast<int64_t>(n) * static_cast<int64_t>(sizeof(T))};
  }
  operator GroupPtr<const Element>() const requires(!std::is_const_v<T>) { return {a, at}; }  // NOLINT
};

template <class U, class T>
GroupPtr<U> group_cast(GroupPtr<T> p, Where where = Where::here()) {
  static_assert(std::is_const_v<U> || !std::is_const_v<T>, "casts const away");
  if (p.at % static_cast<int64_t>(alignof(U)) != 0) fault_misaligned("threadgroup array", p.a->name, alignof(U), where);
  if (sizeof(U) % p.a->cell_bytes != 0) fault_cells(*p.a, sizeof(U), where);
  return {p.a, p.at};
}
template <class T>
GroupPtr<T> group_alloc(const void* tag, const char* name, uint32_t count, Where where = Where::here()) {
  return {group_array(tag, name, count, sizeof(T), where), 0};
}

}  // namespace chiaro::gpu::soft::checked
