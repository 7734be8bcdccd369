// PNG through libpng. libpng reports errors by longjmp: every function that sets a jump point keeps its C++ objects
// outside, in a struct that the caller owns.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "pipeline/image/codecs.h"

namespace chiaro {
namespace {

constexpr char kNoMemory[] = "no memory";

struct PngJob {
  std::vector<std::byte> out;     // writing
  std::span<const std::byte> in;  // reading
  size_t at = 0;
  std::string message;
  std::vector<png_text> text;
  PngText found;
};

PngJob& job_of(void* pointer) {
  return *static_cast<PngJob*>(pointer);
}

void on_error(png_structp png, png_const_charp message) {
  job_of(png_get_error_ptr(png)).message = message;
  longjmp(png_jmpbuf(png), 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_write(png_structp png, png_bytep data, size_t size) {
  auto& out = job_of(png_get_io_ptr(png)).out;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  bool room = true;
  try {
    out.insert(out.end(), bytes, bytes + size);
  } catch (const std::bad_alloc&) {  // must not fly through libpng's frames
    room = false;
  }
  if (!room) png_error(png, kNoMemory);
}
void on_flush(png_structp) {}

void on_read(png_structp png, png_bytep data, size_t size) {
  PngJob& job = job_of(png_get_io_ptr(png));
  if (size > job.in.size() - job.at) png_error(png, "the file ends early");
  std::memcpy(data, job.in.data() + job.at, size);
  job.at += size;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void add_text(PngJob& job, const PngText& text) {
  for (const auto& [keyword, value] : text) {
    png_text chunk{};
    chunk.compression = is_ascii(value) ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    chunk.key = const_cast<char*>(keyword.c_str());
    chunk.text = const_cast<char*>(value.c_str());
    chunk.text_length = value.size();
    chunk.itxt_length = chunk.compression == PNG_ITXT_COMPRESSION_NONE ? value.size() : 0;
    job.text.push_back(chunk);
  }
}

bool write_png(png_structp png, png_infop info, PngJob& job, int width, int height, const uint8_t* rgb) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, &job, on_write, on_flush);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!job.text.empty()) png_set_text(png, info, job.text.data(), static_cast<int>(job.text.size()));
  png_write_info(png, info);
  for (int y = 0; y < height; ++y) png_write_row(png, rgb + static_cast<size_t>(y) * static_cast<size_t>(width) * 3);
  png_write_end(png, info);
  return true;
}

bool read_text(png_structp png, png_infop info, PngJob& job) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &job, on_read);
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
  png_set_chunk_malloc_max(png, 16u << 20);
  png_read_info(png, info);
  png_textp text = nullptr;
  const int count = png_get_text(png, info, &text, nullptr);
  for (int i = 0; i < count; ++i) {
    const size_t size = text[i].compression > 0 ? text[i].itxt_length : text[i].text_length;
    job.found.emplace_back(text[i].key, std::string(text[i].text, size));
  }
  return true;
}

Error bad_png(std::string_view where, std::string why) {
  return {ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a readable PNG", std::move(why),
          "save the picture again, or use another file", std::string(where)};
}

}  // namespace

Result<std::vector<std::byte>> encode_png(int width, int height, std::span<const uint8_t> rgb, const PngText& text) {
  PngJob job;
  add_text(job, text);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (info == nullptr) {
    png_destroy_write_struct(&png, nullptr);
    return Error{ErrorCode::out_of_memory, "no memory to write a PNG", "", "", ""};
  }
  const bool ok = write_png(png, info, job, width, height, rgb.data());
  png_destroy_write_struct(&png, &info);
  if (!ok && job.message == kNoMemory) {
    return Error{ErrorCode::out_of_memory, "no memory to write a PNG", "", "make the picture smaller", ""};
  }
  if (!ok) return Error{ErrorCode::internal, "libpng could not encode the picture", job.message, "", ""};
  return std::move(job.out);
}

Status save_png(const std::filesystem::path& path, int width, int height, std::span<const uint8_t> rgb,
                const PngText& text) {
  CHIARO_ASSIGN(const std::vector<std::byte> bytes, encode_png(width, height, rgb, text));
  return write_file(path, bytes);
}

Result<Image> decode_png(std::span<const std::byte> bytes, std::string_view where) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return bad_png(where, png.message);
  if (auto size = check_image_size(png.width, png.height, bytes.size(), where); !size.ok()) {
    png_image_free(&png);
    return std::move(size).error();
  }
  const bool alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  png.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // without it, 16 bits a channel are taken for linear light
  Image image{static_cast<int>(png.width), static_cast<int>(png.height), {}};
  const size_t pixels = static_cast<size_t>(png.width) * png.height;
  image.rgb.resize(pixels * 3);
  std::vector<uint8_t> rgba(alpha ? pixels * 4 : 0);
  uint8_t* target = alpha ? rgba.data() : image.rgb.data();
  if (png_image_finish_read(&png, nullptr, target, 0, nullptr) == 0) return bad_png(where, png.message);
  if (alpha) flatten_on_white(rgba, image.rgb);
  return image;
}

Result<PngText> read_png_text(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path));
  PngJob job;
  job.in = file->bytes();
  if (job.in.size() < 8 || png_sig_cmp(reinterpret_cast<png_const_bytep>(job.in.data()), 0, 8) != 0) {
    return bad_png(path_to_utf8(path), "it does not begin like one");
  }
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool ok = info != nullptr && read_text(png, info, job);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!ok) return bad_png(path_to_utf8(path), job.message);
  return std::move(job.found);
}

}  // namespace chiaro
