/* Chiaro from C (C11): load a model, make pictures, follow and stop a run.
 *
 *   chiaro_load_options options;
 *   chiaro_init_load_options(&options, sizeof options);
 *   options.model = "models/tiny";
 *   chiaro_session* session = NULL;
 *   chiaro_error* error = chiaro_load(&options, &session);
 *   if (error) { fprintf(stderr, "%s\n", error->what); chiaro_free_error(error); return 1; }
 *
 *   chiaro_request request;
 *   chiaro_init_request(&request, sizeof request);
 *   request.prompt = "a red apple on a blue background";
 *   chiaro_pictures* pictures = NULL;
 *   error = chiaro_generate(session, &request, &pictures);
 *   if (!error) error = chiaro_save_png(pictures, 0, "apple.png");
 *   ...
 *   chiaro_free_error(error);
 *   chiaro_free_pictures(pictures);
 *   chiaro_free_session(session);
 *
 * Errors: a function that can fail returns NULL, or an error that the caller frees; then its out-argument is NULL.
 * Nothing throws, nothing ends the process.
 * Ownership: what the library returns is freed by the function named beside it, once; every free function takes NULL.
 * What the caller passes in is read during the call only, but for a load's log function, which lives as long as the
 * session.
 * Thread rule: one chiaro_generate at a time for each session, a second call waits; several sessions may run at once.
 * chiaro_cancel may be called from any thread and from a signal handler. Callbacks run on the thread that called
 * chiaro_generate (log: on any thread) and must not call back into their session, chiaro_cancel excepted.
 * Text is UTF-8 and ends in a NUL.
 * Structs that the caller makes hold a choice as an int, which can be any number and is checked, not as an enum.
 * Growth: structs that the caller makes begin with their size as the caller knows it; fields are only ever added at the
 * end. Structs that the library makes may grow at the end too: never copy them by value. */
#ifndef CHIARO_CHIARO_C_H
#define CHIARO_CHIARO_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0"; never freed. */
const char* chiaro_version(void);

typedef enum chiaro_code {
  CHIARO_USAGE = 1,     /* a wrong argument or request */
  CHIARO_BAD_FILE,      /* a model or config that is malformed or does not fit */
  CHIARO_UNSUPPORTED,   /* valid, but nothing takes it */
  CHIARO_SHAPE,         /* shapes that do not go together */
  CHIARO_DTYPE,         /* element types that do not go together */
  CHIARO_OWNERSHIP,     /* memory used by a device that may not address it */
  CHIARO_NON_FINITE,    /* NaN or infinity in a latent or a picture */
  CHIARO_OUT_OF_MEMORY, /* an allocation was refused */
  CHIARO_IO,            /* reading or writing failed */
  CHIARO_CANCELLED,     /* chiaro_cancel was called */
  CHIARO_INTERNAL       /* our own mistake */
} chiaro_code;

typedef struct chiaro_error {
  chiaro_code code;
  const char* what;  /* one line: what refuses what */
  const char* why;   /* the values that led to it; "" where there is nothing to say */
  const char* mend;  /* what the user can do; may be "" */
  const char* where; /* tensor, file or stage; may be "" */
} chiaro_error;
void chiaro_free_error(chiaro_error* error);

/* Loading ---------------------------------------------------------------------------------------------------------- */

typedef struct chiaro_session chiaro_session;

typedef enum chiaro_severity {
  CHIARO_LOG_DEBUG = 0,
  CHIARO_LOG_INFO,
  CHIARO_LOG_NOTICE,
  CHIARO_LOG_WARNING,
  CHIARO_LOG_ERROR
} chiaro_severity;

typedef struct chiaro_load_options {
  size_t size;                     /* set by chiaro_init_load_options */
  const char* model;               /* a diffusers folder or a single checkpoint file */
  int threads;                     /* 0: one per available core */
  const char* precision;           /* of activations: "auto", "f32", "f16", "bf16"; NULL: "auto" */
  int fuse;                        /* 0: run the models op by op, as they are written */
  const char* const* disabled_ops; /* "OP" or "OP@DEVICE"; NULL where disabled_op_count is 0 */
  size_t disabled_op_count;
  /* Log lines; NULL: silent. One line at a time. */
  void (*log)(void* log_data, chiaro_severity severity, const char* category, const char* line);
  void* log_data;
  int log_level; /* a chiaro_severity: the least that is passed on */
  /* Devices in order of preference, each with its options: "cpu", "isolated:NAME[,budget=64M][,no=OP]" (for tests).
   * NULL: the CPU, and what `backend` names. The CPU is always among them. */
  const char* devices;
  /* What runs where: "te=cpu,diffusion=isolated:a&cpu,vae=cpu", "all=DEVICE", "weight:PATTERN=DEVICE" (* and ?); &: a
   * module's layers are split by free memory. A preference: what a device cannot run moves to another, with a notice.
   * NULL: devices in their order. Errors: USAGE, with the modules or devices that there are. */
  const char* backend;
  /* Parts of a model in files or component folders of their own; they win over `model`, which may be NULL where they
   * are all there. NULL: none. */
  const char *diffusion_model, *vae, *clip_l, *llm, *taesd;
  /* A folder, made where it is missing, for cache files of weights in the layout that kernels read: written once,
   * mapped by every later session of any process. Changes no byte of a picture. NULL: none. */
  const char* weight_cache;
} chiaro_load_options;

/* Sets every field to its default; `size` is sizeof(chiaro_load_options). */
void chiaro_init_load_options(chiaro_load_options* options, size_t size);
/* Errors: BAD_FILE, IO, UNSUPPORTED, OUT_OF_MEMORY, USAGE. The session is freed by chiaro_free_session. */
chiaro_error* chiaro_load(const chiaro_load_options* options, chiaro_session** session);
/* Not while a chiaro_generate of this session runs. Pictures live on. */
void chiaro_free_session(chiaro_session* session);

/* Bytes that the session holds between runs, to be faster the next time; chiaro_trim gives them back. */
int64_t chiaro_held_bytes(const chiaro_session* session);
void chiaro_trim(chiaro_session* session);

/* Generating ------------------------------------------------------------------------------------------------------- */

typedef enum chiaro_stage {
  CHIARO_STAGE_LOAD = 0,
  CHIARO_STAGE_ENCODE,
  CHIARO_STAGE_SAMPLE,
  CHIARO_STAGE_DECODE,
  CHIARO_STAGE_SAVE
} chiaro_stage;

typedef struct chiaro_progress {
  chiaro_stage stage;
  int picture, pictures; /* the first picture of the group being computed, and how many there will be */
  int step, steps;       /* of this stage; of decoding: pictures, or their tiles */
  double seconds;        /* since this stage began */
  int64_t cache_written; /* while a cache file of weights is written: of so many bytes so many are; else 0 */
  int64_t cache_bytes;
} chiaro_progress;

typedef struct chiaro_picture {
  int width, height;
  uint64_t seed;
  const uint8_t* rgb; /* width * height * 3 bytes, row by row */
  size_t rgb_size;
} chiaro_picture;

typedef enum chiaro_tiling {
  CHIARO_TILING_AUTO = 0, /* where the whole picture does not fit the devices' budgets, or memory runs out */
  CHIARO_TILING_ON,
  CHIARO_TILING_OFF /* never: running out of memory is then an error */
} chiaro_tiling;

typedef struct chiaro_request {
  size_t size;                 /* set by chiaro_init_request */
  const char* prompt;          /* for CLIP: (word:1.2), [word], BREAK */
  const char* negative_prompt; /* NULL: none */
  int width, height;           /* pixels; 0: what the model was trained at */
  int steps;                   /* the model's own unless changed */
  double cfg_scale;            /* likewise; 1: no guidance */
  uint64_t seed;
  int random_seed;             /* not 0: draw a seed; the picture says which */
  int batch_count;             /* picture i uses seed + i */
  int batch_size;              /* pictures computed together; changes speed and memory, never a byte */
  const char* sampling_method; /* NULL: what the model names */
  const char* schedule;        /* NULL, "discrete" or "karras" */
  const char* rng;             /* NULL, "cuda" or "cpu": whose random numbers a seed gives */
  double eta;                  /* of ancestral samplers */
  int clip_skip;               /* 0 or 1: the last layer; 2: the one before */
  int strict;                  /* not 0: no retry in f32 of a stage that is not finite */
  void* user_data;             /* passed to the callbacks */
  void (*on_progress)(void* user_data, const chiaro_progress* progress); /* may be NULL */
  /* As soon as a picture is finished: it is not lost by a later error or cancel. Valid during the call. May be NULL. */
  void (*on_picture)(void* user_data, int index, const chiaro_picture* picture);
  double flow_shift; /* above 0: of models of flows, in place of their own */
  /* The decoder in overlapping tiles: less memory, and other bytes. */
  int vae_tiling;                      /* a chiaro_tiling */
  int vae_tile_width, vae_tile_height; /* latents, 4 or more; 0: 64, or less where that does not fit either */
  double vae_tile_overlap;             /* the least part of a tile that the next one shares, 0 to 0.5 */
} chiaro_request;

typedef struct chiaro_pictures chiaro_pictures;

/* Sets every field to its default; `size` is sizeof(chiaro_request). */
void chiaro_init_request(chiaro_request* request, size_t size);
/* Errors: USAGE, OUT_OF_MEMORY, NON_FINITE, CANCELLED, INTERNAL. After any of them the session is as before and the
 * next call is right. The pictures are freed by chiaro_free_pictures. */
chiaro_error* chiaro_generate(chiaro_session* session, const chiaro_request* request, chiaro_pictures** pictures);
/* Stops the chiaro_generate that is running, within a kernel; it returns CANCELLED. Without one: no effect. */
void chiaro_cancel(chiaro_session* session);

size_t chiaro_picture_count(const chiaro_pictures* pictures);
/* Valid as long as `pictures`; NULL where there is no such picture. */
const chiaro_picture* chiaro_picture_at(const chiaro_pictures* pictures, size_t index);
/* What was cut, ignored or computed again, a sentence each. */
size_t chiaro_notice_count(const chiaro_pictures* pictures);
const char* chiaro_notice_at(const chiaro_pictures* pictures, size_t index);
/* Writes a picture as PNG, with the request in its text chunks. The file appears whole or not at all.
 * Errors: USAGE (no such picture), IO. */
chiaro_error* chiaro_save_png(const chiaro_pictures* pictures, size_t index, const char* path);
void chiaro_free_pictures(chiaro_pictures* pictures);

#ifdef __cplusplus
}
#endif

#endif
