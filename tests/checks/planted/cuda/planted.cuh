// What the kernels of this folder share. PLANT(…) is in the planted twin only, CLEAN(…) in the clean one only. All is
// macros, so that an access has the line of the kernel that uses it.
#pragma once

#ifdef PLANTED
#define PLANT(...) __VA_ARGS__
#define CLEAN(...)
#define EITHER(planted, clean) planted
#else
#define PLANT(...)
#define CLEAN(...) __VA_ARGS__
#define EITHER(planted, clean) clean
#endif

#define FULL 0xffffffffu
#define KEEP asm volatile("" ::: "memory")
#define SHARED(p) ((unsigned)__cvta_generic_to_shared(p))

// Barriers by number: all of them wait, or some arrive without waiting.
#define BAR_SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory")
#define BAR_ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory")

// mbarrier objects in shared memory.
#define MB_INIT(b, n)                                                                                                  \
    asm volatile("mbarrier.init.shared.b64 [%0], %1; fence.mbarrier_init.release.cluster;" ::"r"(SHARED(b)), "r"(n)    \
                 : "memory")
#define MB_ARRIVE(b) asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(SHARED(b)) : "memory")
#define MB_EXPECT(b, n)                                                                                                \
    asm volatile("{.reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1;}" ::"r"(SHARED(b)), "r"(n) : "memory")
#define MB_WAIT(b, parity)                                                                                             \
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}" ::"r"(       \
                     SHARED(b)),                                                                                       \
                 "r"(parity)                                                                                           \
                 : "memory")

// Asynchronous copies from global to shared memory, by each thread and in bulk, and back.
#define COPY4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(from) : "memory")
#define COPY16(to, from)                                                                                               \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SHARED(to)), "l"(from) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
#define COPY_ARRIVE(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(SHARED(b)) : "memory")
#define BULK_LOAD(to, from, n, b)                                                                                      \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(      \
                     SHARED(to)),                                                                                      \
                 "l"(from), "r"(n), "r"(SHARED(b))                                                                     \
                 : "memory")
#define BULK_STORE(to, from, n)                                                                                        \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(SHARED(from)), "r"(n)    \
                 : "memory")
#define BULK_ADD(to, from, n)                                                                                          \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(to),               \
                 "r"(SHARED(from)), "r"(n)                                                                             \
                 : "memory")
#define BULK_COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define BULK_WAIT asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define PROXY_FENCE asm volatile("fence.proxy.async;" ::: "memory")
