// JPEG through libjpeg. Its errors come by longjmp, so the objects that need destroying live in the caller's struct,
// and memory is taken where no frame of libjpeg lies between.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "pipeline/image/codecs.h"

namespace chiaro {
namespace {

struct JpegJob {
  JpegJob() = default;
  JpegJob(const JpegJob&) = delete;
  JpegJob& operator=(const JpegJob&) = delete;
  ~JpegJob() { jpeg_destroy_decompress(&info); }

  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* job = static_cast<JpegJob*>(info->client_data);
  info->err->format_message(info, job->message);
  std::longjmp(job->jump, 1);
}
void on_message(j_common_ptr) {}

// The functions with a jump point touch nothing that has a destructor; what has is made between them.
bool read_header(JpegJob& job, std::span<const std::byte> bytes) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_mem_src(&job.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&job.info, TRUE);
  job.info.out_color_space = JCS_RGB;
  return true;
}

bool read_rows(JpegJob& job, uint8_t* rgb) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_start_decompress(&job.info);
  const size_t row = static_cast<size_t>(job.info.output_width) * 3;
  while (job.info.output_scanline < job.info.output_height) {
    JSAMPROW line = rgb + row * job.info.output_scanline;
    jpeg_read_scanlines(&job.info, &line, 1);
  }
  jpeg_finish_decompress(&job.info);
  return job.errors.num_warnings == 0;
}

Error damaged(const JpegJob& job, std::string_view where) {
  return {ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a readable JPEG",
          job.message[0] != '\0' ? job.message : "the file is damaged", "save the picture again as PNG",
          std::string(where)};
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where) {
  JpegJob job;
  job.info.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = on_error;
  job.errors.output_message = on_message;
  jpeg_create_decompress(&job.info);
  job.info.client_data = &job;
  if (!read_header(job, bytes)) return damaged(job, where);
  CHIARO_TRY(check_image_size(job.info.image_width, job.info.image_height, bytes.size(), where));
  Image image{static_cast<int>(job.info.image_width), static_cast<int>(job.info.image_height), {}};
  image.rgb.resize(static_cast<size_t>(image.width) * static_cast<size_t>(image.height) * 3);
  if (!read_rows(job, image.rgb.data())) return damaged(job, where);
  return image;
}

}  // namespace chiaro
