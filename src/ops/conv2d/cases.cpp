#include "ops/conformance/cases.h"
#include "ops/conv2d/op.h"

namespace chiaro {
namespace {

CaseInput image(const Shape& shape) {
  return {.shape = shape, .batch_dim = 0};
}
CaseInput weight(const Shape& shape) {
  return {.shape = shape, .weight = true};
}

void add_conv(Cases& cases, const Conv2d::Attrs& attrs, const Shape& x, const Shape& w, std::string note) {
  Case& c = cases.add<Conv2d>(attrs, {image(x), weight(w)}, w[1] * w[2] * w[3]);
  c.floor = 1;
  c.note = std::move(note);
}

void windows(Cases& cases) {
  const Conv2d::Attrs same{.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  add_conv(cases, same, {2, 7, 9, 5}, {6, 5, 3, 3}, "3x3, same size");
  add_conv(cases, same, {2, 6, 5, 33}, {35, 33, 3, 3}, "odd channels");
  add_conv(cases, same, {2, 5, 4, 130}, {3, 130, 3, 3}, "few outputs (the VAE's last layer)");
  add_conv(cases, same, {2, 8, 6, 4}, {64, 4, 3, 3}, "few inputs (the UNet's first layer)");
  add_conv(cases, {}, {2, 5, 6, 40}, {24, 40, 1, 1}, "1x1");
  add_conv(cases, {}, {2, 1, 1, 3}, {2, 3, 1, 1}, "one pixel");
  add_conv(cases, {.stride_h = 2, .stride_w = 2, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1},
           {2, 9, 8, 6}, {7, 6, 3, 3}, "stride 2");
  add_conv(cases, {.stride_h = 2, .stride_w = 2, .pad_bottom = 1, .pad_right = 1}, {2, 8, 8, 6}, {7, 6, 3, 3},
           "padding below and right only (the VAE encoder)");
  add_conv(cases, {.stride_h = 1, .stride_w = 3, .pad_top = 2, .pad_left = 1, .dilation_h = 2, .dilation_w = 1},
           {2, 9, 11, 3}, {5, 3, 3, 2}, "dilation, unequal strides, a 3x2 window");
  add_conv(cases, {.stride_h = 14, .stride_w = 14}, {2, 28, 28, 3}, {10, 3, 14, 14}, "patches");
}

}  // namespace

void cases_conv2d(Cases& cases) {
  windows(cases);
  const Conv2d::Attrs same{.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  cases.add<Conv2d>(same, {image({2, 4, 5, 8}), weight({9, 8, 3, 3}), {.shape = {9}}}, 72).note = "bias";
  for (const auto& [act, text] : kActivationNames) {
    Conv2d::Attrs attrs = same;
    attrs.act = act;
    Case& c = cases.add<Conv2d>(
        attrs, {image({2, 4, 5, 8}), weight({9, 8, 3, 3}), {.shape = {9}}, {.shape = {2, 4, 5, 9}, .batch_dim = 0}},
        72);
    c.floor = 1;
    c.note = "bias, activation, residual";
  }
  for (const DType dtype : block_types()) {
    CaseInput blocks = weight({32, 8, 3, 3});  // a dense run of blocks, which end within rows
    blocks.dtype = dtype;
    CaseInput x = image({2, 5, 6, 8});
    x.fixed_layout = dtype != DType::q8_0 && dtype != DType::q4_k;  // one of each kind of block takes all layouts
    Case& c = cases.add<Conv2d>(same, {x, blocks}, 72);
    c.floor = 1;
    c.note = "blocks";
  }
}

}  // namespace chiaro
