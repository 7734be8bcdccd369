// One packed matrix product for linear layers and convolutions:
//
//   out[m, n] = activation(sum_k A[m, k] B[n, k] + bias[n]) * scale[m, n] + residual[m, n]
//
// A is an image [batch, in_h, in_w, channels] read through a window (implicit GEMM: no im2col matrix), of which a plain
// strided matrix is the case of a 1x1 window; row m = (b * out_h + y) * out_w + x, column k = (ky * kw + kx) * channels
// + c. B is [n, (ky, kx, c)] in any strides. Arithmetic is f32 whatever is stored.
//
// Determinism: element (m, n) is summed in an order that depends on K alone: blocks of gemm_kc(K) products, each one
// chain of fused multiply-adds (multiply, then add, on SSE4), block sums added in order. Rows, columns, batch, threads,
// edges of tiles do not matter, so picture i of a batch has the bits that it has alone. Products of at most four
// columns are summed otherwise, in one chain per vector lane along the channels of each tap, then over the lanes: again
// an order that depends on the shape of a row of A alone.
//
// Thread rule: gemm() may run concurrently on different scratch and pools. Nothing is allocated.
// Source of the blocking: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/thread_pool.h"
#include "ops/activation.h"

namespace chiaro {

// All strides count elements of the dtype; they may be 0 or negative. dtype: f32 f16 bf16 f8_e4m3 f8_e5m2 i8.
struct GemmA {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t batch_stride = 0, y_stride = 0, x_stride = 0, c_stride = 1;
  int64_t in_h = 1, in_w = 1, channels = 1;
  int64_t kh = 1, kw = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0, dilation_h = 1, dilation_w = 1;
  int64_t out_h = 1, out_w = 1;
  int64_t k() const { return kh * kw * channels; }
};

// B[n, (ky, kx, c)] = data[n * n_stride + ky * ky_stride + kx * kx_stride + c * c_stride]. Of a block type, `data` is a
// dense run of blocks, and B[n, ...] its elements from n * n_stride on in the order (c, ky, kx) of a checkpoint's row.
struct GemmB {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t n_stride = 0, c_stride = 1, ky_stride = 0, kx_stride = 0;
  // Result of gemm_pack_b for the same dtype, n and window, read instead of data.
  const std::byte* packed = nullptr;
};

// A matrix over the rows of A: element (m = (b, y, x), n) at b * batch_stride + y * y_stride + x * x_stride + n *
// c_stride.
struct GemmMap {
  DType dtype = DType::f32;
  int64_t batch_stride = 0, y_stride = 0, x_stride = 0, c_stride = 1;
};

struct GemmProblem {
  int64_t batch = 1, n = 0;
  GemmA a;
  GemmB b;
  const void* bias = nullptr;  // [n] or null
  DType bias_dtype = DType::f32;
  int64_t bias_stride = 1;
  Activation activation = Activation::none;
  const void* scale = nullptr;  // null: none. Strides of 0 stretch it. May be the memory of `out`, element by element.
  GemmMap scale_map;
  const void* residual = nullptr;  // null: none. May be the memory of `out`, element by element.
  GemmMap residual_map;
  void* out = nullptr;  // f32, f16 or bf16. Written only, never read.
  GemmMap out_map;
  int64_t m() const { return batch * a.out_h * a.out_w; }
};

// A [m, k] matrix as GemmA (a.out_w = m).
GemmA gemm_matrix(const void* data, DType dtype, int64_t m, int64_t k, int64_t row_stride, int64_t column_stride);

// Depth of one block of the sum over k.
int64_t gemm_kc(int64_t k);
// Whether B may be packed once in (nearly) its own bytes: of a block type, where rows are whole blocks.
bool gemm_packs(const GemmProblem& problem);
// Whether packed B is multiplied as it is. Blocks keep the order (c, ky, kx) of the file, by which the panels of
// windows larger than 1x1 have to be made anew at every call.
bool gemm_reads_packed(const GemmProblem& problem);
// Scratch of gemm() for this size, for at most `threads` workers; `packed`: B comes packed and is read as it is.
size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int threads, bool packed = false);
// Scratch that is enough for each number of rows from 1 to `rows`: fewer rows may pack more of B at once. `matrix`: a
// product of plain matrices, its rows whatever they are.
size_t gemm_scratch_bytes_up_to(int64_t rows, const GemmProblem& matrix, int threads, bool packed);

// `scratch`: gemm_scratch_bytes bytes aligned to 64, any contents. Stops early once *cancel is true (out is then
// unfinished). Sizes of zero are allowed: k = 0 gives activation(bias) * scale + residual.
void gemm(const GemmProblem& problem, std::byte* scratch, ThreadPool& pool, const std::atomic<bool>* cancel = nullptr);

// The whole of B in panels, made once where gemm_packs(), to be given as GemmB::packed in this process. Panels keep the
// dtype of B (blocks as block_panel.h has them), which the product turns into f32 in registers where there are few
// rows, else panel by panel in the cache: the same sums, bit by bit, in no more memory. They are f32 where there are so
// few columns that the memory does not matter.
DType gemm_packed_dtype(const GemmProblem& problem);
size_t gemm_packed_b_bytes(const GemmProblem& problem);
// Names the layout: equal names are equal bytes of one B read through one window.
std::string gemm_packed_layout(const GemmProblem& problem);
void gemm_pack_b(const GemmProblem& problem, std::byte* packed, ThreadPool& pool,
                 const std::atomic<bool>* cancel = nullptr);

}  // namespace chiaro
