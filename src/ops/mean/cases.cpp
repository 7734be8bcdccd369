#include "ops/conformance/cases.h"
#include "ops/mean/op.h"

namespace chiaro {

void cases_mean(Cases& cases) {
  cases.add<Mean>({}, {{.shape = {3, 5, 7}}}, 105).floor = 0.05;
  cases.add<Mean>({.axes = {-1}}, {{.shape = {2, 3, 5, 33}, .batch_dim = 0}}, 33);
  cases.add<Mean>({.axes = {1, 2}, .keepdims = false}, {{.shape = {2, 9, 11, 19}, .batch_dim = 0}}, 99);
  cases.add<Mean>({.axes = {0, 2}}, {{.shape = {4, 3, 6, 300}}}, 24);
  cases.add<Mean>({.axes = {-1}}, {{.shape = {2, 5000}, .batch_dim = 0}}, 5000).note = "longer than one piece";
  cases.add<Mean>({.axes = {-1}}, {{.shape = {2, 33000}, .batch_dim = 0}}, 33000).note = "several chunks on a GPU";
  cases.add<Mean>({.axes = {0}}, {{.shape = {1, 4}}}).note = "a mean over one element";
}

}  // namespace chiaro
