/* An application for tests: loads PTX from a file and launches its kernels as its arguments say. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Address;
typedef void *Handle;

Result cuInit(unsigned);
Result cuMemAlloc_v2(Address *, size_t);
Result cuMemcpyHtoD_v2(Address, const void *, size_t);
Result cuMemcpyDtoH_v2(void *, Address, size_t);
Result cuModuleLoadData(Handle *, const void *);
Result cuModuleGetFunction(Handle *, Handle, const char *);
Result cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
Result cuCtxSynchronize(void);
Result cuStreamBeginCapture_v2(Handle, int);
Result cuStreamEndCapture(Handle, Handle *);
Result cuGraphInstantiateWithFlags(Handle *, Handle, unsigned long long);
Result cuGraphLaunch(Handle, Handle);

static char text[1 << 20];
static atomic_int waiting;

typedef struct {
    Handle function;
    void **values;
} Work;

/* Launch a kernel at the same time as other threads do. */
static void *launch_beside(void *given)
{
    const Work work = *(const Work *)given;
    for (waiting--; waiting > 0;)
        ;
    cuLaunchKernel(work.function, 4, 1, 1, 256, 1, 1, 0, NULL, work.values, NULL);
    return NULL;
}

int main(int count, char **words)
{
    Handle module, saxpy, packed, wild, spin, graph;
    Address pool;
    int n = 1001, far = 1 << 20;
    float a = 2.5f, values[2048];
    FILE *file = fopen(words[1], "rb");
    if (!file || cuInit(0) != 0)
        return 9;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    cuModuleLoadData(&module, text);
    cuModuleGetFunction(&saxpy, module, "_Z5saxpyIfEvT_PKS0_PS0_i");
    cuModuleGetFunction(&packed, module, "_Z6packed4Args");
    cuModuleGetFunction(&wild, module, "_Z4wildPfi");
    cuModuleGetFunction(&spin, module, "_Z4spinPf");
    cuMemAlloc_v2(&pool, 65536); /* both arrays lie in one allocation, as PyTorch's do */
    for (int i = 0; i < 2048; i++)
        values[i] = 0.1f * (float)i;
    for (int i = 0; i < 8; i++)
        cuMemcpyHtoD_v2(pool + (Address)(i * 8192), values, sizeof values);
    Address x = pool + 512, y = pool + 8192;
    struct {
        Address x, y;
        int n;
        float a;
    } args = {x, y, n, 0.5f};
    void *of_saxpy[] = {&a, &x, &y, &n}, *of_packed[] = {&args}, *of_wild[] = {&x, &far};
    for (int i = 2; i < count; i++) {
        if (strcmp(words[i], "saxpy") == 0)
            cuLaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, of_saxpy, NULL);
        else if (strcmp(words[i], "packed") == 0)
            cuLaunchKernel(packed, 4, 1, 1, 256, 1, 1, 0, (Handle)64, of_packed, NULL);
        else if (strcmp(words[i], "wild") == 0)
            cuLaunchKernel(wild, 4, 1, 1, 256, 1, 1, 0, NULL, of_wild, NULL);
        else if (strcmp(words[i], "spin") == 0)
            cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, of_wild, NULL);
        else if (strcmp(words[i], "sleep") == 0)
            usleep(400000);
        else if (strcmp(words[i], "fork") == 0) {
            if (fork() == 0) {
                for (int k = 0; k < 3; k++)
                    cuLaunchKernel(packed, 4, 1, 1, 256, 1, 1, 0, NULL, of_packed, NULL);
                _exit(0);
            }
            wait(NULL);
        } else if (strcmp(words[i], "exec") == 0) {
            words[i] = words[1];
            words[i - 1] = words[0];
            execv(words[0], words + i - 1);
        } else if (strcmp(words[i], "threads") == 0) {
            pthread_t threads[6];
            Work work = {saxpy, of_saxpy};
            waiting = 6;
            for (int k = 0; k < 6; k++)
                pthread_create(&threads[k], NULL, launch_beside, &work);
            for (int k = 0; k < 6; k++)
                pthread_join(threads[k], NULL);
        } else if (strcmp(words[i], "record") == 0)
            cuStreamBeginCapture_v2(NULL, 0);
        else if (strcmp(words[i], "recorded") == 0)
            cuStreamEndCapture(NULL, &graph);
        else if (strcmp(words[i], "replay") == 0) {
            Handle executable;
            cuGraphInstantiateWithFlags(&executable, graph, 0);
            cuGraphLaunch(executable, NULL);
        } else if (strcmp(words[i], "abort") == 0)
            abort();
        else if (strcmp(words[i], "many") == 0) {
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            n = 1;
            for (int k = 0; k < 200000; k++) {
                cuLaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, of_saxpy, NULL);
                if (k % 100 == 99)
                    cuCtxSynchronize();
            }
            clock_gettime(CLOCK_MONOTONIC, &to);
            printf("%.3f us\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / 2e8);
        }
    }
    return cuCtxSynchronize() != 0;
}
