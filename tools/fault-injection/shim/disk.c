/* A disk that can lose power, fail and be full (reliability 3, P1, D1, D2): preloaded into a worker, it stands between the program and the
 * files under one folder. Before each write it notes what was there; whoever kills the worker takes back what was not synced by then.
 *
 * Variables
 *   CRASH_DISK_FOLDER      files under this folder are meant; without it nothing happens
 *   CRASH_DISK_LOG         where the notes go
 *   CRASH_DISK_SYNC_US     microseconds before each sync
 *   CRASH_DISK_DEAF        syncs are answered and not done: a disk that lies, to see that this is found
 *   CRASH_DISK_FAIL_SYNC   the sync of this number fails with EIO, once
 *   CRASH_DISK_FAIL_WRITE  the write of this number fails with EIO, once
 *   CRASH_DISK_FAIL_ON     all later syncs or writes fail too: a disk that is gone
 *   CRASH_DISK_CUT         the process is killed when it comes to the change of this number
 *   CRASH_DISK_FULL        after so many bytes there is no room ..
 *   CRASH_DISK_ROOM        .. until this file exists
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE = 2, SYNC = 3, CREATE = 4, UNLINK = 5, SYNC_FAILED = 6, FAULT = 7 };

/* A note, followed by its path and the bytes that were there. */
struct note {
    uint32_t magic, kind, path_len, pad;
    uint64_t offset, len, old_size, kept;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_len;
static int notes = -1;
static long sync_us, deaf, fail_sync, fail_write, fail_on, cut, full_after = -1;
static const char *room, *notes_path;
static long syncs, writes, bytes, unlinked, changes;

static long number(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? atol(value) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
    folder = getenv("CRASH_DISK_FOLDER");
    notes_path = getenv("CRASH_DISK_LOG");
    if (!folder || !notes_path) {
        folder = NULL;
        return;
    }
    folder_len = strlen(folder);
    sync_us = number("CRASH_DISK_SYNC_US", 0);
    deaf = number("CRASH_DISK_DEAF", 0);
    fail_sync = number("CRASH_DISK_FAIL_SYNC", 0);
    fail_write = number("CRASH_DISK_FAIL_WRITE", 0);
    fail_on = number("CRASH_DISK_FAIL_ON", 0);
    cut = number("CRASH_DISK_CUT", 0);
    full_after = number("CRASH_DISK_FULL", -1);
    room = getenv("CRASH_DISK_ROOM");
    notes = syscall(SYS_openat, AT_FDCWD, notes_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Whether a path is meant. What SQLite shares between processes is no part of what has to survive. */
static int is_ours(const char *path) {
    size_t len = strlen(path);
    if (!folder || notes < 0 || strncmp(path, folder, folder_len) != 0) return 0;
    return len < 4 || strcmp(path + len - 4, "-shm") != 0;
}

static int path_of(int fd, char *path) {
    char link[64];
    if (!folder || fd <= 2) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return is_ours(path);
}

static void put(const void *data, size_t len) {
    const char *from = data;
    while (len > 0) {
        ssize_t done = syscall(SYS_write, notes, from, len);
        if (done <= 0) abort();
        from += done;
        len -= (size_t)done;
    }
}

static void note(uint32_t kind, const char *path, uint64_t offset, uint64_t len, uint64_t old_size,
                 const void *kept, uint64_t kept_len) {
    if (cut && kind != FAULT && ++changes == cut) {
        note(FAULT, path, 0, 0, 0, NULL, 0);
        kill(getpid(), SIGKILL);
    }
    struct note head = {0x4b534944, kind, (uint32_t)strlen(path), 0, offset, len, old_size, kept_len};
    put(&head, sizeof head);
    put(path, head.path_len);
    if (kept_len) put(kept, kept_len);
}

/* A file to read from what `fd` writes to, which may be open for writing only. It is never closed: that would give up the POSIX locks
 * that SQLite holds on the same file. */
static int reader_of(const char *path, const struct stat *is) {
    static struct { dev_t dev; ino_t ino; int fd; } readers[1024];
    static int count;
    for (int i = 0; i < count; i++)
        if (readers[i].dev == is->st_dev && readers[i].ino == is->st_ino) return readers[i].fd;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0 || count == 1024) abort();
    readers[count].dev = is->st_dev;
    readers[count].ino = is->st_ino;
    readers[count].fd = fd;
    count++;
    return fd;
}

/* Notes what is about to be overwritten or cut off. */
static void note_old(uint32_t kind, int fd, const char *path, uint64_t offset, uint64_t len) {
    struct stat is;
    if (fstat(fd, &is) != 0) return;
    uint64_t size = (uint64_t)is.st_size;
    uint64_t there = offset < size ? (size - offset < len ? size - offset : len) : 0;
    char *kept = there ? malloc(there) : NULL;
    uint64_t done = 0;
    while (done < there) {
        ssize_t more = pread(reader_of(path, &is), kept + done, there - done, (off_t)(offset + done));
        if (more <= 0) abort();
        done += (uint64_t)more;
    }
    note(kind, path, offset, len, size, kept, there);
    free(kept);
}

/* Whether the fault of number `due` comes at this number. */
static int is_due(long due, long number) { return due && (fail_on ? number >= due : number == due); }

/* Whether this write fails; the error is set. */
static int fails(const char *path, size_t len) {
    writes++;
    if (is_due(fail_write, writes)) {
        note(FAULT, path, 0, 0, 0, NULL, 0);
        errno = EIO;
        return 1;
    }
    if (full_after >= 0 && bytes + (long)len > full_after && !(room && access(room, F_OK) == 0)) {
        note(FAULT, path, 0, 0, 0, NULL, 0);
        errno = ENOSPC;
        return 1;
    }
    bytes += (long)len;
    return 0;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return syscall(SYS_pwrite64, fd, data, len, offset);
    pthread_mutex_lock(&lock);
    ssize_t done = -1;
    if (!fails(path, len)) {
        note_old(WRITE, fd, path, (uint64_t)offset, len);
        done = syscall(SYS_pwrite64, fd, data, len, offset);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset) {
    return pwrite64(fd, data, len, offset);
}

ssize_t write(int fd, const void *data, size_t len) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return syscall(SYS_write, fd, data, len);
    pthread_mutex_lock(&lock);
    ssize_t done = -1;
    if (!fails(path, len)) {
        int flags = fcntl(fd, F_GETFL);
        off_t at = lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
        note_old(WRITE, fd, path, (uint64_t)at, len);
        done = syscall(SYS_write, fd, data, len);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    struct stat is;
    uint64_t cut = fstat(fd, &is) == 0 && is.st_size > size ? (uint64_t)(is.st_size - size) : 0;
    note_old(TRUNCATE, fd, path, (uint64_t)size, cut);
    int done = (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int sync_file(int fd, long how) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return (int)syscall(how, fd);
    if (sync_us) usleep((useconds_t)sync_us);
    pthread_mutex_lock(&lock);
    syncs++;
    int done = -1;
    if (is_due(fail_sync, syncs)) {
        note(SYNC_FAILED, path, 0, 0, 0, NULL, 0);
        note(FAULT, path, 0, 0, 0, NULL, 0);
        errno = EIO;
    } else {
        /* The notes are what counts as the disk, so nothing has to wait for the real one. */
        if (!deaf) note(SYNC, path, 0, 0, 0, NULL, 0);
        done = 0;
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

static int open_any(int at, const char *path, int flags, mode_t mode) {
    int made = folder && (flags & O_CREAT) && is_ours(path) && access(path, F_OK) != 0;
    if (!made) return (int)syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&lock);
    note(CREATE, path, 0, 0, 0, NULL, 0);
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_any(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_any(at, path, flags, mode); }

/* Another name of a file: what is lost of it is the name. */
int linkat(int from_at, const char *from, int at, const char *path, int flags) {
    pthread_mutex_lock(&lock);
    if (folder && is_ours(path) && access(path, F_OK) != 0) note(CREATE, path, 0, 0, 0, NULL, 0);
    int done = (int)syscall(SYS_linkat, from_at, from, at, path, flags);
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *path) {
    if (!is_ours(path)) return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    char kept[PATH_MAX];
    pthread_mutex_lock(&lock);
    snprintf(kept, sizeof kept, "%s.%ld", notes_path, unlinked++);
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, kept, 0) == 0) note(UNLINK, path, 0, 0, 0, kept, strlen(kept));
    int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_unlock(&lock);
    return done;
}
