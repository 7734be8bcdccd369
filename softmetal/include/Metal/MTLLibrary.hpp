// Kernels from Metal text. There is no compiler here: newLibrary takes texts whose kernels were compiled for the
// software GPU and registered (softmetal/kernels.h); any other is refused with a compile error.
#pragma once

#include "Metal/MTLTypes.hpp"

namespace MTL {

class Device;

enum FunctionType : NS::UInteger { FunctionTypeVertex = 1, FunctionTypeFragment = 2, FunctionTypeKernel = 3 };

enum LanguageVersion : NS::UInteger {
  LanguageVersion1_0 = 65536,
  LanguageVersion1_1 = 65537,
  LanguageVersion1_2 = 65538,
  LanguageVersion2_0 = 131072,
  LanguageVersion2_1 = 131073,
  LanguageVersion2_2 = 131074,
  LanguageVersion2_3 = 131075,
  LanguageVersion2_4 = 131076,
  LanguageVersion3_0 = 196608,
  LanguageVersion3_1 = 196609,
  LanguageVersion3_2 = 196610,
  LanguageVersion4_0 = 262144,
};

enum LibraryType : NS::Integer { LibraryTypeExecutable = 0, LibraryTypeDynamic = 1 };
enum LibraryOptimizationLevel : NS::Integer { LibraryOptimizationLevelDefault = 0, LibraryOptimizationLevelSize = 1 };
enum MathMode : NS::Integer { MathModeSafe = 0, MathModeRelaxed = 1, MathModeFast = 2 };
enum MathFloatingPointFunctions : NS::Integer {
  MathFloatingPointFunctionsFast = 0,
  MathFloatingPointFunctionsPrecise = 1,
};

enum LibraryError : NS::UInteger {
  LibraryErrorUnsupported = 1,
  LibraryErrorInternal = 2,
  LibraryErrorCompileFailure = 3,
  LibraryErrorCompileWarning = 4,
  LibraryErrorFunctionNotFound = 5,
  LibraryErrorFileNotFound = 6,
};

// Values for the constants that the text declares. Copied by newFunction.
class FunctionConstantValues : public NS::Copying<FunctionConstantValues> {
 public:
  static FunctionConstantValues* alloc();
  FunctionConstantValues* init();
  void reset();
  void setConstantValue(const void* value, MTL::DataType type, NS::UInteger index);
  void setConstantValue(const void* value, MTL::DataType type, const NS::String* name);
  void setConstantValues(const void* values, MTL::DataType type, NS::Range range);
};

class FunctionDescriptor : public NS::Copying<FunctionDescriptor> {
 public:
  static FunctionDescriptor* alloc();
  static FunctionDescriptor* functionDescriptor();
  FunctionDescriptor* init();
  FunctionConstantValues* constantValues() const;
  NS::String* name() const;
  void setConstantValues(const MTL::FunctionConstantValues* constantValues);
  void setName(const NS::String* name);
  void setSpecializedName(const NS::String* specializedName);
  NS::String* specializedName() const;
};

class Function : public NS::Referencing<Function> {
 public:
  Device* device() const;
  MTL::FunctionType functionType() const;
  NS::String* label() const;
  NS::String* name() const;
  void setLabel(const NS::String* label);
};

// Kept and reported, and without effect: kernels are compiled already, without fast math.
class CompileOptions : public NS::Copying<CompileOptions> {
 public:
  static CompileOptions* alloc();
  CompileOptions* init();
  bool fastMathEnabled() const;
  LanguageVersion languageVersion() const;
  LibraryType libraryType() const;
  MathFloatingPointFunctions mathFloatingPointFunctions() const;
  MathMode mathMode() const;
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  LibraryOptimizationLevel optimizationLevel() const;
  NS::Dictionary* preprocessorMacros() const;
  bool preserveInvariance() const;
  void setFastMathEnabled(bool fastMathEnabled);
  void setLanguageVersion(MTL::LanguageVersion languageVersion);
  void setLibraryType(MTL::LibraryType libraryType);
  void setMathFloatingPointFunctions(MTL::MathFloatingPointFunctions mathFloatingPointFunctions);
  void setMathMode(MTL::MathMode mathMode);
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  void setOptimizationLevel(MTL::LibraryOptimizationLevel optimizationLevel);
  // Macros change the text: a library with any is refused.
  void setPreprocessorMacros(const NS::Dictionary* preprocessorMacros);
  void setPreserveInvariance(bool preserveInvariance);
};

class Library : public NS::Referencing<Library> {
 public:
  Device* device() const;
  NS::Array* functionNames() const;
  NS::String* installName() const;
  NS::String* label() const;
  // Nil where the text has no such kernel. A kernel that takes constants is not ready for a pipeline yet.
  Function* newFunction(const NS::String* functionName);
  // Nil and an error where the kernel is not there, a constant that it uses has no value, or one of another type.
  Function* newFunction(const NS::String* name, const MTL::FunctionConstantValues* constantValues, NS::Error** error);
  Function* newFunction(const MTL::FunctionDescriptor* descriptor, NS::Error** error);
  void setLabel(const NS::String* label);
  LibraryType type() const;
};

}  // namespace MTL
