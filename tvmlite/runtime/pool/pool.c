/* The thread pool of compiled code: parallel loops, the number of threads, and a clock.
 *
 * One job runs at a time. Each thread has a share of contiguous chunks, and claims them by advancing the
 * share's word, (epoch, chunks taken), with compare-and-swap; then it steals the remaining chunks of other
 * shares. Therefore a loop that is executed repeatedly finds the data of the previous execution in each
 * processor's cache, and no thread waits for a sleeping one. A word of an older epoch means that nothing of
 * the share is taken: a job is published by one word, (epoch, threads, chunks), and a late thread, with the
 * word of a finished job, finds all shares taken. The caller works, too. A caller that finds the pool busy
 * (with another thread's job, or with its own if loops are nested) runs its loop alone. Threads spin for a
 * short time, then sleep; they sleep at once if they wait for a thread on the same processor, which cannot
 * continue while they spin. A child of fork starts its own threads when it first needs them.
 *
 * C99 with the atomics of GCC and Clang. Elsewhere, or with TVMLITE_SERIAL defined, loops run serially. In
 * WebAssembly without a system interface there is no clock, so that a module needs no imports.
 */
#if !defined(_GNU_SOURCE) && !defined(TVMLITE_SERIAL)
#define _GNU_SOURCE 1
#endif

#include <stdint.h>
#if defined(__wasm__) && !defined(__wasi__)
#define TVMLITE_NO_CLOCK 1
#else
#include <time.h>
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define ONCE __attribute__((weak)) /* one pool if several models' objects are linked into one library */
#else
#define ONCE
#endif

typedef int32_t (*tvmlite_body)(void *closure, int64_t begin, int64_t end, int64_t thread);

/* Calls body(closure, begin, end, thread) for pieces of 0 .. extent - 1, with thread in [0, threads). Returns
 * the first non-zero result, after which no further pieces are started. */
ONCE int32_t tvmlite_parallel_for(tvmlite_body body, void *closure, int64_t extent);
/* The same for loops that read more than a cache holds in every run: in every second run each thread starts
 * at the end of its share, whose data were read last in the previous run and are still in cache. */
ONCE int32_t tvmlite_sweep(tvmlite_body body, void *closure, int64_t extent);
/* Begins a run and sets the direction of tvmlite_sweep's loops; *runs belongs to the caller and counts runs. */
ONCE void tvmlite_next_run(uint32_t *runs);
/* The nanoseconds of a monotonic clock; 0 if there is no clock. */
ONCE int64_t tvmlite_now(void);
/* Sets the number of threads that a loop may use, including the caller; 0 or less: the default. */
ONCE void tvmlite_set_num_threads(int32_t threads);
/* That number; by default TVMLITE_NUM_THREADS, else the number of processors that this process may use. */
ONCE int32_t tvmlite_get_num_threads(void);

#if !defined(TVMLITE_SERIAL) && defined(__GNUC__) && !defined(_WIN32) && !defined(__wasm__) &&           \
    (defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__)) &&         \
    defined(__GCC_ATOMIC_LLONG_LOCK_FREE) && __GCC_ATOMIC_LLONG_LOCK_FREE == 2
#define TVMLITE_POOL 1
#endif

int64_t tvmlite_now(void) {
#if defined(TVMLITE_NO_CLOCK)
    return 0;
#elif defined(CLOCK_MONOTONIC)
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec;
#else
    return (int64_t)((double)clock() * (1e9 / (double)CLOCKS_PER_SEC));
#endif
}

enum { PIECES = 16 };

/* The first iteration of a piece if 0 .. extent - 1 is cut into `count` pieces. Longer pieces are spread evenly
 * among the others, so that the lengths of two runs of as many contiguous pieces, such as two threads' shares,
 * differ by at most one. */
static int64_t begin_of(int64_t piece, int64_t count, int64_t extent) {
    return piece * (extent / count) + piece * (extent % count) / count;
}

/* Run a whole loop on one thread; backwards: in pieces, the last first. */
static int32_t run_alone(tvmlite_body body, void *closure, int64_t extent, int64_t thread, int32_t backwards) {
    int64_t count = !backwards ? 1 : extent < PIECES ? extent : PIECES;
    int32_t code = 0;
    for (int64_t piece = count; piece > 0 && code == 0; piece--) {
        code = body(closure, begin_of(piece - 1, count, extent), begin_of(piece, count, extent), thread);
    }
    return code;
}

#ifndef TVMLITE_POOL

static int32_t backwards;

void tvmlite_next_run(uint32_t *runs) { backwards = (int32_t)(++*runs & 1); }

int32_t tvmlite_parallel_for(tvmlite_body body, void *closure, int64_t extent) {
    return extent > 0 ? run_alone(body, closure, extent, 0, 0) : 0;
}

int32_t tvmlite_sweep(tvmlite_body body, void *closure, int64_t extent) {
    return extent > 0 ? run_alone(body, closure, extent, 0, backwards) : 0;
}

void tvmlite_set_num_threads(int32_t threads) { (void)threads; }

int32_t tvmlite_get_num_threads(void) { return 1; }

#else

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#endif

enum { MAX_THREADS = 1024, CHUNKS_A_THREAD = 4, STACK_BYTES = 4 << 20 };
enum { SPINS = 3000, SPINS_A_LOOK = 100 }; /* before sleeping; before checking which threads share the processor */
enum { CHUNK_BITS = 13, THREAD_BITS = 11, EPOCH_AT = CHUNK_BITS + THREAD_BITS };

#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define STORE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)

/* Two cache lines: one that idle threads read, and one that working threads write. */
static struct {
    uint64_t word;       /* epoch, number of threads, number of chunks */
    uint32_t generation; /* the number of published jobs; sleeping workers wait for it to change */
    uint32_t sleepers;
    tvmlite_body body;
    void *closure;
    int64_t extent;
    int32_t backwards; /* whether threads start at the ends of their shares */
    int32_t started;   /* the number of workers; changed only by the holder of `busy` */
    int32_t processor; /* the caller's, or negative if unknown */
} job __attribute__((aligned(128)));

static struct {
    uint32_t done; /* the number of chunks that workers have finished; the caller waits for it */
    uint32_t caller_sleeps;
    int32_t result;
    uint32_t busy;
    int32_t wanted; /* the number of threads; 0: not determined yet */
    int32_t backwards; /* whether tvmlite_sweep starts at the ends in this run, as in every second one */
    int32_t owner;  /* the process that owns the threads; negative while it sets up the pool */
    int32_t has_key;
    int32_t *alive; /* 1 if the pool is set up, 0 in a child of fork; null if the system has no such memory */
} state __attribute__((aligned(128)));

/* The number of chunks taken of each thread's share, (epoch, chunks), each in its own cache line. */
static struct {
    uint64_t word __attribute__((aligned(64)));
    int32_t processor; /* 1 plus the processor on which this worker began its part of a job; 0: it has no part */
} share[MAX_THREADS];

static pthread_key_t thread_key; /* a worker's number; not set for a caller, whose number is 0 */

#if defined(__has_builtin) && !defined(PAUSE)
#if defined(__aarch64__) && __has_builtin(__builtin_arm_isb)
#define PAUSE() __builtin_arm_isb(15)
#endif
#endif
#ifndef PAUSE
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("isb" ::: "memory")
#else
#define PAUSE() __asm__ volatile("" ::: "memory")
#endif
#endif

#if defined(__linux__) && defined(SYS_futex)

/* Sleep while *place equals value; may return early. */
static void wait_while(uint32_t *place, uint32_t value) {
    (void)syscall(SYS_futex, place, 128 /* FUTEX_WAIT | PRIVATE */, value, (void *)0, (void *)0, 0);
}

static void wake(uint32_t *place, int32_t count) {
    (void)syscall(SYS_futex, place, 129 /* FUTEX_WAKE | PRIVATE */, count, (void *)0, (void *)0, 0);
}

static void renew_waiting(void) {}

#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_while(uint32_t *place, uint32_t value) {
    (void)pthread_mutex_lock(&lock);
    while (LOAD(*place) == value) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

static void wake(uint32_t *place, int32_t count) {
    (void)place;
    (void)count;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static void renew_waiting(void) {
    (void)pthread_mutex_init(&lock, 0);
    (void)pthread_cond_init(&changed, 0);
}

#endif

/* The processor that this thread runs on, or a negative number if unknown. */
static int32_t processor(void) {
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Move away from the caller's processor if there are others, as Linux may keep two threads on one processor for
 * a tenth of a second while another is idle. The affinity is restored, so that the thread may move back later. */
static void leave_caller(void) {
#ifdef __linux__
    int32_t here = processor();
    cpu_set_t allowed, others;
    if (here < 0 || here != LOAD(job.processor) || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    others = allowed;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) {
        (void)sched_setaffinity(0, sizeof allowed, &allowed);
    }
#endif
}

static int32_t default_threads(void) {
    int64_t count = 0;
    const char *text = getenv("TVMLITE_NUM_THREADS");
    if (text != 0) {
        while (*text >= '0' && *text <= '9' && count <= MAX_THREADS) {
            count = count * 10 + (*text++ - '0');
        }
    }
#ifdef __linux__
    if (count < 1) {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) == 0) {
            count = CPU_COUNT(&set);
        }
    }
#endif
    if (count < 1) {
        count = (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
    }
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : (int32_t)count;
}

void tvmlite_set_num_threads(int32_t threads) {
    int32_t count = threads < 1 ? default_threads() : threads > MAX_THREADS ? MAX_THREADS : threads;
    STORE(state.wanted, count);
}

static int32_t num_threads(void) {
    int32_t count = LOAD(state.wanted);
    if (count == 0) {
        int32_t made = default_threads();
        /* If another thread has set it in the meantime, its number is returned. */
        if (__atomic_compare_exchange_n(&state.wanted, &count, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            count = made;
        }
    }
    return count;
}

int32_t tvmlite_get_num_threads(void) { return num_threads(); }

static int64_t own_number(void) {
    return LOAD(state.has_key) ? (int64_t)(intptr_t)pthread_getspecific(thread_key) : 0;
}

static void run_chunk(int64_t chunk, int64_t count, int64_t thread) {
    int32_t none = 0;
    if (LOAD(state.result) == 0) {
        int64_t begin = begin_of(chunk, count, job.extent), end = begin_of(chunk + 1, count, job.extent);
        int32_t code = job.body(job.closure, begin, end, thread);
        if (code != 0) {
            (void)__atomic_compare_exchange_n(&state.result, &none, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        }
    }
}

/* Execute the remaining chunks in the share of `owner`, one of `threads`, of the job of `epoch`, which has `count`
 * chunks; returns how many these were. The swap succeeds only while the job is unfinished, so that the fields of
 * `job` that are read until the chunk is done belong to that job. */
static uint32_t take_share(uint64_t epoch, int64_t count, int64_t threads, int64_t owner, int64_t thread) {
    int64_t first = owner * count / threads, size = (owner + 1) * count / threads - first;
    uint64_t taken = LOAD(share[owner].word);
    uint32_t done = 0;
    for (;;) {
        int64_t next = taken >> EPOCH_AT == epoch ? (int64_t)(taken & ((1 << EPOCH_AT) - 1)) : 0;
        if (next >= size || taken >> EPOCH_AT > epoch) {
            return done;
        }
        if (__atomic_compare_exchange_n(&share[owner].word, &taken, epoch << EPOCH_AT | (uint64_t)(next + 1), 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            run_chunk(first + (job.backwards ? size - 1 - next : next), count, thread);
            done++;
            taken = LOAD(share[owner].word);
        }
    }
}

/* Execute chunks until none is left, first those of the thread's own share; returns how many these were. */
static uint32_t take_chunks(int64_t thread) {
    uint64_t word = LOAD(job.word);
    int64_t count = (int64_t)(word & ((1 << CHUNK_BITS) - 1));
    int64_t threads = (int64_t)(word >> CHUNK_BITS & ((1 << THREAD_BITS) - 1));
    uint32_t done = 0;
    for (int64_t k = 0; thread < threads && k < threads && LOAD(job.word) == word; k++) {
        done += take_share(word >> EPOCH_AT, count, threads, (thread + k) % threads, thread);
    }
    return done;
}

static void work(int64_t thread) {
    uint32_t done;
    STORE(share[thread].processor, processor() + 1);
    done = take_chunks(thread);
    if (done > 0) {
        (void)__atomic_add_fetch(&state.done, done, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&state.caller_sleeps, __ATOMIC_SEQ_CST)) {
            wake(&state.done, 1);
        }
    }
    STORE(share[thread].processor, 0);
}

/* Whether the caller was on this processor when it last began a job. */
static int32_t beside_caller(void) {
    int32_t here = processor();
    return here >= 0 && here == LOAD(job.processor);
}

/* Spin until there is a job newer than `seen`; returns 0 if there was none after a number of spins. */
static int32_t spin_for_job(uint32_t seen) {
    for (int spins = 0; spins < SPINS; spins++) {
        if (LOAD(job.generation) != seen) {
            return 1;
        }
        if (spins % SPINS_A_LOOK == 0 && beside_caller()) {
            return 0;
        }
        PAUSE();
    }
    return 0;
}

static void *worker(void *number) {
    (void)pthread_setspecific(thread_key, number);
    leave_caller();
    for (;;) {
        uint32_t seen = LOAD(job.generation);
        work((int64_t)(intptr_t)number);
        if (!spin_for_job(seen)) {
            (void)__atomic_add_fetch(&job.sleepers, 1, __ATOMIC_SEQ_CST);
            wait_while(&job.generation, seen);
            (void)__atomic_sub_fetch(&job.sleepers, 1, __ATOMIC_SEQ_CST);
            leave_caller();
        }
    }
    return 0;
}

/* Start workers until there are `count`, or as many as the system permits. All signals are blocked in them, so
 * that the program's threads handle them. */
static void start_workers(int32_t count) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (job.started >= count || pthread_attr_init(&attributes) != 0) {
        return;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (job.started < count) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, worker, (void *)(intptr_t)(job.started + 1)) != 0) {
            break;
        }
        job.started++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, 0);
    (void)pthread_attr_destroy(&attributes);
}

/* Memory that is zeroed in a child of fork; null if the system does not support it. */
static int32_t *wiped_on_fork(void) {
#ifdef __linux__
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
        return page;
    }
    if (page != MAP_FAILED) {
        (void)munmap(page, size);
    }
#endif
    return 0;
}

/* Whether the pool is set up in this process; a child of fork sets it up again. Asking for the process id is a
 * system call, which takes a third of the time of a launch, so that the memory `alive` is checked first. */
static int is_ready(void) {
    int32_t *alive = LOAD(state.alive), self, owner;
    if (alive != 0 && LOAD(*alive)) {
        return 1;
    }
    self = (int32_t)getpid();
    owner = LOAD(state.owner);
    if (owner == self) {
        return 1;
    }
    if (owner == -self ||
        !__atomic_compare_exchange_n(&state.owner, &owner, -self, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return 0; /* another thread is setting it up */
    }
    if (!state.has_key) {
        if (pthread_key_create(&thread_key, 0) != 0) {
            STORE(state.owner, 0);
            return 0;
        }
        STORE(state.has_key, 1);
    }
    renew_waiting();
    job.started = 0;
    job.sleepers = 0;
    state.caller_sleeps = 0;
    STORE(job.word, LOAD(job.word) >> EPOCH_AT << EPOCH_AT);
    STORE(state.busy, 0);
    if (alive == 0) {
        alive = wiped_on_fork();
        STORE(state.alive, alive);
    }
    STORE(state.owner, self);
    if (alive != 0) {
        STORE(*alive, 1);
    }
    return 1;
}

static void publish(uint32_t chunks, int32_t threads) {
    uint64_t epoch = (LOAD(job.word) >> EPOCH_AT) + 1;
    int32_t sleepers, helpers = (int32_t)chunks - 1;
    STORE(job.word, epoch << EPOCH_AT | (uint64_t)threads << CHUNK_BITS | chunks);
    (void)__atomic_add_fetch(&job.generation, 1, __ATOMIC_SEQ_CST);
    sleepers = (int32_t)__atomic_load_n(&job.sleepers, __ATOMIC_SEQ_CST);
    if (sleepers > 0) { /* if some workers have no share, a wake-up might reach only these: wake all */
        wake(&job.generation, job.started < threads && helpers < sleepers ? helpers : sleepers);
    }
}

/* Whether one of the workers, with `threads` threads in all, began its part of the job on this processor. */
static int32_t beside_worker(int32_t threads) {
    int32_t here = processor();
    for (int32_t thread = 1; here >= 0 && thread < threads; thread++) {
        if (LOAD(share[thread].processor) == here + 1) {
            return 1;
        }
    }
    return 0;
}

/* Wait until the workers, with `threads` threads in all, have finished `chunks` chunks. */
static void wait_for_workers(uint32_t chunks, int32_t threads) {
    for (int spins = 0; spins < SPINS && LOAD(state.done) != chunks; spins++) {
        if (spins % SPINS_A_LOOK == 0 && beside_worker(threads)) {
            break;
        }
        PAUSE();
    }
    if (LOAD(state.done) == chunks) {
        return;
    }
    __atomic_store_n(&state.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t done = __atomic_load_n(&state.done, __ATOMIC_SEQ_CST);
        if (done == chunks) {
            break;
        }
        wait_while(&state.done, done);
    }
    STORE(state.caller_sleeps, 0);
}

static int32_t run(tvmlite_body body, void *closure, int64_t extent, int32_t backwards) {
    int32_t threads = num_threads(), result;
    uint32_t chunks, idle = 0;
    if (extent <= 0) {
        return 0;
    }
    if (threads == 1 || extent == 1 || !is_ready() ||
        !__atomic_compare_exchange_n(&state.busy, &idle, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return run_alone(body, closure, extent, own_number(), backwards);
    }
    chunks = (uint32_t)threads * CHUNKS_A_THREAD;
    chunks = extent < (int64_t)chunks ? (uint32_t)extent : chunks;
    threads = extent < (int64_t)threads ? (int32_t)extent : threads; /* the others have no share */
    STORE(job.processor, processor());
    start_workers(threads - 1);
    job.body = body;
    job.closure = closure;
    job.extent = extent;
    job.backwards = backwards;
    STORE(state.done, 0);
    STORE(state.result, 0);
    publish(chunks, threads);
    wait_for_workers(chunks - take_chunks(0), threads);
    result = LOAD(state.result);
    STORE(state.busy, 0);
    return result;
}

int32_t tvmlite_parallel_for(tvmlite_body body, void *closure, int64_t extent) {
    return run(body, closure, extent, 0);
}

int32_t tvmlite_sweep(tvmlite_body body, void *closure, int64_t extent) {
    return run(body, closure, extent, LOAD(state.backwards));
}

void tvmlite_next_run(uint32_t *runs) {
    STORE(state.backwards, (int32_t)(__atomic_add_fetch(runs, 1, __ATOMIC_RELAXED) & 1));
}

#endif
