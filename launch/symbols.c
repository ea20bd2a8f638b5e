// SPDX-License-Identifier: BSD-3-Clause
// Names for addresses (profile.h): asks addr2line, and where that is not installed reads the ELF symbol table itself,
// which knows functions but no lines. Called by the front when the job is over.
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile.h"

#define AT_ONCE 256    // addresses per call of addr2line

// Starts addr2line; a stream of two lines an address. NULL: it cannot be started.
static FILE *ask(const char *module, const struct uno_place *place, size_t count, pid_t *pid)
{
    char *argv[AT_ONCE + 8] = {"addr2line", "-f", "-C", "-e", uno_xstrdup(module)};
    size_t n = 5;
    for (size_t i = 0; i < count; i++)
        argv[n++] = uno_xformat("0x%llx", (unsigned long long)place[i].offset - 1);    // within the call, not behind it
    int fd[2];
    *pid = pipe2(fd, O_CLOEXEC) == 0 ? fork() : -1;
    if (*pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(fd[1], 1), dup2(null, 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    for (size_t i = 4; i < n; i++) free(argv[i]);
    if (*pid < 0) return NULL;
    close(fd[1]);
    return fdopen(fd[0], "r");
}

static void take_line(struct uno_place *p, char *function, char *where)
{
    function[strcspn(function, "\n")] = '\0';
    where[strcspn(where, " \n")] = '\0';
    char *colon = strrchr(where, ':');
    if (strcmp(function, "??") != 0) p->function = uno_xstrdup(function);
    if (!colon || where[0] == '?' || (p->line = atoi(colon + 1)) == 0) return;
    *colon = '\0';
    p->file = uno_xstrdup(where);
}

static bool by_addr2line(const char *module, struct uno_place *place, size_t count)
{
    pid_t pid;
    int status = 0;
    FILE *f = ask(module, place, count, &pid);
    if (!f) return false;
    char function[512], where[1024];
    for (size_t i = 0; i < count && fgets(function, sizeof function, f) && fgets(where, sizeof where, f); i++)
        take_line(&place[i], function, where);
    fclose(f);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const Elf64_Shdr *table_of(const char *data, size_t bytes, uint32_t type)
{
    const Elf64_Ehdr *h = (const void *)data;
    if (bytes < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_shoff + (uint64_t)h->e_shnum * sizeof(Elf64_Shdr) > bytes)
        return NULL;
    const Elf64_Shdr *s = (const void *)(data + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != type || s[i].sh_link >= h->e_shnum) continue;
        const Elf64_Shdr *names = &s[s[i].sh_link];
        if (s[i].sh_offset + s[i].sh_size <= bytes && names->sh_offset + names->sh_size <= bytes) return &s[i];
    }
    return NULL;
}

static void by_table(const char *data, size_t bytes, uint32_t type, struct uno_place *p)
{
    const Elf64_Shdr *table = table_of(data, bytes, type);
    if (!table) return;
    const Elf64_Shdr *names =
        (const Elf64_Shdr *)(const void *)(data + ((const Elf64_Ehdr *)(const void *)data)->e_shoff) + table->sh_link;
    const Elf64_Sym *sym = (const void *)(data + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *sym; i++) {
        bool holds = ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC && p->offset - 1 - sym[i].st_value < sym[i].st_size;
        if (!holds || sym[i].st_name >= names->sh_size) continue;
        p->function = uno_xstrdup(data + names->sh_offset + sym[i].st_name);
        return;
    }
}

static void by_elf(const char *module, struct uno_place *place, size_t count)
{
    int fd = open(module, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return;
    const char *data = fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED) return;
    for (size_t i = 0; i < count; i++) {
        if (!place[i].function) by_table(data, (size_t)st.st_size, SHT_SYMTAB, &place[i]);
        if (!place[i].function) by_table(data, (size_t)st.st_size, SHT_DYNSYM, &place[i]);
    }
    munmap((void *)(uintptr_t)data, (size_t)st.st_size);
}

void uno_symbols_find(const char *module, struct uno_place *place, size_t count)
{
    for (size_t at = 0; at < count; at += AT_ONCE) {
        size_t n = count - at < AT_ONCE ? count - at : AT_ONCE;
        if (!by_addr2line(module, place + at, n)) break;
    }
    by_elf(module, place, count);
}
