// The Objective-C runtime as far as metal-cpp calls it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
typedef struct objc_class* Class;
typedef struct objc_object {
  Class isa;
} * id;
typedef struct objc_selector* SEL;
typedef struct objc_object Protocol;
typedef struct objc_method* Method;
typedef bool BOOL;
typedef void (*IMP)(void);

SEL sel_registerName(const char* name);
Class objc_lookUpClass(const char* name);
Class objc_getClass(const char* name);
Class object_getClass(id object);
Protocol* objc_getProtocol(const char* name);
Method class_getInstanceMethod(Class owner, SEL name);
BOOL class_addMethod(Class owner, SEL name, IMP code, const char* types);
BOOL class_respondsToSelector(Class owner, SEL name);
IMP method_getImplementation(Method method);
Method* class_copyMethodList(Class owner, unsigned int* count);
#ifdef __cplusplus
}
#endif
