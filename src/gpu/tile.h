// Tiles of a matrix product, for matmul and conv2d: a threadgroup makes 32x32 results from 16 columns of x and b at a
// time, which stand in threadgroup memory in f32. Sums are f32, in the order of k.
#pragma once

#include "gpu/blocks.h"
#include "gpu/dialect.h"

GPU_CONST(uint, TILE) = 32u;
GPU_CONST(uint, DEPTH) = 16u;
GPU_CONST(uint, PITCH) = 33u;  // floats from one k to the next in tile_multiply's tiles: no two threads share a bank

// 64 threads of 4x4 results. xs, bs: [16][33], k first. `sum` has 16 floats, row by row; the thread's first row and
// column are `r` and `c`.
GPU_FN void tile_multiply(GROUP_PTR(float) xs, GROUP_PTR(float) bs, THREAD_PTR(float) sum, uint r, uint c) {
  for (uint k = 0u; k < DEPTH; ++k) {
    float bv[4];
    for (uint j = 0u; j < 4u; ++j) bv[j] = bs[k * PITCH + c + j];
    for (uint i = 0u; i < 4u; ++i) {
      const float xv = xs[k * PITCH + r + i];
      for (uint j = 0u; j < 4u; ++j) sum[4u * i + j] = fma(xv, bv[j], sum[4u * i + j]);
    }
  }
}

// The tile of a weight in blocks, to bs[k * pitch + column]: columns `row` elements apart from element `first` on, of
// which `columns` are there; 0 in the rest. `first` is a multiple of DEPTH; a row holds whole blocks, so DEPTH
// elements.
GPU_FN void tile_load_blocks(GROUP_PTR(float) bs, DEVICE_PTR(const uchar) w, uint type, uint first, uint row,
                             uint columns, uint pitch, uint thread_index, uint threads) {
  for (uint i = thread_index; i < TILE * DEPTH / 4u; i += threads) {
    const uint column = i / (DEPTH / 4u);
    const uint k = i % (DEPTH / 4u) * 4u;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (column < columns) v = load_block4(w, type, first + column * row + k);
    bs[k * pitch + column] = v.x;
    bs[(k + 1u) * pitch + column] = v.y;
    bs[(k + 2u) * pitch + column] = v.z;
    bs[(k + 3u) * pitch + column] = v.w;
  }
}

// Four simdgroups of 16x16 results, as four matrices each.
struct TileSums {
  SIMD_MATRIX(float) s00;
  SIMD_MATRIX(float) s01;
  SIMD_MATRIX(float) s10;
  SIMD_MATRIX(float) s11;
};

GPU_FN void tile_clear(THREAD_REF(TileSums) t) {
  t.s00 = SIMD_MATRIX_ZERO(float);
  t.s01 = SIMD_MATRIX_ZERO(float);
  t.s10 = SIMD_MATRIX_ZERO(float);
  t.s11 = SIMD_MATRIX_ZERO(float);
}

// xs: [32][16], row first; bs: [16][32], k first; the simdgroup's first row and column are `r` and `c`.
GPU_FN void tile_multiply_simd(GROUP_PTR(float) xs, GROUP_PTR(float) bs, THREAD_REF(TileSums) t, uint r, uint c) {
  for (uint k = 0u; k < DEPTH; k += 8u) {
    SIMD_MATRIX(float) x0;
    SIMD_MATRIX(float) x1;
    SIMD_MATRIX(float) b0;
    SIMD_MATRIX(float) b1;
    simdgroup_load(x0, xs + (r * DEPTH + k), DEPTH);
    simdgroup_load(x1, xs + ((r + 8u) * DEPTH + k), DEPTH);
    simdgroup_load(b0, bs + (k * TILE + c), TILE);
    simdgroup_load(b1, bs + (k * TILE + c + 8u), TILE);
    simdgroup_multiply_accumulate(t.s00, x0, b0, t.s00);
    simdgroup_multiply_accumulate(t.s01, x0, b1, t.s01);
    simdgroup_multiply_accumulate(t.s10, x1, b0, t.s10);
    simdgroup_multiply_accumulate(t.s11, x1, b1, t.s11);
  }
}

// ys: [32][32].
GPU_FN void tile_store_simd(GROUP_PTR(float) ys, THREAD_REF(TileSums) t, uint r, uint c) {
  simdgroup_store(t.s00, ys + (r * TILE + c), TILE);
  simdgroup_store(t.s01, ys + (r * TILE + c + 8u), TILE);
  simdgroup_store(t.s10, ys + ((r + 8u) * TILE + c), TILE);
  simdgroup_store(t.s11, ys + ((r + 8u) * TILE + c + 8u), TILE);
}
