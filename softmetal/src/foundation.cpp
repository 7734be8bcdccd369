// Strings, errors, arrays, dictionaries and pools.
#include "foundation.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace softmetal::detail {

// Of pools, in node.cpp.
size_t pool_depth();
void drain_to(size_t depth);

namespace {

struct PoolBody final : Body {
  static constexpr const char* kType = "NS::AutoreleasePool";
  const char* type() const override { return kType; }
  ~PoolBody() override {
    if (depth > 0) drain_to(depth);
  }
  size_t depth = 0;  // of the thread's stack before it; 0: init was not called
};

NS::String* new_string(std::string text) {
  auto body = std::make_unique<StringBody>();
  body->text = std::move(text);
  return make<NS::String>(std::move(body));
}

std::unique_ptr<ListBody> list_of(const NS::Object* const* objects, NS::UInteger count, std::string_view call) {
  auto body = std::make_unique<ListBody>();
  for (NS::UInteger i = 0; i < count; ++i) {
    if (find_body(objects[i], call, "an element") != nullptr) body->objects.emplace_back(objects[i]);
  }
  return body;
}

std::unique_ptr<MapBody> map_of(const NS::Object* const* objects, const NS::Object* const* keys, NS::UInteger count,
                                std::string_view call) {
  auto body = std::make_unique<MapBody>();
  for (NS::UInteger i = 0; i < count; ++i) {
    auto* key = body_of<StringBody>(keys[i], call, "a key");
    if (key != nullptr && find_body(objects[i], call, "an object") != nullptr) {
      body->objects.emplace(key->text, Owned(objects[i]));
    }
  }
  return body;
}

}  // namespace

NS::String* make_string(std::string text) {
  return new_string(std::move(text))->autorelease();
}

std::string string_text(const NS::String* string, std::string_view call, std::string_view role) {
  const auto* body = body_of<StringBody>(string, call, role);
  return body == nullptr ? std::string() : body->text;
}

NS::String* literal_string(const char* literal) {
  static std::mutex* mutex = new std::mutex;
  static auto* all = new std::unordered_map<std::string, void*>;
  const std::lock_guard lock(*mutex);
  void*& object = (*all)[literal];
  if (object == nullptr) {
    auto body = std::make_unique<StringBody>();
    body->text = literal;
    object = adopt(std::move(body), true);
  }
  return static_cast<NS::String*>(object);
}

NS::Error* make_error(const char* domain, NS::Integer code, std::string what, std::string why, std::string mend) {
  auto body = std::make_unique<ErrorBody>();
  body->domain = domain;
  body->code = code;
  body->what = std::move(what);
  body->why = std::move(why);
  body->mend = std::move(mend);
  return make<NS::Error>(std::move(body))->autorelease();
}

NS::Object* array_object(const void* array, NS::UInteger index) {
  const char* call = "NS::Array::object";
  const auto* body = body_of<ListBody>(array, call);
  if (body == nullptr) return nullptr;
  if (index < body->objects.size()) return body->objects[index].as<NS::Object>();
  fault(FaultKind::bad_range, call, "an index past the end",
        "index " + std::to_string(index) + " of " + std::to_string(body->objects.size()), "");
  return nullptr;
}

NS::Object* dictionary_object(const void* dictionary, const NS::Object* key) {
  const char* call = "NS::Dictionary::object";
  const auto* body = body_of<MapBody>(dictionary, call);
  const auto* name = body == nullptr ? nullptr : body_of<StringBody>(key, call, "the key");
  if (name == nullptr) return nullptr;
  const auto found = body->objects.find(name->text);
  return found == body->objects.end() ? nullptr : found->second.as<NS::Object>();
}

const void* copy_object(const void* object) {
  const auto* body = find_body(object, "copy", "receiver");
  if (body == nullptr) return nullptr;
  std::unique_ptr<Body> copy = body->copied();
  if (copy != nullptr) return adopt(std::move(copy));
  retain(object);  // immutable
  return object;
}

}  // namespace softmetal::detail

namespace NS {

using softmetal::detail::body_of;
using softmetal::detail::ErrorBody;
using softmetal::detail::ListBody;
using softmetal::detail::make_string;
using softmetal::detail::MapBody;
using softmetal::detail::StringBody;

UInteger Object::hash() const {
  return reinterpret_cast<UInteger>(this) >> 4;
}
bool Object::isEqual(const Object* pObject) const {
  if (this == pObject) return true;
  const auto* a = dynamic_cast<const StringBody*>(softmetal::detail::find_body(this, "isEqual", "receiver"));
  const auto* b = dynamic_cast<const StringBody*>(softmetal::detail::find_body(pObject, "isEqual", "the other"));
  return a != nullptr && b != nullptr && a->text == b->text;
}
String* Object::description() const {
  const auto* body = softmetal::detail::find_body(this, "description", "receiver");
  if (body == nullptr) return nullptr;
  if (const auto* text = dynamic_cast<const StringBody*>(body)) return make_string(text->text);
  return make_string(softmetal::detail::object_text(*body));
}
String* Object::debugDescription() const {
  return description();
}

String* String::string() {
  return make_string("");
}
String* String::string(const String* pString) {
  return make_string(softmetal::detail::string_text(pString, "NS::String::string"));
}
String* String::string(const char* pString, StringEncoding) {
  return make_string(pString == nullptr ? "" : pString);
}
String* String::alloc() {
  return softmetal::detail::new_string("");
}
String* String::init() {
  return this;
}
String* String::init(const String* pString) {
  auto* body = body_of<StringBody>(this, "NS::String::init");
  if (body != nullptr) body->text = softmetal::detail::string_text(pString, "NS::String::init");
  return this;
}
String* String::init(const char* pString, StringEncoding) {
  auto* body = body_of<StringBody>(this, "NS::String::init");
  if (body != nullptr) body->text = pString == nullptr ? "" : pString;
  return this;
}
String* String::init(void* pBytes, UInteger len, StringEncoding, bool freeBuffer) {
  auto* body = body_of<StringBody>(this, "NS::String::init");
  if (body != nullptr) body->text.assign(static_cast<const char*>(pBytes), len);
  if (freeBuffer) std::free(pBytes);
  return this;
}
unichar String::character(UInteger index) const {
  const auto* body = body_of<StringBody>(this, "NS::String::character");
  return body != nullptr && index < body->text.size() ? static_cast<unsigned char>(body->text[index]) : unichar{0};
}
UInteger String::length() const {
  const auto* body = body_of<StringBody>(this, "NS::String::length");
  UInteger units = 0;
  for (const char c : body == nullptr ? std::string() : body->text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
  }
  return units;
}
const char* String::cString(StringEncoding) const {
  return utf8String();
}
const char* String::utf8String() const {
  const auto* body = body_of<StringBody>(this, "NS::String::utf8String");
  return body == nullptr ? nullptr : body->text.c_str();
}
UInteger String::maximumLengthOfBytes(StringEncoding encoding) const {
  return lengthOfBytes(encoding);
}
UInteger String::lengthOfBytes(StringEncoding) const {
  const auto* body = body_of<StringBody>(this, "NS::String::lengthOfBytes");
  return body == nullptr ? 0 : body->text.size();
}
bool String::isEqualToString(const String* pString) const {
  const auto* a = body_of<StringBody>(this, "NS::String::isEqualToString");
  const auto* b = body_of<StringBody>(pString, "NS::String::isEqualToString", "the other");
  return a != nullptr && b != nullptr && a->text == b->text;
}
String* String::stringByAppendingString(const String* pString) const {
  const char* call = "NS::String::stringByAppendingString";
  return make_string(softmetal::detail::string_text(this, call, "receiver") +
                     softmetal::detail::string_text(pString, call));
}

Error* Error::error(ErrorDomain domain, Integer code, Dictionary* pDictionary) {
  return alloc()->init(domain, code, pDictionary)->autorelease();
}
Error* Error::alloc() {
  return softmetal::detail::make<Error>(std::make_unique<ErrorBody>());
}
Error* Error::init() {
  return this;
}
Error* Error::init(ErrorDomain domain, Integer code, Dictionary*) {
  auto* body = body_of<ErrorBody>(this, "NS::Error::init");
  if (body == nullptr) return this;
  body->domain = softmetal::detail::string_text(domain, "NS::Error::init", "the domain");
  body->code = code;
  return this;
}
Integer Error::code() const {
  const auto* body = body_of<ErrorBody>(this, "NS::Error::code");
  return body == nullptr ? 0 : body->code;
}
ErrorDomain Error::domain() const {
  const auto* body = body_of<ErrorBody>(this, "NS::Error::domain");
  return body == nullptr ? nullptr : make_string(body->domain);
}
Dictionary* Error::userInfo() const {
  return Dictionary::dictionary();
}
String* Error::localizedDescription() const {
  const auto* body = body_of<ErrorBody>(this, "NS::Error::localizedDescription");
  if (body == nullptr) return nullptr;
  std::string text = body->what;
  if (!body->why.empty()) text += "\n" + body->why;
  if (!body->mend.empty()) text += "\n" + body->mend;
  return make_string(text);
}
Array* Error::localizedRecoveryOptions() const {
  return Array::array();
}
String* Error::localizedRecoverySuggestion() const {
  const auto* body = body_of<ErrorBody>(this, "NS::Error::localizedRecoverySuggestion");
  return body == nullptr || body->mend.empty() ? nullptr : make_string(body->mend);
}
String* Error::localizedFailureReason() const {
  const auto* body = body_of<ErrorBody>(this, "NS::Error::localizedFailureReason");
  return body == nullptr || body->why.empty() ? nullptr : make_string(body->why);
}

Array* Array::array() {
  return alloc()->autorelease();
}
Array* Array::array(const Object* pObject) {
  return array(&pObject, 1);
}
Array* Array::array(const Object* const* pObjects, UInteger count) {
  return softmetal::detail::make<Array>(softmetal::detail::list_of(pObjects, count, "NS::Array::array"))->autorelease();
}
Array* Array::alloc() {
  return softmetal::detail::make<Array>(std::make_unique<ListBody>());
}
Array* Array::init() {
  return this;
}
Array* Array::init(const Object* const* pObjects, UInteger count) {
  auto* body = body_of<ListBody>(this, "NS::Array::init");
  if (body != nullptr) body->objects = softmetal::detail::list_of(pObjects, count, "NS::Array::init")->objects_taken();
  return this;
}
UInteger Array::count() const {
  const auto* body = body_of<ListBody>(this, "NS::Array::count");
  return body == nullptr ? 0 : body->objects.size();
}

Dictionary* Dictionary::dictionary() {
  return alloc()->autorelease();
}
Dictionary* Dictionary::dictionary(const Object* pObject, const Object* pKey) {
  return dictionary(&pObject, &pKey, 1);
}
Dictionary* Dictionary::dictionary(const Object* const* pObjects, const Object* const* pKeys, UInteger count) {
  return alloc()->init(pObjects, pKeys, count)->autorelease();
}
Dictionary* Dictionary::alloc() {
  return softmetal::detail::make<Dictionary>(std::make_unique<MapBody>());
}
Dictionary* Dictionary::init() {
  return this;
}
Dictionary* Dictionary::init(const Object* const* pObjects, const Object* const* pKeys, UInteger count) {
  auto* body = body_of<MapBody>(this, "NS::Dictionary::init");
  if (body == nullptr) return this;
  body->objects = std::move(softmetal::detail::map_of(pObjects, pKeys, count, "NS::Dictionary::init")->objects);
  return this;
}
UInteger Dictionary::count() const {
  const auto* body = body_of<MapBody>(this, "NS::Dictionary::count");
  return body == nullptr ? 0 : body->objects.size();
}

AutoreleasePool* AutoreleasePool::alloc() {
  return softmetal::detail::make<AutoreleasePool>(std::make_unique<softmetal::detail::PoolBody>());
}
AutoreleasePool* AutoreleasePool::init() {
  auto* body = body_of<softmetal::detail::PoolBody>(this, "NS::AutoreleasePool::init");
  if (body == nullptr || body->depth > 0) return this;
  body->depth = softmetal::detail::pool_depth();
  softmetal::detail::push_pool();
  return this;
}
void AutoreleasePool::drain() {
  release();
}
void AutoreleasePool::addObject(Object* pObject) {
  softmetal::detail::autorelease(pObject);
}
void AutoreleasePool::showPools() {}

}  // namespace NS
