// SPDX-License-Identifier: BSD-3-Clause
// What the program written by tools/abi/argument_tests.py runs on: the objects that its calls take, and the loop over
// its cases. A case is a call with one wrong argument; it must return an error that names the call and the argument.
// Cases run in a child process; one that crashes or hangs is told by its name, and the next child goes on behind
// it.
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// A call with right arguments, run before MPI_Init and after MPI_Finalize. anytime: allowed there.
struct call {
    const char *name;
    bool anytime;
    int (*run)(void);
};

#ifndef HANG
#define HANG 300    // seconds
#endif

enum { LEGAL = -1, ANY_ERROR = -2, ANY_RESULT = -3 };    // in place of an error class

struct test {
    const char *call, *argument;
    const char *kind;    // of the handle that is wrong, NULL: the argument is NULL
    int want;            // error class, or one of the above
    int (*run)(void *bad);
};

static MPI_Comm comm, cart, graph, dist, victim;
static MPI_Group group;
static MPI_Info info;
static MPI_Session session;
static MPI_Errhandler errhandler;
static MPI_Op op;
static MPI_Datatype type;
static MPI_File file;
static bool outside;    // before MPI_Init or after MPI_Finalize
static MPI_Request request, persistent, psend, precv, general;
static MPI_Win win, dynamic;
static MPI_T_enum tool_enum;
static MPI_T_cvar_handle tool_control;
static MPI_T_pvar_session tool_session;
static MPI_T_pvar_handle tool_counter;
static MPI_T_event_registration tool_registration;
static MPI_T_event_instance tool_instance;    // there is one inside a callback only
static char memory[4096];
static int comm_key, type_key, win_key, one[64], zero[64], steps[64], ranges[1][3], distribs[] = {MPI_DISTRIBUTE_BLOCK};
static MPI_Count ones[64];
static MPI_Aint aints[64], wide_steps[64];
static MPI_Datatype types[64];
static MPI_Request requests[64];
static MPI_Status statuses[64];
static char buf[1 << 16], more[1 << 16], out[1 << 16], text[256] = "key";
static char *words[] = {text, NULL};
static char **argvs[] = {words};

static void nothing(void)
{
}

// The file, once the first half of a split collective was called on it.
#define BEGUN(call) (outside ? file : ((void)(call), file))

// A name that was not given before.
static const char *fresh_name(const char *stem)
{
    static char name[64];
    static int number;
    snprintf(name, sizeof name, "%s%d", stem, number++);
    return name;
}

// Where a handle passed by its address lies.
static void **box(void *handle)
{
    static void *boxed[64];
    for (int i = 0; i < 64; i++) boxed[i] = handle;
    return boxed;
}

// Wrong handles: numbers of the first page, predefined handles and live objects of other kinds.
struct wrong {
    const char *name, *kind;
    void *value;
};
static struct wrong wrong[32];
static int wrongs;

static void add_wrong(const char *name, const char *kind, const void *value)
{
    wrong[wrongs++] = (struct wrong){name, kind, (void *)(uintptr_t)value};
}

// Handles of objects that were freed just now.
static void *freed_comm(void)
{
    MPI_Comm h, was;
    MPI_Comm_dup(MPI_COMM_SELF, &h);
    was = h;
    MPI_Comm_free(&h);
    return was;
}

static void *freed_group(void)
{
    MPI_Group h, was;
    MPI_Group_incl(group, 1, zero, &h);
    was = h;
    MPI_Group_free(&h);
    return was;
}

static void *freed_info(void)
{
    MPI_Info h, was;
    MPI_Info_create(&h);
    was = h;
    MPI_Info_free(&h);
    return was;
}

static void *freed_session(void)
{
    MPI_Session h, was;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &h);
    was = h;
    MPI_Session_finalize(&h);
    return was;
}

static void *freed_type(void)
{
    MPI_Datatype h, was;
    MPI_Type_contiguous(3, MPI_INT, &h);
    was = h;
    MPI_Type_free(&h);
    return was;
}

static void *freed_request(void)
{
    MPI_Request h, was;
    MPI_Send_init(buf, 1, MPI_INT, 0, 0, comm, &h);
    was = h;
    MPI_Request_free(&h);
    return was;
}

static void *freed_errhandler(void)
{
    MPI_Errhandler h, was;
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)nothing, &h);
    was = h;
    MPI_Errhandler_free(&h);
    return was;
}

static void *freed_op(void)
{
    MPI_Op h, was;
    MPI_Op_create((MPI_User_function *)nothing, 1, &h);
    was = h;
    MPI_Op_free(&h);
    return was;
}

static void *freed_win(void)
{
    MPI_Win h, was;
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &h);
    was = h;
    MPI_Win_free(&h);
    return was;
}

static void *freed_file(void)
{
    MPI_File h, was;
    MPI_File_open(comm, "file", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &h);
    was = h;
    MPI_File_close(&h);
    return was;
}

static void *freed_message(void)
{
    MPI_Message h, was;
    MPI_Send(buf, 1, MPI_INT, 0, 5, comm);
    MPI_Mprobe(0, 5, comm, &h, MPI_STATUS_IGNORE);
    was = h;
    MPI_Mrecv(more, 1, MPI_INT, &h, MPI_STATUS_IGNORE);
    return was;
}

static MPI_T_event_registration fresh_registration(void)
{
    MPI_T_event_registration h = NULL;
    MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &h);
    return h;
}

static void *freed_registration(void)
{
    MPI_T_event_registration was = fresh_registration();
    MPI_T_event_handle_free(was, NULL, NULL);
    return was;
}

static void *freed_control(void)
{
    MPI_T_cvar_handle h, was;
    int n;
    MPI_T_cvar_handle_alloc(0, NULL, &h, &n);
    was = h;
    MPI_T_cvar_handle_free(&h);
    return was;
}

static void *freed_tool_session(void)
{
    MPI_T_pvar_session h, was;
    MPI_T_pvar_session_create(&h);
    was = h;
    MPI_T_pvar_session_free(&h);
    return was;
}

static void *freed_counter(void)
{
    MPI_T_pvar_handle h, was;
    int n;
    MPI_T_pvar_handle_alloc(tool_session, 0, NULL, &h, &n);
    was = h;
    MPI_T_pvar_handle_free(tool_session, &h);
    return was;
}

static const struct {
    const char *kind;
    void *(*make)(void);
} freed[] = {{"T_REGISTRATION", freed_registration},
             {"T_CVAR", freed_control},
             {"T_SESSION", freed_tool_session},
             {"T_PVAR", freed_counter},
             {"COMM", freed_comm},
             {"GROUP", freed_group},
             {"INFO", freed_info},
             {"SESSION", freed_session},
             {"DATATYPE", freed_type},
             {"REQUEST", freed_request},
             {"ERRHANDLER", freed_errhandler},
             {"OP", freed_op},
             {"WIN", freed_win},
             {"MESSAGE", freed_message},
             {"FILE", freed_file}};

static void make_wrong(void)
{
    static const uintptr_t number[] = {0, 1, 31, 255, 0x1ff, 0x3ff, 0x400, 0x401, 0x7f8, 0xffd, 0xff8};
    static char name[sizeof number / sizeof *number][16];
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        snprintf(name[i], sizeof name[i], "0x%x", (unsigned)number[i]);
        add_wrong(name[i], number[i] == 1 ? "T_PVAR" : "", (void *)number[i]);    // MPI_T_PVAR_ALL_HANDLES
    }
    add_wrong("MPI_COMM_WORLD", "COMM", MPI_COMM_WORLD);
    add_wrong("MPI_INT", "DATATYPE", MPI_INT);
    add_wrong("MPI_SUM", "OP", MPI_SUM);
    add_wrong("MPI_GROUP_EMPTY", "GROUP", MPI_GROUP_EMPTY);
    add_wrong("MPI_ERRORS_RETURN", "ERRHANDLER", MPI_ERRORS_RETURN);
    add_wrong("MPI_INFO_ENV", "INFO", MPI_INFO_ENV);
    add_wrong("a communicator", "COMM", comm);
    add_wrong("a datatype", "DATATYPE", type);
    add_wrong("an info object", "INFO", info);
    add_wrong("a file", "FILE", file);
}

// Makes anew what a case before may have used up.
static void refresh(void)
{
    for (int i = 0; i < 64; i++) {
        one[i] = 1;
        zero[i] = 0;
        ones[i] = 1;
        steps[i] = 4 * i;
        wide_steps[i] = 4 * i;
        aints[i] = 0;
        types[i] = MPI_INT;
        requests[i] = MPI_REQUEST_NULL;
    }
    memset(ranges, 0, sizeof ranges);
    ranges[0][2] = 1;
    strcpy(text, "key");
    memset(out, 0, 256);
    request = MPI_REQUEST_NULL;
}

// One with an epoch in which all operations are allowed.
static void make_windows(void)
{
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
}

static void make_tools(void)
{
    int n, index;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &n);
    MPI_T_cvar_get_index("checks", &index);
    MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &tool_enum, NULL, NULL, NULL, NULL);
    MPI_T_cvar_handle_alloc(index, NULL, &tool_control, &n);
    MPI_T_pvar_session_create(&tool_session);
    MPI_T_pvar_get_index("wait_sleeps", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(tool_session, index, NULL, &tool_counter, &n);
    tool_registration = fresh_registration();
}

static void prepare(void)
{
    int neighbors[] = {0}, degree[] = {1}, n;
    refresh();
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_dup(MPI_COMM_SELF, &victim);
    MPI_Cart_create(MPI_COMM_SELF, 1, one, one, 0, &cart);
    MPI_Graph_create(MPI_COMM_SELF, 1, degree, neighbors, 0, &graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, neighbors, one, 1, neighbors, one, MPI_INFO_NULL, 0, &dist);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)nothing, &errhandler);
    MPI_Op_create((MPI_User_function *)nothing, 1, &op);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_File_open(comm, "file", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    MPI_Recv_init(buf, 1, MPI_INT, 0, 7, comm, &persistent);
    MPI_Psend_init(buf, 1, 1, MPI_INT, 0, 9, comm, MPI_INFO_NULL, &psend);
    MPI_Precv_init(more, 1, 1, MPI_INT, 0, 9, comm, MPI_INFO_NULL, &precv);
    MPI_Grequest_start(NULL, NULL, NULL, NULL, &general);
    make_windows();
    make_tools();
    make_wrong();
}

static const char *class_name(int class)
{
    static char name[MPI_MAX_ERROR_STRING];
    int n;
    if (class == LEGAL) return "success";
    if (class == ANY_ERROR) return "an error";
    MPI_Error_string(class, name, &n);
    name[strcspn(name, ":")] = 0;
    return name;
}

// What is wrong with the result of a case, or NULL.
static const char *judge(const struct test *t, int err)
{
    static char said[2 * MPI_MAX_ERROR_STRING + 64];
    char message[MPI_MAX_ERROR_STRING] = "";
    int class, n;
    if (t->want == ANY_RESULT || (t->want == LEGAL && err == MPI_SUCCESS)) return NULL;
    MPI_Error_class(err, &class);
    MPI_Error_string(err, message, &n);
    bool named = strstr(message, t->call) && (t->kind || t->want == MPI_ERR_BUFFER || strstr(message, t->argument));
    if (err && named && (t->want == ANY_ERROR || t->want == class)) return NULL;
    snprintf(said, sizeof said, "%s wanted, with the names: %s", class_name(t->want), err ? message : "success");
    return said;
}

// Shared with the parent: which case runs, and how many failed.
static struct {
    int test, wrong, failed, passed;
} * now;

static void judge_case(const struct test *t, const char *name, void *bad)
{
    alarm(HANG);    // only a call that hangs takes so long
    refresh();
    const char *fault = judge(t, t->run(bad));
    alarm(0);
    now->passed += !fault;
    now->failed += fault != NULL;
    if (fault) printf("%s(%s = %s): %s\n", t->call, t->argument, name, fault);
}

// The wrong handle number now->wrong, the last one being a freed one of the kind itself.
static void judge_handle(const struct test *t)
{
    if (now->wrong < wrongs) {
        const struct wrong *w = &wrong[now->wrong];
        if (strcmp(w->kind, t->kind) != 0) judge_case(t, w->name, w->value);
        return;
    }
    for (size_t i = 0; i < sizeof freed / sizeof *freed; i++)
        if (!strcmp(freed[i].kind, t->kind)) judge_case(t, "freed", freed[i].make());
}

static void run_from(const struct test *tests, int count)
{
    prepare();
    for (; now->test < count; now->test++, now->wrong = 0) {
        const struct test *t = &tests[now->test];
        if (!t->kind) judge_case(t, "NULL", NULL);
        for (; t->kind && now->wrong <= wrongs; now->wrong++) judge_handle(t);
    }
    fflush(stdout);
    _exit(0);
}

// Runs all tests, in as many children as it takes.
static int run_all(const struct test *tests, int count)
{
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (now->test < count) {
        int how;
        pid_t pid = fork();
        if (pid == 0) run_from(tests, count);
        waitpid(pid, &how, 0);
        if (now->test == count) break;
        const struct test *t = &tests[now->test];
        const char *what = !WIFSIGNALED(how) ? "ended the process" : WTERMSIG(how) == SIGALRM ? "hangs" : "crashes";
        printf("%s(%s, wrong handle %d): %s\n", t->call, t->argument, t->kind ? now->wrong : -1, what);
        now->failed++;
        if (t->kind)
            now->wrong++;
        else
            now->test++;
    }
    printf("%d passed, %d failed, 0 skipped\n", now->passed, now->failed);
    return now->failed != 0;
}

// Predefined handles, for calls while there are no others.
static void use_predefined(void)
{
    refresh();
    outside = true;
    file = MPI_FILE_NULL;
    comm = cart = graph = dist = victim = MPI_COMM_WORLD;
    group = MPI_GROUP_EMPTY;
    info = MPI_INFO_ENV;
    session = MPI_SESSION_NULL;
    errhandler = MPI_ERRORS_RETURN;
    op = MPI_SUM;
    type = MPI_INT;
    persistent = psend = precv = general = MPI_REQUEST_NULL;
}

// One call in a child: what it says before it ends the process must name the call.
static const char *judge_outside(const struct call *c)
{
    static char said[4096];
    int how, ends[2];
    fflush(stdout);
    if (pipe(ends)) return "no pipe";
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        alarm(HANG);
        int err = c->run(), len;
        char message[MPI_MAX_ERROR_STRING] = "";
        if (err) MPI_Error_string(err, message, &len);
        fputs(message, stderr);
        _exit(err != MPI_SUCCESS);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], said, sizeof said - 1);
    said[n > 0 ? n : 0] = 0;
    close(ends[0]);
    waitpid(pid, &how, 0);
    if (!WIFEXITED(how)) return "crashes or hangs";
    if (c->anytime) return strstr(said, "called before") || strstr(said, "called after") ? said : NULL;
    if (WEXITSTATUS(how) == 0) return "succeeds";
    return strstr(said, c->name) ? NULL : said;
}

// All calls before MPI_Init, or after MPI_Finalize; the number that failed.
static int run_outside(const struct call *calls, int count, bool after)
{
    int failed = 0;
    if (after) {
        MPI_Init(NULL, NULL);
        MPI_Finalize();
    }
    use_predefined();
    for (int i = 0; i < count; i++) {
        const char *fault = judge_outside(&calls[i]);
        failed += fault != NULL;
        if (fault) printf("%s %s: %s\n", calls[i].name, after ? "after MPI_Finalize" : "before MPI_Init", fault);
    }
    printf("%d passed, %d failed, 0 skipped\n", count - failed, failed);
    return failed != 0;
}
