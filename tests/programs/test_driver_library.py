"""C programs at the edges of the driver library: environments, descriptors, threads, children, odd arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.programs import libraries
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin, LaunchFault


def _exec(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Build a program and run it under `gpuregress exec`."""
    source, path = folder / "program.c", folder / "program"
    source.write_text(f'#include "driver_program.h"\n{body}', encoding="utf-8")
    subprocess.run(
        ["cc", "-w", f"-I{Path(__file__).parent}", str(source), "-o", str(path), str(libraries.driver()), "-lpthread"],
        check=True,
    )
    command = [sys.executable, "-m", "gpuregress", "exec", *options, "--", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


def test_an_empty_environment_hides_nothing(tmp_path: Path) -> None:
    done = _exec(
        tmp_path, "int main(void) { char handle[64]; clearenv(); start(); cuIpcGetMemHandle(handle, 0); return 0; }"
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "not supported: cuIpcGetMemHandle" in done.stderr


@pytest.mark.parametrize(
    ("limit", "option"),
    [
        ("RLIMIT_AS, &(struct rlimit){20000000000, 20000000000}", "ulimit -v"),
        ("RLIMIT_FSIZE, &(struct rlimit){9, 9}", "ulimit -f"),
    ],
)
def test_a_virtual_gpu_that_cannot_start_is_reported(tmp_path: Path, limit: str, option: str) -> None:
    done = _exec(tmp_path, f"int main(void) {{ setrlimit({limit}); return cuInit(0) ? 0 : 5; }}")
    assert done.returncode == 4, done.stdout + done.stderr
    assert option in done.stderr


def test_a_program_without_standard_descriptors(tmp_path: Path) -> None:
    body = """
    int main(void) {
        close(0), close(1);
        start();
        for (int number = 0; number < 64; number++)
            if (number != 2 && write(number, "01234567890123456789", 20) > 0) return 9;
        Address from = memory(4);
        CHECK(cuMemsetD8_v2(from, 1, 4));
        launch("copy", 1, memory(4), from);
        return cuCtxSynchronize();
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")


def test_memory_of_a_kernel_outlives_another_context(tmp_path: Path) -> None:
    body = """
    int main(void) {
        void *other;
        Address pointer, at = (start(), memory(8)), to = memory(4);
        launch("grab", 1, at, 0);
        CHECK(cuMemcpyDtoH_v2(&pointer, at, 8));
        CHECK(cuCtxCreate_v2(&other, 0, 0));
        CHECK(cuCtxDestroy_v2(other));
        CHECK(cuCtxSetCurrent(context));
        launch("copy", 1, to, pointer);
        int value;
        CHECK(cuMemcpyDtoH_v2(&value, to, 4));
        return value == 5 ? 0 : 9;
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_repeated_launch_is_not_waited_for_and_its_fault_comes_later(tmp_path: Path) -> None:
    body = """
    int main(void) {
        int values[4] = {0};
        Address from = (start(), memory(16)), to = memory(16);
        CHECK(cuMemsetD8_v2(from, 1, 16));
        launch("copy", 4, to, from);
        launch("copy", 4, from, to);
        launch("copy", 4, to, from);
        CHECK(cuMemcpyDtoH_v2(values, to, 16)); /* it waits for them */
        EXPECT(values[3] == 0x01010101);
        void *function, *bad[] = {&to, &(Address){64}}, *good[] = {&to, &from};
        CHECK(cuModuleGetFunction(&function, module, "copy"));
        CHECK(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, bad, NULL));
        CHECK(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, good, NULL));
        EXPECT(cuMemcpyDtoH_v2(values, to, 16) == 700);
        EXPECT(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, good, NULL) == 700);
        return 0;
    }"""
    done = _exec(tmp_path, body, "--log", "launches")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "copy: out-of-bounds" in done.stderr
    events = launch_log.read(tmp_path / "launches").events
    assert [event.number for event in events if isinstance(event, LaunchBegin)] == [1, 2, 3, 4]
    assert [event.number for event in events if isinstance(event, LaunchFault)] == [4]


def test_launches_that_a_program_leaves_behind_are_done(tmp_path: Path) -> None:
    body = """
    int main(int count, char **arguments) {
        start();
        Address to = memory(16);
        for (int index = 0; index < 100; index++) launch("copy", 4, to, to);
        launch("copy", 4, to, 64);
        return 0;
    }"""
    done = _exec(tmp_path, body, "--log", "launches")
    assert (done.returncode, done.stderr.count("out-of-bounds")) == (3, 2), done.stderr
    assert launch_log.read(tmp_path / "launches").events[-1].number == 101


def test_a_copy_to_freed_memory_does_not_count_for_the_next(tmp_path: Path) -> None:
    body = """
    int main(void) {
        int values[4] = {0};
        start();
        Address first = memory(16), to = memory(16);
        CHECK(cuMemcpyHtoD_v2(first, values, 16));
        CHECK(cuMemFree_v2(first));
        Address second = memory(16);
        EXPECT(second == first);
        launch("copy", 4, to, second);
        return 0;
    }"""
    done = _exec(tmp_path, body, "--check", "uninitialized")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "uninitialized" in done.stderr


def test_copies_of_two_threads_are_all_noted(tmp_path: Path) -> None:
    body = """
    enum { ROUNDS = 30, COPIES = 1000 };
    static Address part[2][ROUNDS];
    static volatile int arrived;
    static void meet(int meeting) {
        __sync_fetch_and_add(&arrived, 1);
        while (arrived < 2 * meeting) continue;
    }
    static void copy(size_t thread, int round) {
        meet(2 * round + 1);
        for (int index = COPIES - 1; index >= 0; index--)
            CHECK(cuMemcpyHtoD_v2(part[thread][round] + 4 * index, &index, 4));
        meet(2 * round + 2);
    }
    static void *in_thread(void *argument) {
        CHECK(cuCtxSetCurrent(context));
        for (int round = 0; round < ROUNDS; round++) copy(1, round);
        return NULL;
    }
    int main(void) {
        pthread_t thread;
        start();
        Address to = memory(4 * COPIES);
        for (int index = 0; index < 2 * ROUNDS; index++) part[index % 2][index / 2] = memory(4 * COPIES);
        pthread_create(&thread, NULL, in_thread, NULL);
        for (int round = 0; round < ROUNDS; round++) {
            copy(0, round);
            launch("copy", COPIES, to, part[0][round]);
            launch("copy", COPIES, to, part[1][round]);
        }
        return 0;
    }"""
    done = _exec(tmp_path, body, "--check", "uninitialized")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_each_thread_waits_for_its_own_launches(tmp_path: Path) -> None:
    body = """
    enum { THREADS = 4, ROUNDS = 200 };
    static void *in_thread(void *argument) {
        CHECK(cuCtxSetCurrent(context));
        Address from = memory(4), to = memory(4);
        for (int round = 0; round < ROUNDS; round++) {
            int value = -1;
            CHECK(cuMemcpyHtoD_v2(from, &round, 4));
            launch("copy", 1, to, from);
            CHECK(cuMemcpyDtoH_v2(&value, to, 4));
            EXPECT(value == round);
        }
        return NULL;
    }
    int main(void) {
        pthread_t threads[THREADS];
        start();
        for (int index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, in_thread, NULL);
        for (int index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
        return 0;
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_odd_addresses_sizes_and_stacks(tmp_path: Path) -> None:
    body = """
    static void *in_thread(void *argument) {
        int blocks;
        void *function, *functions[8];
        CHECK(cuCtxSetCurrent(context));
        memory(16);
        CHECK(cuModuleGetFunction(&function, module, "copy"));
        CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
        CHECK(cuModuleEnumerateFunctions(functions, 3, module));
        return NULL;
    }
    int main(void) {
        start();
        Address first = memory(64), second = memory(64), large;
        size_t pitch;
        EXPECT(cuMemcpyDtoH_v2((void *)first, second, 16) == 1);
        EXPECT(cuMemcpyHtoD_v2(first, (void *)second, 16) == 1);
        EXPECT(cuMemAllocPitch_v2(&large, &pitch, 512, (1ull << 55) + 1, 4) == 2);
        EXPECT(cuMemAllocPitch_v2(&large, &pitch, SIZE_MAX, 1, 4) == 2);
        void *library = dlopen("libnvJitLink.so.13", RTLD_NOW), *linker;
        int (*create)(void **, unsigned, const char **) = dlsym(library, "nvJitLinkCreate");
        int (*get)(void *, void *) = dlsym(library, "nvJitLinkGetLinkedCubin");
        CHECK(create(&linker, 0, NULL));
        EXPECT(get(linker, &pitch) != 0);
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        CHECK(pthread_attr_setstacksize(&attributes, 65536));
        CHECK(pthread_create(&thread, &attributes, in_thread, NULL));
        CHECK(pthread_join(thread, NULL));
        return 0;
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_pinned_memory_without_an_address_of_its_own_is_refused(tmp_path: Path) -> None:
    body = """
    int main(void) {
        void *pinned;
        start();
        for (int index = 0; index < 130; index++) if (cuMemHostAlloc(&pinned, 64, 0) == 2) return 0;
        return 9;
    }"""
    done = _exec(tmp_path, body)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "managed and pinned memory at once" in done.stderr


def test_a_child_of_fork_during_a_launch_does_not_hang(tmp_path: Path) -> None:
    body = """
    static Address flag;
    static void *in_thread(void *argument) {
        CHECK(cuCtxSetCurrent(context));
        launch("spin", 1, flag, 0);
        return NULL;
    }
    int main(void) {
        pthread_t thread;
        int status;
        char handle[64];
        start();
        flag = memory(8);
        CHECK(cuMemsetD8_v2(flag, 0, 8));
        pthread_create(&thread, NULL, in_thread, NULL);
        for (int count = 0; count == 0;) CHECK(cuMemcpyDtoH_v2(&count, flag + 4, 4));
        if (fork() == 0) alarm(5), cuIpcGetMemHandle(handle, 0), _exit(7);
        wait(&status);
        int value = 1;
        CHECK(cuMemcpyHtoD_v2(flag, &value, 4));
        pthread_join(thread, NULL);
        EXPECT(status == 7 << 8);
        return 0;
    }"""
    done = _exec(tmp_path, body)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "the program itself exited with 0" in done.stderr


def test_registered_memory_is_exactly_what_was_registered(tmp_path: Path) -> None:
    body = """
    int main(void) {
        int *page, status;
        Address first, second;
        start();
        posix_memalign((void **)&page, 4096, 8192);
        memset(page, 0, 8192);
        CHECK(cuMemHostRegister_v2(page, 16, 0));
        CHECK(cuMemHostRegister_v2(page + 8, 16, 0));
        EXPECT(cuMemHostRegister_v2(page + 2, 64, 0) == 712);
        EXPECT(cuMemHostUnregister(page + 4) == 713);
        CHECK(cuMemHostGetDevicePointer_v2(&first, page, 0));
        CHECK(cuMemHostGetDevicePointer_v2(&second, page + 8, 0));
        page[0] = 3, page[3] = 4, page[4] = 5;
        launch("copy", 4, second, first);
        EXPECT(page[8] == 3 && page[11] == 4 && page[4] == 5);
        if (fork() == 0) page[0] = page[100] = 9, _exit(0);
        wait(&status);
        EXPECT(page[0] == 3 && page[100] == 0);
        page[8] = 6;
        int value;
        CHECK(cuMemcpyDtoH_v2(&value, second, 4));
        EXPECT(value == 6);
        CHECK(cuMemcpyHtoD_v2(first, &value, 4));
        EXPECT(page[0] == 6);
        CHECK(cuMemHostUnregister(page));
        launch("copy", 5, memory(20), second);
        return cuCtxSynchronize() == 700 ? 0 : 9;
    }"""
    done = _exec(tmp_path, body)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "out-of-bounds read of 4 bytes at cuMemHostRegister" in done.stderr
    assert "the program itself exited with 0" in done.stderr


def test_a_file_of_any_size_is_linked(tmp_path: Path) -> None:
    body = """
    int main(void) {
        void *linker, *image, *function;
        FILE *file = fopen("large.ptx", "w");
        start();
        fprintf(file, ".version 8.0\\n.target sm_90\\n.address_size 64\\n//%*s\\n", 1 << 24, "");
        fprintf(file, ".visible .entry last() { ret; }\\n");
        fclose(file);
        CHECK(cuLinkCreate_v2(0, NULL, NULL, &linker));
        CHECK(cuLinkAddFile_v2(linker, 1, "large.ptx", 0, NULL, NULL));
        remove("large.ptx");
        CHECK(cuLinkComplete(linker, &image, NULL));
        CHECK(cuModuleLoadData(&module, image));
        CHECK(cuModuleGetFunction(&function, module, "last"));
        return 0;
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_names_of_any_length(tmp_path: Path) -> None:
    body = """
    int main(void) {
        enum { LENGTH = 40000 };
        static char text[4 * LENGTH], name[LENGTH];
        const char *found;
        void *functions[3];
        unsigned count;
        start();
        memset(name, 'n', LENGTH - 1);
        int size = sprintf(text, ".version 8.0\\n.target sm_90\\n.address_size 64\\n");
        for (int kernel = 0; kernel < 3; kernel++)
            size += sprintf(text + size, ".visible .entry %s%d() { ret; }\\n", name, kernel);
        CHECK(cuModuleLoadData(&module, text));
        CHECK(cuModuleGetFunctionCount(&count, module));
        EXPECT(count == 3);
        CHECK(cuModuleEnumerateFunctions(functions, 3, module));
        CHECK(cuFuncGetName(&found, functions[2]));
        EXPECT(strlen(found) == LENGTH && found[LENGTH - 1] == '2');
        return 0;
    }"""
    done = _exec(tmp_path, body)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
