// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program under test: makes the Nth system call of a kind fail, or kills the process there. Calls are
// counted over all processes of the program, in a file that they map. In the environment: FAULT_PROGRAM (name of the
// program that is meant, others are left alone), FAULT_CALL (name of the call, or `any`), FAULT_AT (N, from 1),
// FAULT_MODE (once; from: that one and all later ones; kill), FAULT_FILE (two 32-bit numbers: calls counted, faults
// made). Calls that the C library makes by itself are not seen.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int *count;    // calls, faults
static const char *wanted, *mode;
static int at;

__attribute__((constructor)) static void prepare(void)
{
    const char *program = getenv("FAULT_PROGRAM"), *file = getenv("FAULT_FILE");
    if (program == NULL || file == NULL || strcmp(program, program_invocation_short_name) != 0) return;
    wanted = getenv("FAULT_CALL");
    mode = getenv("FAULT_MODE");
    at = atoi(getenv("FAULT_AT"));
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    void *p = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (p != MAP_FAILED) count = p;
}

// True if this call is to fail; errno is set.
static bool hit(const char *call, int err)
{
    if (count == NULL || (strcmp(wanted, call) != 0 && strcmp(wanted, "any") != 0)) return false;
    int n = atomic_fetch_add(&count[0], 1) + 1;
    if (n != at && !(n > at && strcmp(mode, "from") == 0)) return false;
    atomic_fetch_add(&count[1], 1);
    if (strcmp(mode, "kill") == 0) syscall(SYS_kill, getpid(), SIGKILL);
    errno = err;
    return true;
}

int socket(int domain, int type, int protocol)
{
    return hit("socket", EMFILE) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fd[2])
{
    return hit("socketpair", EMFILE) ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, fd);
}

int pipe2(int fd[2], int flags)
{
    return hit("pipe2", EMFILE) ? -1 : (int)syscall(SYS_pipe2, fd, flags);
}

int epoll_create1(int flags)
{
    return hit("epoll_create1", EMFILE) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int set, int op, int fd, struct epoll_event *e)
{
    return hit("epoll_ctl", ENOSPC) ? -1 : (int)syscall(SYS_epoll_ctl, set, op, fd, e);
}

int epoll_wait(int set, struct epoll_event *e, int most, int ms)
{
    return hit("epoll_wait", EINVAL) ? -1 : (int)syscall(SYS_epoll_pwait, set, e, most, ms, NULL, 8);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
    return hit("signalfd", ENOSYS) ? -1 : (int)syscall(SYS_signalfd4, fd, mask, 8, flags);
}

int eventfd(unsigned first, int flags)
{
    return hit("eventfd", EMFILE) ? -1 : (int)syscall(SYS_eventfd2, first, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    return hit("memfd_create", ENOSYS) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate(int fd, off_t bytes)
{
    return hit("ftruncate", ENOMEM) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

int ftruncate64(int fd, off_t bytes)
{
    return ftruncate(fd, bytes);
}

void *mmap(void *p, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return hit("mmap", ENOMEM) ? MAP_FAILED : (void *)syscall(SYS_mmap, p, bytes, prot, flags, fd, offset);
}

void *mmap64(void *p, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return mmap(p, bytes, prot, flags, fd, offset);
}

int dup2(int from, int to)
{
    return hit("dup2", EMFILE) ? -1 : from == to ? to : (int)syscall(SYS_dup3, from, to, 0);
}

static int open_file(const char *path, int flags, int mode_bits)
{
    return hit("open", EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode_bits);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int bits = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return open_file(path, flags, bits);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int bits = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return open_file(path, flags, bits);
}

int fcntl64(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    long arg = va_arg(ap, long);
    va_end(ap);
    bool makes = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    return makes && hit("dup", EMFILE) ? -1 : (int)syscall(SYS_fcntl, fd, command, arg);
}

int fcntl(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    long arg = va_arg(ap, long);
    va_end(ap);
    return fcntl64(fd, command, arg);
}

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    return hit("getrandom", ENOSYS) ? -1 : syscall(SYS_getrandom, to, bytes, flags);
}

pid_t fork(void)
{
    static pid_t (*next)(void);
    if (hit("fork", EAGAIN)) return -1;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "fork");
    return next();
}

// As the launcher calls it: without the optional arguments.
int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
    static int (*next)(int (*)(void *), void *, int, void *, ...);
    if (hit("clone", EAGAIN)) return -1;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "clone");
    return next(run, stack, flags, arg);
}

void *calloc(size_t n, size_t bytes)
{
    extern void *__libc_calloc(size_t, size_t);
    return hit("calloc", ENOMEM) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    extern void *__libc_realloc(void *, size_t);
    return hit("realloc", ENOMEM) ? NULL : __libc_realloc(p, bytes);
}
