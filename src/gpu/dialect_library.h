// What the dialect adds to its three languages, written in the dialect: element types decoded on load, and functions
// that Metal lacks.
#pragma once

// Small formats ------------------------------------------------------------------------------------------------------

GPU_FN float bf16_to_float(uint b) {
  return bits_to_float(b << 16);
}
// Rounds to nearest even; NaN stays NaN.
GPU_FN ushort float_to_bf16(float v) {
  const uint u = float_to_bits(v);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return ushort((u >> 16) | 0x40u);
  return ushort((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}
// OCP FP8 E4M3: no infinity, 0x7F and 0xFF are NaN. The bits below the sign, moved to a half's place, are the value
// times 2^-8 (biases 7 and 15), subnormals included.
GPU_FN float e4m3_to_float(uint b) {
  const float magnitude = float(bits_to_half((b & 0x7Fu) << 7)) * 256.0f;
  const float value = (b & 0x7Fu) == 0x7Fu ? bits_to_float(0x7FC00000u) : magnitude;
  return (b & 0x80u) != 0u ? -value : value;
}
// OCP FP8 E5M2: the upper byte of a half.
GPU_FN float e5m2_to_float(uint b) {
  return float(bits_to_half((b & 0xFFu) << 8));
}
GPU_FN float int8_to_float(uint b) {
  return float(int(b & 0xFFu) - ((b & 0x80u) != 0u ? 256 : 0));
}

// Elements of a type that a constant names ----------------------------------------------------------------------------

// Element i of x.
GPU_FN float load(DEVICE_PTR(const uchar) x, uint type, uint i GPU_WHERE) {
  if (type == GPU_F32) return DEVICE_PTR_CAST(const float, x)[GPU_AT(i)];
  if (type == GPU_F16) return float(half(DEVICE_PTR_CAST(const half, x)[GPU_AT(i)]));
  if (type == GPU_BF16) return bf16_to_float(DEVICE_PTR_CAST(const ushort, x)[GPU_AT(i)]);
  if (type == GPU_E4M3) return e4m3_to_float(x[GPU_AT(i)]);
  if (type == GPU_E5M2) return e5m2_to_float(x[GPU_AT(i)]);
  if (type == GPU_I8) return int8_to_float(x[GPU_AT(i)]);
  return float(int(DEVICE_PTR_CAST(const int, x)[GPU_AT(i)]));
}
// Elements i .. i+3. i and x's start are multiples of four elements; f32, f16, bf16 and the types of one byte.
GPU_FN float4 load4(DEVICE_PTR(const uchar) x, uint type, uint i GPU_WHERE) {
  if (type == GPU_F32) return DEVICE_PTR_CAST(const float4, x)[GPU_AT(i / 4u)];
  if (type == GPU_F16) return to_float4(DEVICE_PTR_CAST(const half4, x)[GPU_AT(i / 4u)]);
  if (type == GPU_BF16) {
    const uint2 v = DEVICE_PTR_CAST(const uint2, x)[GPU_AT(i / 4u)];
    return make_float4(bits_to_float(v.x << 16), bits_to_float(v.x & 0xFFFF0000u), bits_to_float(v.y << 16),
                       bits_to_float(v.y & 0xFFFF0000u));
  }
  const uint v = DEVICE_PTR_CAST(const uint, x)[GPU_AT(i / 4u)];
  if (type == GPU_E4M3) {
    return make_float4(e4m3_to_float(v), e4m3_to_float(v >> 8), e4m3_to_float(v >> 16), e4m3_to_float(v >> 24));
  }
  if (type == GPU_E5M2) {
    return make_float4(e5m2_to_float(v), e5m2_to_float(v >> 8), e5m2_to_float(v >> 16), e5m2_to_float(v >> 24));
  }
  return make_float4(int8_to_float(v), int8_to_float(v >> 8), int8_to_float(v >> 16), int8_to_float(v >> 24));
}
// Rounds to nearest even. f32, f16 or bf16.
GPU_FN void store(DEVICE_PTR(uchar) y, uint type, uint i, float v GPU_WHERE) {
  if (type == GPU_F32) {
    DEVICE_PTR_CAST(float, y)[GPU_AT(i)] = v;
  } else if (type == GPU_F16) {
    DEVICE_PTR_CAST(half, y)[GPU_AT(i)] = half(v);
  } else {
    DEVICE_PTR_CAST(ushort, y)[GPU_AT(i)] = float_to_bf16(v);
  }
}
// i and y's start are multiples of four elements.
GPU_FN void store4(DEVICE_PTR(uchar) y, uint type, uint i, float4 v GPU_WHERE) {
  if (type == GPU_F32) {
    DEVICE_PTR_CAST(float4, y)[GPU_AT(i / 4u)] = v;
  } else if (type == GPU_F16) {
    DEVICE_PTR_CAST(half4, y)[GPU_AT(i / 4u)] = to_half4(v);
  } else {
    uint2 b;
    b.x = uint(float_to_bf16(v.x)) | (uint(float_to_bf16(v.y)) << 16);
    b.y = uint(float_to_bf16(v.z)) | (uint(float_to_bf16(v.w)) << 16);
    DEVICE_PTR_CAST(uint2, y)[GPU_AT(i / 4u)] = b;
  }
}
// The bits of element i of a type of element_bytes 1, 2 or 4: for copies that must not change a NaN.
GPU_FN uint load_bits(DEVICE_PTR(const uchar) x, uint element_bytes, uint i GPU_WHERE) {
  if (element_bytes == 4u) return DEVICE_PTR_CAST(const uint, x)[GPU_AT(i)];
  if (element_bytes == 2u) return uint(ushort(DEVICE_PTR_CAST(const ushort, x)[GPU_AT(i)]));
  return uint(uchar(x[GPU_AT(i)]));
}
GPU_FN void store_bits(DEVICE_PTR(uchar) y, uint element_bytes, uint i, uint bits GPU_WHERE) {
  if (element_bytes == 4u) {
    DEVICE_PTR_CAST(uint, y)[GPU_AT(i)] = bits;
  } else if (element_bytes == 2u) {
    DEVICE_PTR_CAST(ushort, y)[GPU_AT(i)] = ushort(bits);
  } else {
    y[GPU_AT(i)] = uchar(bits);
  }
}
