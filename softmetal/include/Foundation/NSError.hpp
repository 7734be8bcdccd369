// Why a call failed. The domains that Metal uses are texts: "MTLLibraryErrorDomain", "MTLCommandBufferErrorDomain",
// "AGXMetal" for pipelines.
#pragma once

#include "Foundation/NSObject.hpp"

namespace NS {

class Array;
class Dictionary;
using ErrorDomain = String*;
using ErrorUserInfoKey = String*;

class Error : public Copying<Error> {
 public:
  static Error* error(ErrorDomain domain, Integer code, Dictionary* pDictionary);
  static Error* alloc();
  Error* init();
  Error* init(ErrorDomain domain, Integer code, Dictionary* pDictionary);

  Integer code() const;
  ErrorDomain domain() const;
  Dictionary* userInfo() const;
  // All of it: what went wrong, why, how to mend it.
  String* localizedDescription() const;
  Array* localizedRecoveryOptions() const;
  String* localizedRecoverySuggestion() const;  // how to mend it, or nil
  String* localizedFailureReason() const;       // why, or nil
};

}  // namespace NS
