// Immutable text. UTF-8 and ASCII only.
#pragma once

#include "Foundation/NSObject.hpp"
#include "Foundation/NSRange.hpp"

namespace NS {

enum StringEncoding : UInteger { ASCIIStringEncoding = 1, UTF8StringEncoding = 4 };

using unichar = unsigned short;

class String : public Copying<String> {
 public:
  static String* string();
  static String* string(const String* pString);
  static String* string(const char* pString, StringEncoding encoding);
  static String* alloc();
  String* init();
  String* init(const String* pString);
  String* init(const char* pString, StringEncoding encoding);
  // Copies the bytes; freeBuffer frees them at once.
  String* init(void* pBytes, UInteger len, StringEncoding encoding, bool freeBuffer);

  unichar character(UInteger index) const;  // ASCII texts only
  UInteger length() const;                  // in UTF-16 units
  // Lives as long as the string.
  const char* cString(StringEncoding encoding) const;
  const char* utf8String() const;
  UInteger maximumLengthOfBytes(StringEncoding encoding) const;
  UInteger lengthOfBytes(StringEncoding encoding) const;
  bool isEqualToString(const String* pString) const;
  String* stringByAppendingString(const String* pString) const;
};

}  // namespace NS

namespace softmetal::detail {
// One immortal string per address of a literal.
NS::String* literal_string(const char* literal);
}  // namespace softmetal::detail

#define MTLSTR(literal) (::softmetal::detail::literal_string("" literal ""))
