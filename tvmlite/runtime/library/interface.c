/* The C interface of a compiled model: arrays are DLPack's DLTensor, and are checked before anything runs.
 *
 * The arrays of a library and the CPU levels for which it has code are described by tables of the structures
 * below, which te/codegen/library_ir.py generates. The functions here read them. This file is compiled for the
 * baseline processor of its architecture, as it detects the features of the actual one.
 *
 * The text of an error and the scratch memory belong to the calling thread. No lock is held while a model runs.
 * C99 with the atomics and thread-local variables of GCC and Clang.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

typedef struct {
    int32_t device_type, device_id;
} DLDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

enum { ON_CPU = 1 }; /* kDLCPU */
enum { WRONG_ARGUMENT = -1, TOO_SMALL = -2, NO_MEMORY = -3, WRONG_PROCESSOR = -4 };
enum { ARRAY, SCALAR, FOUND }; /* kinds: a scalar is passed by value; FOUND: data-dependent, in the workspace */
enum { COMPUTED = -1, FIRST_SIZE = -2 }; /* extents: computed by NAME_shapes; equal to size k: FIRST_SIZE - k */

typedef struct {
    const char *name, *dtype;
    const int64_t *extents;
    int32_t ndim, code, bits, bytes;
    int32_t kind;
    int32_t in_place; /* the input whose memory an output shares, or negative */
    int32_t first;    /* the position of its first extent in the result of `shapes` */
    int32_t size;     /* for a scalar: the size that it gives, or negative */
} Array;

typedef struct {
    const char *name;
    uint32_t leaf, subleaf, part, bit; /* in CPUID, or in the kernel's auxiliary vector: (type, 0, 0, bit) */
    uint32_t state;                    /* the registers that the system must save, as bits of XCR0 */
    uint32_t tiles;                    /* whether permission must be requested from the system */
} Feature;

typedef struct {
    const char *name;
    const Feature *features;
    int32_t (*call)(void *const *arrays, const int64_t *sizes, void *workspace, int64_t threads,
                    int64_t *dynamic_outputs, int64_t capacity);
    int32_t (*shapes)(int64_t *out, int64_t threads, const int64_t *sizes); /* null: all is static */
    const int32_t *codes; /* the library's code for each code of this level, or null if they are equal */
    int64_t workspace;    /* in bytes; negative: computed by `shapes` */
    int32_t num_features, num_codes;
} Level;

typedef struct {
    const char *name;
    const Array *inputs, *outputs;
    const Level *levels; /* in ascending order */
    const char *const *messages;
    int32_t *chosen; /* 0: not selected yet; else the number of the level plus 1, or NO_LEVEL etc. */
    int32_t num_inputs, num_outputs, num_sizes, num_levels, num_messages;
    int32_t num_extents;        /* the length of the result of `shapes`, including the workspace */
    int32_t num_dynamic;        /* the length of dynamic_outputs; 0: the model has none */
    int32_t too_small;          /* the code for a workspace that is too small; 0: there is none */
    int32_t has_named_levels;
} Library;

enum { NO_LEVEL = -1, NO_SUCH_LEVEL = -2, LEVEL_BEYOND_PROCESSOR = -3 };

void tvmlite_set_num_threads(int32_t threads);
int32_t tvmlite_get_num_threads(void);

#define HIDDEN __attribute__((visibility("hidden"), weak)) /* weak: a program with several models has one copy */

HIDDEN int32_t tvmlite_library_level(const Library *library);
HIDDEN const char *tvmlite_library_level_name(const Library *library);
HIDDEN int32_t tvmlite_library_code(const Library *library, int32_t level, int32_t code);
HIDDEN int64_t tvmlite_library_workspace(const Library *library, const DLTensor *const *inputs,
                                         int32_t num_inputs);
HIDDEN int32_t tvmlite_library_run(const Library *library, const DLTensor *const *inputs, int32_t num_inputs,
                                   DLTensor *const *outputs, int32_t num_outputs);
HIDDEN int32_t tvmlite_library_run_in(const Library *library, const DLTensor *const *inputs, int32_t num_inputs,
                                      DLTensor *const *outputs, int32_t num_outputs, void *workspace,
                                      int64_t *bytes);
HIDDEN const char *tvmlite_library_error(void);
HIDDEN void tvmlite_library_set_threads(int32_t threads);

/* ---- the text of an error ---- */

static __thread char error_text[1024];
static __thread size_t error_length;

static void say(const char *text) {
    while (*text != 0 && error_length + 1 < sizeof error_text) {
        error_text[error_length++] = *text++;
    }
    error_text[error_length] = 0;
}

static void say_number(int64_t number) {
    char digits[24];
    int place = 23;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    digits[place] = 0;
    do {
        digits[--place] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        digits[--place] = '-';
    }
    say(digits + place);
}

static void begin_error(const Library *library) {
    error_length = 0;
    say(library->name);
    say(": ");
}

static void say_shape(const int64_t *extents, int32_t ndim) {
    say("(");
    for (int32_t k = 0; k < ndim; k++) {
        say(k > 0 ? ", " : "");
        say_number(extents[k]);
    }
    say(ndim == 1 ? ",)" : ")");
}

const char *tvmlite_library_error(void) { return error_text; }

/* ---- features of the processor ---- */

#if defined(__x86_64__) || defined(__i386__)

static uint64_t saved_states(void) {
    uint32_t a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c >> 27 & 1) == 0) { /* OSXSAVE: the system has set XCR0 */
        return 0;
    }
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); /* xgetbv */
    return (uint64_t)high << 32 | low;
}

static int has(const Feature *feature) {
    uint32_t part[4] = {0, 0, 0, 0};
    if (!__get_cpuid_count(feature->leaf, feature->subleaf, &part[0], &part[1], &part[2], &part[3]) ||
        (part[feature->part] >> feature->bit & 1) == 0 ||
        (feature->state != 0 && (saved_states() & feature->state) != feature->state)) {
        return 0;
    }
#if defined(__linux__) && defined(__x86_64__)
    if (feature->tiles) { /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): applies to the whole process */
        return syscall(158, 0x1023, 18) == 0;
    }
#endif
    return 1;
}

#elif defined(__linux__)

static int has(const Feature *feature) {
    return (getauxval((unsigned long)feature->leaf) >> feature->bit & 1) != 0;
}

#else

static int has(const Feature *feature) {
    (void)feature; /* cannot be determined */
    return 1;
}

#endif

static int runs_here(const Level *level) {
    for (int32_t k = 0; k < level->num_features; k++) {
        if (!has(&level->features[k])) {
            return 0;
        }
    }
    return 1;
}

static int32_t choose(const Library *library) {
    const char *wanted = library->has_named_levels ? getenv("TVMLITE_CPU_LEVEL") : 0;
    int named = wanted != 0 && *wanted != 0;
    for (int32_t k = library->num_levels; k > 0; k--) {
        if (!named || strcmp(wanted, library->levels[k - 1].name) == 0) {
            if (runs_here(&library->levels[k - 1])) {
                return k;
            }
            if (named) {
                return LEVEL_BEYOND_PROCESSOR;
            }
        }
    }
    return named ? NO_SUCH_LEVEL : NO_LEVEL;
}

static void say_missing(const Level *level) {
    const char *before = "";
    for (int32_t k = 0; k < level->num_features; k++) {
        if (!has(&level->features[k])) {
            say(before);
            say(level->features[k].name);
            before = ", ";
        }
    }
}

static void say_levels(const Library *library) {
    for (int32_t k = 0; k < library->num_levels; k++) {
        say(k > 0 ? ", " : "");
        say(library->levels[k].name);
    }
}

/* The number of the level to run, from 0; negative, with an error text, if there is none. */
int32_t tvmlite_library_level(const Library *library) {
    int32_t chosen = __atomic_load_n(library->chosen, __ATOMIC_ACQUIRE);
    if (chosen == 0) { /* concurrent threads find the same level */
        chosen = choose(library);
        __atomic_store_n(library->chosen, chosen, __ATOMIC_RELEASE);
    }
    if (chosen > 0) {
        return chosen - 1;
    }
    begin_error(library);
    if (chosen == NO_SUCH_LEVEL) {
        say("TVMLITE_CPU_LEVEL is '");
        say(getenv("TVMLITE_CPU_LEVEL") ? getenv("TVMLITE_CPU_LEVEL") : "");
        say("', the library has ");
        say_levels(library);
    } else if (chosen == LEVEL_BEYOND_PROCESSOR) {
        const char *wanted = getenv("TVMLITE_CPU_LEVEL");
        say("TVMLITE_CPU_LEVEL is '");
        say(wanted ? wanted : "");
        say("', for which this processor lacks ");
        for (int32_t k = 0; k < library->num_levels; k++) {
            if (wanted != 0 && strcmp(wanted, library->levels[k].name) == 0) {
                say_missing(&library->levels[k]);
            }
        }
    } else {
        say("was compiled for ");
        say_levels(library);
        say(library->num_levels > 1 ? "; even for the first of these this processor lacks " :
                                      "; this processor lacks ");
        say_missing(&library->levels[0]);
    }
    return -1;
}

const char *tvmlite_library_level_name(const Library *library) {
    int32_t level = tvmlite_library_level(library);
    return level < 0 ? 0 : library->levels[level].name;
}

/* The library's code for the code that a level returned. */
int32_t tvmlite_library_code(const Library *library, int32_t number, int32_t code) {
    const Level *level = &library->levels[number];
    if (code > 0 && code <= level->num_codes && level->codes != 0) {
        code = level->codes[code - 1];
    }
    return code;
}

/* ---- threads ---- */

/* Scratch memory is for a number of threads, so that this number must not grow while a model runs. Calls count
 * themselves in one of two counters. A thread that raises the number makes new calls allocate more memory and
 * use the other counter, and waits until the first is 0. */
static struct {
    int32_t threads; /* for which calls allocate memory; 0: the pool's number */
    uint32_t turn;
    int32_t running[2];
    int32_t process;
    int32_t locked;
} calls;

enum { MOST_THREADS = 1024 }; /* of a pool */

#if defined(_WIN32)
static int32_t own_process(void) { return 1; }
static void pause_thread(void) {}
static int64_t processors(void) { return MOST_THREADS; }
#else
static int32_t own_process(void) { return (int32_t)getpid(); }
static void pause_thread(void) { (void)sched_yield(); }
static int64_t processors(void) { return (int64_t)sysconf(_SC_NPROCESSORS_CONF); }
#endif

/* An upper bound on the pool's default number of threads, which only the pool knows. */
static int32_t default_threads(void) {
    const char *text = getenv("TVMLITE_NUM_THREADS");
    int64_t count = processors(), wanted = text != 0 ? (int64_t)strtol(text, 0, 10) : 0;
    count = wanted > count ? wanted : count;
    return count < 1 || count > MOST_THREADS ? MOST_THREADS : (int32_t)count;
}

static int64_t begin_call(uint32_t *turn) {
    int32_t threads, pool;
    for (;;) {
        *turn = __atomic_load_n(&calls.turn, __ATOMIC_SEQ_CST) & 1;
        (void)__atomic_add_fetch(&calls.running[*turn], 1, __ATOMIC_SEQ_CST);
        if ((__atomic_load_n(&calls.turn, __ATOMIC_SEQ_CST) & 1) == *turn) {
            break;
        }
        (void)__atomic_sub_fetch(&calls.running[*turn], 1, __ATOMIC_SEQ_CST);
    }
    threads = __atomic_load_n(&calls.threads, __ATOMIC_SEQ_CST);
    pool = tvmlite_get_num_threads();
    return threads > pool ? threads : pool;
}

static void end_call(uint32_t turn) { (void)__atomic_sub_fetch(&calls.running[turn], 1, __ATOMIC_SEQ_CST); }

void tvmlite_library_set_threads(int32_t threads) {
    int32_t free = 0;
    uint32_t turn;
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    while (!__atomic_compare_exchange_n(&calls.locked, &free, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        free = 0;
        pause_thread();
    }
    __atomic_store_n(&calls.threads, threads < 1 ? default_threads() : threads, __ATOMIC_SEQ_CST);
    turn = __atomic_fetch_add(&calls.turn, 1, __ATOMIC_SEQ_CST) & 1;
    if (calls.process != 0 && calls.process != own_process()) { /* after fork, the parent's calls do not end here */
        __atomic_store_n(&calls.running[turn], 0, __ATOMIC_SEQ_CST);
    }
    calls.process = own_process();
    while (__atomic_load_n(&calls.running[turn], __ATOMIC_SEQ_CST) > 0) {
        pause_thread();
    }
    tvmlite_set_num_threads(threads);
    __atomic_store_n(&calls.threads, threads < 1 ? 0 : threads, __ATOMIC_SEQ_CST);
    __atomic_store_n(&calls.locked, 0, __ATOMIC_SEQ_CST);
}

/* ---- scratch memory, one block for each thread ---- */

enum { ALIGNMENT = 64 };

#if defined(_WIN32)

static __thread void *block;
static __thread int64_t block_bytes;

static void *scratch(int64_t bytes, int64_t *capacity) {
    if (bytes > block_bytes) {
        block = _aligned_realloc(block, (size_t)bytes, ALIGNMENT);
        block_bytes = block ? bytes : 0;
    }
    *capacity = block_bytes;
    return block;
}

#else

typedef struct {
    void *memory;
    int64_t bytes;
} Block;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t block_key;
static int has_block_key;

static void release(void *given) {
    Block *block = given;
    free(block->memory);
    free(block);
}

static void make_key(void) { has_block_key = pthread_key_create(&block_key, release) == 0; }

/* The scratch memory of this thread, which never shrinks; null if there is not enough memory. */
static void *scratch(int64_t bytes, int64_t *capacity) {
    Block *block;
    (void)pthread_once(&once, make_key);
    if (!has_block_key) {
        return 0;
    }
    block = pthread_getspecific(block_key);
    if (block == 0) {
        block = calloc(1, sizeof *block);
        if (block == 0 || pthread_setspecific(block_key, block) != 0) {
            free(block);
            return 0;
        }
    }
    if (bytes > block->bytes || block->memory == 0) {
        size_t size = ((size_t)bytes / ALIGNMENT + 1) * ALIGNMENT;
        free(block->memory);
        block->bytes = 0;
        if (posix_memalign(&block->memory, ALIGNMENT, size) != 0) {
            block->memory = 0;
            return 0;
        }
        block->bytes = (int64_t)size;
    }
    *capacity = block->bytes;
    return block->memory;
}

#endif

/* ---- checks of arrays ---- */

#define UNKNOWN INT64_MIN /* a size that follows from no array so far */

typedef struct {
    const Library *library;
    int64_t *sizes;      /* by number */
    const int64_t *made; /* the result of `shapes`, or null */
} Check;

static void say_array(const Library *library, const Array *array, int is_output) {
    begin_error(library);
    say(is_output ? "output '" : "input '");
    say(array->name);
    say("' ");
}

static const char *size_name(const Library *library, int32_t number) {
    return library->messages[library->num_messages + number]; /* the names of sizes follow the messages */
}

static void say_expected(const Check *check, const Array *array) {
    say(", expected ");
    say(array->dtype);
    say(" (");
    for (int32_t k = 0; k < array->ndim; k++) {
        int64_t extent = array->extents[k];
        say(k > 0 ? ", " : "");
        if (extent >= 0) {
            say_number(extent);
        } else if (extent == COMPUTED) {
            if (check->made != 0 && array->kind == ARRAY) {
                say_number(check->made[array->first + k]);
            } else {
                say("?");
            }
        } else {
            say(size_name(check->library, (int32_t)(FIRST_SIZE - extent)));
        }
    }
    say(array->ndim == 1 ? ",)" : ")");
}

static void say_dtype(DLDataType dtype) {
    static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    if (dtype.code < sizeof names / sizeof names[0]) {
        say(names[dtype.code]);
        if (dtype.code != 6 || dtype.bits != 8) {
            say_number(dtype.bits);
        }
    } else {
        say("of code ");
        say_number(dtype.code);
        say(" and ");
        say_number(dtype.bits);
        say(" bits");
    }
    if (dtype.lanes != 1) {
        say("x");
        say_number(dtype.lanes);
    }
}

/* Check the properties that do not depend on sizes: device, dtype and number of dimensions. */
static int32_t check_kind(const Check *check, const Array *array, const DLTensor *given, int is_output) {
    const Library *library = check->library;
    if (given == 0) {
        say_array(library, array, is_output);
        say("is a null pointer");
    } else if (given->device.device_type != ON_CPU) {
        say_array(library, array, is_output);
        say("is on DLPack device (");
        say_number(given->device.device_type);
        say(", ");
        say_number(given->device.device_id);
        say("), expected the CPU (1, 0)");
        return WRONG_ARGUMENT;
    } else if (given->dtype.code != array->code || given->dtype.bits != array->bits || given->dtype.lanes != 1) {
        say_array(library, array, is_output);
        say("has dtype ");
        say_dtype(given->dtype);
    } else if (given->ndim != array->ndim) {
        say_array(library, array, is_output);
        say("has ");
        say_number(given->ndim);
        say(given->ndim == 1 ? " dimension" : " dimensions");
    } else if (given->ndim > 0 && given->shape == 0) {
        say_array(library, array, is_output);
        say("has no shape");
    } else {
        return 0;
    }
    say_expected(check, array);
    return WRONG_ARGUMENT;
}

/* Check the extents: one that is a size sets the size if it is unknown, else it must be equal to it. */
static int32_t check_shape(const Check *check, const Array *array, const DLTensor *given, int is_output) {
    for (int32_t k = 0; k < array->ndim; k++) {
        int64_t wanted = array->extents[k], extent = given->shape[k];
        int32_t number = (int32_t)(FIRST_SIZE - wanted);
        if (wanted <= FIRST_SIZE && check->sizes[number] == UNKNOWN && extent >= 0) {
            check->sizes[number] = extent;
        }
        if (wanted <= FIRST_SIZE) {
            wanted = check->sizes[number];
        } else if (wanted == COMPUTED && check->made != 0) {
            wanted = check->made[array->first + k];
        }
        if (extent < 0 || (wanted != COMPUTED && extent != wanted)) {
            say_array(check->library, array, is_output);
            say("has shape ");
            say_shape(given->shape, given->ndim);
            say_expected(check, array);
            if (array->extents[k] <= FIRST_SIZE && extent >= 0) {
                say(", where ");
                say(size_name(check->library, number));
                say(" is ");
                say_number(wanted);
            }
            return WRONG_ARGUMENT;
        }
    }
    return 0;
}

/* Check the memory: dense, and aligned to the elements. */
static int32_t check_memory(const Check *check, const Array *array, const DLTensor *given, int is_output,
                            void **data, int64_t *bytes) {
    int64_t count = 1, step = 1;
    for (int32_t k = 0; k < given->ndim; k++) {
        int64_t extent = given->shape[k];
        if (extent != 0 && count > INT64_MAX / 64 / extent) {
            say_array(check->library, array, is_output);
            say("has shape ");
            say_shape(given->shape, given->ndim);
            say(", beyond any machine's memory");
            return WRONG_ARGUMENT;
        }
        count *= extent;
    }
    for (int32_t k = given->ndim; k > 0 && count > 0 && given->strides != 0; k--) {
        if (given->shape[k - 1] != 1 && given->strides[k - 1] != step) {
            say_array(check->library, array, is_output);
            say("has strides ");
            say_shape(given->strides, given->ndim);
            say(" with shape ");
            say_shape(given->shape, given->ndim);
            say(", expected a dense row-major array");
            return WRONG_ARGUMENT;
        }
        step *= given->shape[k - 1];
    }
    *data = given->data == 0 ? 0 : (char *)given->data + given->byte_offset;
    *bytes = count * array->bytes;
    if (count > 0 && *data == 0) {
        say_array(check->library, array, is_output);
        say("has no data");
        say_expected(check, array);
        return WRONG_ARGUMENT;
    }
    if (count > 0 && (uintptr_t)*data % (uintptr_t)array->bytes != 0) {
        say_array(check->library, array, is_output);
        say("begins at an address that is no multiple of ");
        say_number(array->bytes);
        say(", the size of an element");
        return WRONG_ARGUMENT;
    }
    return 0;
}

static int32_t check_count(const Library *library, const void *given, int32_t count, int32_t wanted,
                           const Array *arrays, const char *what) {
    if (count == wanted && (count == 0 || given != 0)) {
        return 0;
    }
    begin_error(library);
    if (count == wanted) {
        say(what);
        say("s is a null pointer, expected ");
    } else {
        say_number(count);
        say(" ");
        say(what);
        say(count == 1 ? " given, expected " : "s given, expected ");
    }
    say_number(wanted);
    for (int32_t k = 0; k < wanted; k++) {
        say(k > 0 ? ", " : ": ");
        say(arrays[k].name);
    }
    return WRONG_ARGUMENT;
}

static int32_t check_inputs(const Check *check, const DLTensor *const *given, int32_t count, void **data,
                            int64_t *bytes) {
    const Library *library = check->library;
    int32_t code = check_count(library, given, count, library->num_inputs, library->inputs, "input");
    for (int32_t k = 0; k < library->num_inputs && code == 0; k++) {
        const Array *array = &library->inputs[k];
        code = check_kind(check, array, given[k], 0);
        if (code == 0 && array->kind == SCALAR) { /* before arrays, whose extents may depend on scalars */
            code = check_memory(check, array, given[k], 0, &data[k], &bytes[k]);
            if (code == 0 && array->size >= 0) {
                int32_t narrow;
                int64_t wide;
                (void)memcpy(&narrow, data[k], sizeof narrow);
                wide = narrow;
                if (array->bytes == 8) {
                    (void)memcpy(&wide, data[k], sizeof wide);
                }
                check->sizes[array->size] = wide;
            }
        }
    }
    for (int32_t k = 0; k < library->num_inputs && code == 0; k++) {
        if (library->inputs[k].kind == ARRAY) {
            code = check_shape(check, &library->inputs[k], given[k], 0);
            if (code == 0) {
                code = check_memory(check, &library->inputs[k], given[k], 0, &data[k], &bytes[k]);
            }
        }
    }
    return code;
}

/* Check that an output overlaps no other array, except the input whose memory it shares. */
static int32_t check_overlap(const Library *library, void *const *data, const int64_t *bytes) {
    int32_t inputs = library->num_inputs, count = inputs + library->num_outputs;
    for (int32_t k = inputs; k < count; k++) {
        const Array *array = &library->outputs[k - inputs];
        if (array->in_place >= 0 && data[k] != data[array->in_place]) {
            say_array(library, array, 1);
            say("is not the memory of input '");
            say(library->inputs[array->in_place].name);
            say("', which it changes in place");
            return WRONG_ARGUMENT;
        }
        for (int32_t other = 0; other < count; other++) {
            uintptr_t a = (uintptr_t)data[k], b = (uintptr_t)data[other];
            if (other != k && other != array->in_place && bytes[k] > 0 && bytes[other] > 0 &&
                a < b + (uintptr_t)bytes[other] && b < a + (uintptr_t)bytes[k]) {
                say_array(library, array, 1);
                say("overlaps '");
                say(other < inputs ? library->inputs[other].name : library->outputs[other - inputs].name);
                say("', expected memory of its own");
                return WRONG_ARGUMENT;
            }
        }
    }
    return 0;
}

static int32_t check_outputs(const Check *check, DLTensor *const *given, int32_t count, void **data,
                             int64_t *bytes) {
    const Library *library = check->library;
    int32_t code = check_count(library, given, count, library->num_outputs, library->outputs, "output");
    for (int32_t k = 0; k < library->num_outputs && code == 0; k++) {
        const Array *array = &library->outputs[k];
        code = check_kind(check, array, given[k], 1);
        if (code == 0 && array->kind == FOUND) {
            data[k] = 0;
            bytes[k] = 0;
        } else if (code == 0) {
            code = check_shape(check, array, given[k], 1);
            if (code == 0) {
                code = check_memory(check, array, given[k], 1, &data[k], &bytes[k]);
            }
        }
    }
    return code;
}

/* ---- running ---- */

/* Write the error text of a positive code, which the model's Asserts return. */
static void say_code(const Library *library, int32_t code) {
    begin_error(library);
    if (code <= library->num_messages) {
        say(library->messages[code - 1]);
    } else {
        say("stopped with code ");
        say_number(code);
    }
}

/* Compute extents and workspace from the sizes, which are all known. */
static int32_t ask_shapes(const Library *library, int32_t number, const int64_t *sizes, int64_t threads,
                          int64_t *made, int64_t *workspace) {
    const Level *level = &library->levels[number];
    *workspace = level->workspace;
    if (level->shapes != 0) {
        int32_t code = tvmlite_library_code(library, number, level->shapes(made, threads, sizes));
        if (code != 0) {
            say_code(library, code);
            return code;
        }
        for (int32_t k = 0; k < library->num_extents; k++) {
            if (made[k] < 0) {
                begin_error(library);
                say(k + 1 < library->num_extents ? "an extent of an array would be negative, or too large" :
                                                   "the workspace would be beyond any machine's memory");
                return WRONG_ARGUMENT;
            }
        }
        *workspace = made[library->num_extents - 1];
    }
    return 0;
}

static int32_t say_unknown_size(const Library *library, const int64_t *sizes) {
    for (int32_t k = 0; k < library->num_sizes; k++) {
        if (sizes[k] == UNKNOWN) {
            begin_error(library);
            say("size ");
            say(size_name(library, k));
            say(" is an extent of no array that was given");
            return WRONG_ARGUMENT;
        }
    }
    return 0;
}

int64_t tvmlite_library_workspace(const Library *library, const DLTensor *const *inputs, int32_t num_inputs) {
    void *data[library->num_inputs + 1];
    int64_t bytes[library->num_inputs + 1], sizes[library->num_sizes + 1], made[library->num_extents + 1];
    Check check = {library, sizes, 0};
    int64_t workspace = 0;
    int32_t level, code;
    error_length = 0;
    error_text[0] = 0;
    level = tvmlite_library_level(library);
    if (level < 0) {
        return WRONG_PROCESSOR;
    }
    for (int32_t k = 0; k < library->num_sizes; k++) {
        sizes[k] = UNKNOWN;
    }
    code = check_inputs(&check, inputs, num_inputs, data, bytes);
    if (code == 0) {
        code = say_unknown_size(library, sizes);
    }
    if (code == 0) {
        int64_t threads = tvmlite_get_num_threads();
        code = ask_shapes(library, level, sizes, threads, made, &workspace);
    }
    return code > 0 ? WRONG_ARGUMENT : code < 0 ? code : workspace;
}

static int32_t say_too_small(const Library *library, int64_t given, int64_t needed) {
    begin_error(library);
    say("the workspace has ");
    say_number(given);
    say(" bytes, expected at least ");
    say_number(needed);
    return TOO_SMALL;
}

/* Run in `workspace`, or, if that and `bytes` are null, in this thread's own scratch memory. */
static int32_t run_checked(const Library *library, int32_t number, const Check *check, void **data,
                           DLTensor *const *outputs, int64_t threads, int64_t needed, void *workspace,
                           int64_t *bytes) {
    int64_t dynamic[library->num_dynamic + 1], capacity = bytes != 0 ? *bytes : 0;
    int32_t code, place = 1;
    dynamic[0] = 0;
    if (bytes != 0 && capacity < needed) {
        code = say_too_small(library, capacity, needed);
        *bytes = needed;
        return code;
    }
    if (bytes != 0 && needed > 0 && (workspace == 0 || (uintptr_t)workspace % ALIGNMENT != 0)) {
        begin_error(library);
        say("the workspace begins at an address that is no multiple of 64");
        return WRONG_ARGUMENT;
    }
    for (;;) {
        if (bytes == 0 && (needed > 0 || library->num_dynamic > 0)) {
            workspace = scratch(needed, &capacity);
            if (workspace == 0) {
                begin_error(library);
                say("there is no memory for a workspace of ");
                say_number(needed);
                say(" bytes");
                return NO_MEMORY;
            }
        }
        code = library->levels[number].call(data, check->sizes, workspace, threads, dynamic, capacity);
        code = tvmlite_library_code(library, number, code);
        if (code == 0 || code != library->too_small || bytes != 0 || dynamic[0] <= capacity) {
            break;
        }
        needed = dynamic[0] > INT64_MAX / 2 ? dynamic[0] : dynamic[0] + dynamic[0] / 4;
    }
    if (code != 0 && code == library->too_small && dynamic[0] > capacity) {
        code = say_too_small(library, capacity, dynamic[0]);
        *bytes = dynamic[0];
    } else if (code != 0) {
        say_code(library, code);
    }
    for (int32_t k = 0; k < library->num_outputs && code == 0; k++) {
        const Array *array = &library->outputs[k];
        if (array->kind == FOUND) {
            outputs[k]->data = (char *)workspace + dynamic[place++];
            outputs[k]->byte_offset = 0;
            for (int32_t axis = 0; axis < array->ndim; axis++) {
                outputs[k]->shape[axis] = dynamic[place++];
            }
            outputs[k]->strides = 0;
        }
    }
    return code;
}

static int32_t run(const Library *library, const DLTensor *const *inputs, int32_t num_inputs,
                   DLTensor *const *outputs, int32_t num_outputs, void *workspace, int64_t *bytes) {
    int32_t arrays = library->num_inputs + library->num_outputs, level, code;
    void *data[arrays + 1];
    int64_t extents[arrays + 1], sizes[library->num_sizes + 1], made[library->num_extents + 1];
    Check check = {library, sizes, 0};
    int64_t threads, needed = 0;
    uint32_t turn;
    error_length = 0;
    error_text[0] = 0;
    level = tvmlite_library_level(library);
    if (level < 0) {
        return WRONG_PROCESSOR;
    }
    for (int32_t k = 0; k < library->num_sizes; k++) {
        sizes[k] = UNKNOWN;
    }
    code = check_inputs(&check, inputs, num_inputs, data, extents);
    if (code == 0) { /* before the test for unknown sizes, which may be extents of outputs only */
        code = check_outputs(&check, outputs, num_outputs, data + library->num_inputs,
                             extents + library->num_inputs);
    }
    if (code == 0) {
        code = say_unknown_size(library, sizes);
    }
    if (code != 0) {
        return code;
    }
    threads = begin_call(&turn);
    code = ask_shapes(library, level, sizes, threads, made, &needed);
    if (code == 0 && library->levels[level].shapes != 0) { /* again, with the computed extents */
        check.made = made;
        for (int32_t k = 0; k < library->num_inputs && code == 0; k++) {
            code = library->inputs[k].kind == ARRAY ? check_shape(&check, &library->inputs[k], inputs[k], 0) : 0;
        }
        for (int32_t k = 0; k < library->num_outputs && code == 0; k++) {
            code = library->outputs[k].kind == ARRAY ? check_shape(&check, &library->outputs[k], outputs[k], 1) : 0;
        }
    }
    if (code == 0) {
        code = check_overlap(library, data, extents);
    }
    if (code == 0) {
        code = run_checked(library, level, &check, data, outputs, threads, needed, workspace, bytes);
    }
    end_call(turn);
    return code;
}

int32_t tvmlite_library_run(const Library *library, const DLTensor *const *inputs, int32_t num_inputs,
                            DLTensor *const *outputs, int32_t num_outputs) {
    return run(library, inputs, num_inputs, outputs, num_outputs, 0, 0);
}

int32_t tvmlite_library_run_in(const Library *library, const DLTensor *const *inputs, int32_t num_inputs,
                               DLTensor *const *outputs, int32_t num_outputs, void *workspace, int64_t *bytes) {
    if (bytes == 0) {
        begin_error(library);
        say("the size of the workspace is a null pointer");
        return WRONG_ARGUMENT;
    }
    return run(library, inputs, num_inputs, outputs, num_outputs, workspace, bytes);
}
