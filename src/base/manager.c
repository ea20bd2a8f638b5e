// SPDX-License-Identifier: BSD-3-Clause
// Finds the launcher that started this process, and carries bytes through its texts (manager.h). Called by
// core/managed.c and pm.c.
#include "base/manager.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/component.h"
#include "base/hex.h"
#include "base/param.h"

static struct uno_param manager_choice = UNO_PARAM_TEXT(
    "manager", "auto",
    "whose variables tell a rank who it is, when mpiexec's do not: auto, none, pmi1, pmix or the name of a "
    "component; none: it is a job of its own");
UNO_PARAM_DECLARE(manager_choice);

const struct uno_manager *uno_manager;
struct uno_manager_place uno_manager_self;

static const char *is_chosen(const struct uno_component *c, bool *is)
{
    *is = strcmp(manager_choice.text, "auto") == 0 || strcmp(manager_choice.text, c->name) == 0;
    return *is ? "where its launcher starts the program" : "the parameter manager says another";
}

static const struct uno_services services = {.kind = UNO_COMPONENT_MANAGER, .chosen = is_chosen};
UNO_SERVICES_DECLARE(services);

// A word that names none is told, with those that there are.
static int check_choice(const struct uno_found *all, size_t count)
{
    const char *word = manager_choice.text;
    char names[200] = "auto, none";
    if (strcmp(word, "auto") == 0 || strcmp(word, "none") == 0) return MPI_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].is || all[i].is->kind != UNO_COMPONENT_MANAGER) continue;
        if (strcmp(all[i].is->name, word) == 0) return MPI_SUCCESS;
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, ", %s", all[i].is->name);
    }
    return uno_fail(MPI_ERR_ARG, "manager is \"%s\", one of %s is expected", word, names);
}

// Under a launcher that speaks several, the one with the highest priority is taken: PMIx scales better than PMI-1. The
// own ones say in find that they cannot be used.
int uno_manager_find(void)
{
    size_t count;
    struct uno_found *all = uno_components_all(&count);
    if (uno_manager) return MPI_SUCCESS;
    int err = check_choice(all, count);
    for (size_t i = 0; i < count && !err; i++) {
        if (!all[i].is || all[i].is->kind != UNO_COMPONENT_MANAGER) continue;
        if (strcmp(manager_choice.text, "auto") != 0 && strcmp(manager_choice.text, all[i].is->name) != 0) continue;
        if (all[i].file && !uno_component_usable(&all[i])) continue;
        const struct uno_manager *m = all[i].is->table;
        if (!m->find(&uno_manager_self, &err) || err) continue;
        uno_manager = m;
        uno_log(2, "started by a launcher that speaks %s", m->title);
        break;
    }
    return err;
}

// A text is the length of the whole value, a colon, and the piece's bytes as hexadecimal digits.
#define HEAD 12
#define PIECE ((UNO_MANAGER_TEXT - HEAD - 1) / 2)

static void name_piece(char *name, size_t room, const char *key, size_t i)
{
    snprintf(name, room, "%s.%zu", key, i);
}

int uno_manager_put(const char *key, const void *value, size_t bytes)
{
    const unsigned char *from = value;
    for (size_t at = 0, i = 0; at < bytes || i == 0; i++) {
        char name[64], text[UNO_MANAGER_TEXT];
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        int used = snprintf(text, sizeof text, "%zu:", bytes);
        uno_hex_put(text + used, from + at, n);
        name_piece(name, sizeof name, key, i);
        int e = uno_manager->put(name, text);
        if (e) return e;
        at += n;
    }
    return 0;
}

// The bytes of one text go to `to` while there is room. How many there were, or -1: it is no such text.
static long take_piece(const char *text, unsigned char *to, size_t room, size_t *whole)
{
    char *end;
    *whole = strtoul(text, &end, 10);
    if (end == text || *end != ':') return -1;
    size_t digits = strlen(end + 1), n = digits / 2;
    return digits % 2 == 0 && n <= room && uno_hex_get(end + 1, to, n) ? (long)n : -1;
}

int uno_manager_get(int rank, const char *key, void *value, size_t *bytes)
{
    size_t room = *bytes, at = 0, whole = 0, i = 0;
    do {
        char name[64], text[UNO_MANAGER_TEXT];
        name_piece(name, sizeof name, key, i++);
        int e = uno_manager->get(rank, name, text, sizeof text);
        if (e) return e;
        long n = take_piece(text, (unsigned char *)value + at, room - at, &whole);
        if (whole > room) return EMSGSIZE;
        if (n < 0 || (n == 0 && whole > 0)) return EBADMSG;
        at += (size_t)n;
    } while (at < whole);
    *bytes = whole;
    return 0;
}
