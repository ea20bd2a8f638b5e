// SPDX-License-Identifier: BSD-3-Clause
// Takes what an allocation gives (alloc.h): asks the launch agents (agents.c, and those that are loaded) whose it is.
#include "alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agents.h"
#include "base/component.h"
#include "base/start.h"

static _Noreturn void refuse_wanted(const struct uno_found *all, size_t count)
{
    struct uno_bytes names = {0};
    for (size_t i = 0; i < count; i++) {
        if (all[i].state == UNO_FOUND_REFUSED) uno_log(0, "no component from %s: %s", all[i].file, all[i].why);
        if (all[i].is == NULL || all[i].is->kind != UNO_COMPONENT_AGENT) continue;
        uno_bytes_text(&names, uno_xformat(", %s", all[i].is->name));
    }
    uno_bytes_add(&names, "", 1);
    uno_usage("allocation is \"%s\", one of auto, none%s is expected", uno_start_allocation.text,
              uno_bytes_first(&names));
}

// The agent whose allocation this is, or the one that the parameter names.
static const struct uno_agent *find_manager(void)
{
    const char *wanted = uno_start_allocation.text;
    size_t count;
    struct uno_found *all = uno_components_all(&count);
    if (strcmp(wanted, "none") == 0) return NULL;
    if (strcmp(wanted, "auto") == 0) return uno_agent_here();
    for (struct uno_found *f = all; f < all + count; f++) {
        if (f->is == NULL || f->is->kind != UNO_COMPONENT_AGENT) continue;
        if (strcmp(f->is->name, wanted) != 0) continue;
        if (uno_component_usable(f)) return f->is->table;
        uno_usage("allocation is \"%s\", which cannot be used: %s", wanted, f->why);
    }
    refuse_wanted(all, count);
}

struct taken {
    struct uno_agent_hosts to;
    struct uno_plan *plan;
    char *words;    // of the agent for this allocation; NULL: its own
};

static void add_host(struct uno_agent_hosts *to, const char *name, int slots)
{
    uno_plan_host(((struct taken *)to)->plan, name, strlen(name), slots);
}

static void use_words(struct uno_agent_hosts *to, const char *words)
{
    struct taken *t = (struct taken *)to;
    free(t->words);
    t->words = uno_xstrdup(words);
}

static char *read_hosts(const struct uno_agent *m, struct taken *t)
{
    int at = uno_agent_told(m);
    if (!uno_agent_is_set(m->job) || at < 0)
        return uno_xformat("%s is %sset, but %s is%s", m->job, uno_agent_is_set(m->job) ? "" : "not ",
                           m->source[at < 0 ? 0 : at].variable, at < 0 ? " not" : "");
    const struct uno_agent_source *s = &m->source[at];
    char *why = s->read(&t->to, s->variable, s->counted);
    if (why == NULL && t->plan->nhosts == 0) why = uno_xformat("%s names no host", s->variable);
    return why;
}

// Whether the manager's name for a host means this one: whole, or up to the first dot.
static bool is_here(const char *name)
{
    char own[256] = "";
    const char *node = getenv("SLURMD_NODENAME");
    if (node != NULL && strcmp(node, name) == 0) return true;
    gethostname(own, sizeof own - 1);
    size_t n = strcspn(own, "."), len = strcspn(name, ".");
    bool cut = own[n] == '\0' || name[len] == '\0';
    return cut ? n == len && strncasecmp(own, name, n) == 0 : strcasecmp(own, name) == 0;
}

static bool holds_all(const struct uno_plan *given, const struct uno_plan *p)
{
    for (int h = 0; h < p->nhosts; h++) {
        int at = 0;
        while (at < given->nhosts && strcmp(given->host[at].name, p->host[h].name) != 0) at++;
        if (at == given->nhosts) return false;
    }
    return true;
}

static bool can_run(const char *command)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at != '\0'; at += strspn(at, ":")) {
        size_t len = strcspn(at, ":");
        char *file = uno_xformat("%.*s/%s", (int)len, at, command);
        bool there = access(file, X_OK) == 0;
        free(file);
        if (there) return true;
        at += len;
    }
    return false;
}

// What starts the daemons, in a word.
static const char *take_agent(struct uno_plan *p, const struct uno_agent *m, const char *words)
{
    if (uno_start_agent.origin != UNO_PARAM_DEFAULT) return "the launch agent";
    if (m->command == NULL || !can_run(m->command)) return "ssh";
    free(p->agent);
    p->agent = uno_xstrdup(words != NULL ? words : m->words);
    return m->command;
}

static void say_taken(const struct uno_plan *p, const struct uno_agent *m, const char *starter)
{
    char *list = uno_xstrdup("");
    int slots = 0;
    for (int h = 0; h < p->nhosts; h++) {
        char *longer = uno_xformat("%s%s%s:%d", list, h ? "," : "", p->host[h].name, p->host[h].slots);
        free(list);
        list = longer;
        slots += p->host[h].slots;
    }
    uno_log(p->verbose ? 0 : 1, "job %s of %s: %d host%s with %d slot%s, started by %s: %.600s", getenv(m->job),
            m->title, p->nhosts, p->nhosts == 1 ? "" : "s", slots, slots == 1 ? "" : "s", starter, list);
    free(list);
}

void uno_alloc_take(struct uno_plan *p)
{
    const struct uno_agent *m = find_manager();
    struct uno_plan given = {0};
    struct taken t = {.to = {add_host, use_words}, .plan = &given};
    if (m == NULL) return;
    if (m->job == NULL) {
        take_agent(p, m, NULL);    // it starts programs alone
        return;
    }
    char *why = read_hosts(m, &t);
    if (why != NULL && p->nhosts == 0)
        uno_usage("the allocation of %s cannot be used: %s; name hosts by -host, or leave it alone by "
                  "--set allocation=none",
                  m->title, why);
    int level = p->verbose ? 0 : 1;
    if (why != NULL) {
        uno_log(level, "the allocation of %s is left alone: %s", m->title, why);
        free(why);
        return;
    }
    if (p->nhosts > 0 && !holds_all(&given, p)) {
        uno_log(level, "the allocation of %s is left alone: it does not hold all hosts of the command line", m->title);
        return;
    }
    if (p->nhosts == 0) {
        p->host = given.host;
        p->nhosts = given.nhosts;
    }
    for (int h = 0; h < p->nhosts; h++) p->host[h].local |= is_here(p->host[h].name);
    say_taken(p, m, take_agent(p, m, t.words));
}
