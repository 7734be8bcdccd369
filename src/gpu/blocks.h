// Weights in block formats, decoded on load; written in the dialect. core/block_formats_*.cpp say what the formats are
// and are the model for the values, to the bit in f32.
//
// Elements are numbered along a dense run of blocks. Bytes are read one at a time: blocks of 17, 18 or 210 bytes lie at
// any alignment. Every format is x = s * code - m with one s and m for 16 or more neighbours. The product is exact in
// f32 (at most 11 + 6 + 7 bits), so a compiler that contracts it with the difference changes nothing.
#pragma once

#include "gpu/dialect.h"

GPU_FN uint block_elements(uint type) {
  if (type == GPU_NVFP4) return 64u;
  return (type >= GPU_Q2_K && type <= GPU_Q6_K) || type == GPU_IQ4_XS ? 256u : 32u;
}
GPU_FN uint block_bytes(uint type) {
  if (type == GPU_Q4_0 || type == GPU_IQ4_NL) return 18u;
  if (type == GPU_Q4_1) return 20u;
  if (type == GPU_Q5_0) return 22u;
  if (type == GPU_Q5_1) return 24u;
  if (type == GPU_Q8_0) return 34u;
  if (type == GPU_Q2_K) return 84u;
  if (type == GPU_Q3_K) return 110u;
  if (type == GPU_Q4_K) return 144u;
  if (type == GPU_Q5_K) return 176u;
  if (type == GPU_Q6_K) return 210u;
  if (type == GPU_IQ4_XS) return 136u;
  return type == GPU_MXFP4 ? 17u : 36u;
}

GPU_FN uint block_byte(DEVICE_PTR(const uchar) x, uint i GPU_WHERE) {
  return uint(uchar(x[GPU_AT(i)]));
}
GPU_FN float block_half(DEVICE_PTR(const uchar) x, uint i GPU_WHERE) {
  const uint low = uint(uchar(x[GPU_AT(i)]));
  return float(bits_to_half(low | (uint(uchar(x[GPU_AT(i + 1u)])) << 8)));
}

// Scales
// ---------------------------------------------------------------------------------------------------------------

// Scale (x) and minimum (y) of group g of Q4_K and Q5_K, whose twelve bytes begin at `at`.
GPU_FN uint2 block_six_bits(DEVICE_PTR(const uchar) x, uint at, uint g) {
  uint2 r;
  if (g < 4u) {
    r.x = block_byte(x, at + g) & 63u;
    r.y = block_byte(x, at + g + 4u) & 63u;
  } else {
    const uint low = block_byte(x, at + g + 4u);
    r.x = (low & 15u) | ((block_byte(x, at + g - 4u) >> 6) << 4);
    r.y = (low >> 4) | ((block_byte(x, at + g) >> 6) << 4);
  }
  return r;
}
// Group g of Q3_K, whose twelve bytes begin at `at`.
GPU_FN float block_q3_scale(DEVICE_PTR(const uchar) x, uint at, uint g) {
  const uint low = (block_byte(x, at + (g & 7u)) >> (g / 8u * 4u)) & 15u;
  const uint high = (block_byte(x, at + 8u + (g & 3u)) >> (g / 4u * 2u)) & 3u;
  return float(int(low | (high << 4)) - 32);
}
GPU_FN float block_iq4_scale(DEVICE_PTR(const uchar) x, uint at, uint part) {
  const uint low = (block_byte(x, at + 4u + part / 2u) >> (part % 2u * 4u)) & 15u;
  const uint high = (block_byte(x, at + 2u + part / 4u) >> (part % 4u * 2u)) & 3u;
  return float(int(low | (high << 4)) - 32);
}
// Half of 2^(e - 127): codes of MXFP4 stand for doubled values. Below e = 2 an f32 subnormal.
GPU_FN float block_e8m0_half(uint e) {
  return bits_to_float(e < 2u ? 0x00200000u << e : (e - 1u) << 23);
}
// Half of an E4M3 without sign, whose NaN is 0.
GPU_FN float block_e4m3_half(uint code) {
  const uint exponent = (code >> 3) & 15u;
  const uint mantissa = code & 7u;
  if (code == 0x7Fu) return 0.0f;
  if (exponent == 0u) return float(mantissa) * 0.0009765625f;  // 2^-10
  return bits_to_float(((exponent + 119u) << 23) | (mantissa << 20));
}

// s and m of element j of the block at byte `at`.
GPU_FN float2 block_scale(DEVICE_PTR(const uchar) x, uint type, uint at, uint j) {
  if (type == GPU_Q4_1 || type == GPU_Q5_1) return make_float2(block_half(x, at), -block_half(x, at + 2u));
  if (type == GPU_Q2_K) {
    const uint scale = block_byte(x, at + j / 16u);
    return make_float2(block_half(x, at + 80u) * float(scale & 15u), block_half(x, at + 82u) * float(scale >> 4));
  }
  if (type == GPU_Q4_K || type == GPU_Q5_K) {
    const uint2 group = block_six_bits(x, at + 4u, j / 32u);
    return make_float2(block_half(x, at) * float(group.x), block_half(x, at + 2u) * float(group.y));
  }
  if (type == GPU_Q3_K) return make_float2(block_half(x, at + 108u) * block_q3_scale(x, at + 96u, j / 16u), 0.0f);
  if (type == GPU_Q6_K) {
    return make_float2(block_half(x, at + 208u) * int8_to_float(block_byte(x, at + 192u + j / 16u)), 0.0f);
  }
  if (type == GPU_IQ4_XS) return make_float2(block_half(x, at) * block_iq4_scale(x, at, j / 32u), 0.0f);
  if (type == GPU_MXFP4) return make_float2(block_e8m0_half(block_byte(x, at)), 0.0f);
  if (type == GPU_NVFP4) return make_float2(block_e4m3_half(block_byte(x, at + j / 16u)), 0.0f);
  return make_float2(block_half(x, at), 0.0f);
}

// Codes
// ----------------------------------------------------------------------------------------------------------------

// The uneven steps of IQ4: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113; four to a word.
GPU_FN float block_iq4_step(uint q) {
  const uint low = q < 4u ? 0xBFAD9881u : 0xF6EADDCFu;
  const uint high = q < 12u ? 0x26190D01u : 0x71594535u;
  return int8_to_float((q < 8u ? low : high) >> ((q & 3u) * 8u));
}
// E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives; -0 is +0.
GPU_FN float block_e2m1_doubled(uint q) {
  const uint e = (q >> 1) & 3u;
  const int magnitude = int(e == 0u ? q & 1u : (2u | (q & 1u)) << (e - 1u));
  return float((q & 8u) != 0u ? -magnitude : magnitude);
}

// Element j of the block at byte `at`, of the formats with one nibble: in the low half of a byte for the first half of
// a group, in the high half for the second. Q5_0 and Q5_1 have a fifth bit in four bytes of their own.
GPU_FN float block_nibble(DEVICE_PTR(const uchar) x, uint type, uint at, uint j) {
  const uint l = j % 32u;
  if (type == GPU_NVFP4) {
    return block_e2m1_doubled((block_byte(x, at + 4u + j / 16u * 8u + j % 8u) >> (j / 8u % 2u * 4u)) & 15u);
  }
  uint codes = at + 2u;
  if (type == GPU_Q4_1) codes = at + 4u;
  if (type == GPU_Q5_0) codes = at + 6u;
  if (type == GPU_Q5_1) codes = at + 8u;
  if (type == GPU_IQ4_XS) codes = at + 8u + j / 32u * 16u;
  if (type == GPU_MXFP4) codes = at + 1u;
  const uint q = (block_byte(x, codes + l % 16u) >> (l / 16u * 4u)) & 15u;
  if (type == GPU_IQ4_NL || type == GPU_IQ4_XS) return block_iq4_step(q);
  if (type == GPU_MXFP4) return block_e2m1_doubled(q);
  if (type == GPU_Q5_0) return float(int(q | (((block_byte(x, at + 2u + l / 8u) >> (l % 8u)) & 1u) << 4)) - 16);
  if (type == GPU_Q5_1) return float(q | (((block_byte(x, at + 4u + l / 8u) >> (l % 8u)) & 1u) << 4));
  return type == GPU_Q4_0 ? float(int(q) - 8) : float(q);
}

GPU_FN float block_code(DEVICE_PTR(const uchar) x, uint type, uint at, uint j) {
  const uint part = j / 32u;
  const uint l = j % 32u;
  if (type == GPU_Q8_0) return int8_to_float(block_byte(x, at + 2u + l));
  if (type == GPU_Q2_K) return float((block_byte(x, at + 16u + part / 4u * 32u + l) >> (part % 4u * 2u)) & 3u);
  if (type == GPU_Q3_K) {
    const uint low = (block_byte(x, at + 32u + part / 4u * 32u + l) >> (part % 4u * 2u)) & 3u;
    const uint high = (block_byte(x, at + l) >> part) & 1u;  // 0: four less
    return float(int(low + high * 4u) - 4);
  }
  if (type == GPU_Q4_K) return float((block_byte(x, at + 16u + part / 2u * 32u + l) >> (part % 2u * 4u)) & 15u);
  if (type == GPU_Q5_K) {
    const uint low = (block_byte(x, at + 48u + part / 2u * 32u + l) >> (part % 2u * 4u)) & 15u;
    return float(low | (((block_byte(x, at + 16u + l) >> part) & 1u) << 4));
  }
  if (type == GPU_Q6_K) {
    const uint low = (block_byte(x, at + part / 4u * 64u + part % 2u * 32u + l) >> (part % 4u / 2u * 4u)) & 15u;
    const uint high = (block_byte(x, at + 128u + part / 4u * 32u + l) >> (part % 4u * 2u)) & 3u;
    return float(int(low | (high << 4)) - 32);
  }
  return block_nibble(x, type, at, j);
}

// Elements
// -------------------------------------------------------------------------------------------------------------

// Element i of a run of blocks, or of a plain type.
GPU_FN float load_weight(DEVICE_PTR(const uchar) x, uint type, uint i) {
  if (type < GPU_Q4_0) return load(x, type, i);
  const uint at = i / block_elements(type) * block_bytes(type);
  const uint j = i % block_elements(type);
  const float2 scale = block_scale(x, type, at, j);
  return scale.x * block_code(x, type, at, j) - scale.y;
}
// Elements i .. i+3 of a run of blocks; i is a multiple of four.
GPU_FN float4 load_block4(DEVICE_PTR(const uchar) x, uint type, uint i) {
  const uint at = i / block_elements(type) * block_bytes(type);
  const uint j = i % block_elements(type);
  const float2 scale = block_scale(x, type, at, j);
  return make_float4(
      scale.x * block_code(x, type, at, j) - scale.y, scale.x * block_code(x, type, at, j + 1u) - scale.y,
      scale.x * block_code(x, type, at, j + 2u) - scale.y, scale.x * block_code(x, type, at, j + 3u) - scale.y);
}
