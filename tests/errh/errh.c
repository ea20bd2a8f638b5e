// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp env=UNISONO_VERBOSE=0
// Error handlers: predefined and user's, inheritance, reference counts, raising on the right object, classes, codes and
// strings.
#include "../check.h"

#include <stdarg.h>
#include <string.h>

static int calls, last_code;
static MPI_Comm last_comm;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static void on_session(MPI_Session *session, int *code, ...)
{
    (void)session;
    calls++;
    last_code = *code;
}

static void answer_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = *code == MPI_ERR_ARG ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void answer_file(MPI_File *file, int *code, ...)
{
    last_code = *code;
    *code = *file == MPI_FILE_NULL ? MPI_SUCCESS : MPI_ERR_FILE;
}

// A handler's second argument is the code that the call returns.
static void answered(void)
{
    MPI_Errhandler h;
    MPI_File f;
    int n;
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_SELF, &c);
    MPI_Comm_create_errhandler(answer_comm, &h);
    MPI_Comm_set_errhandler(c, h);
    MPI_Errhandler_free(&h);
    CHECK(MPI_Comm_size(c, NULL) == MPI_ERR_OTHER && MPI_Comm_remote_size(c, &n) == MPI_SUCCESS);
    MPI_Comm_free(&c);
    MPI_File_create_errhandler(answer_file, &h);
    MPI_File_set_errhandler(MPI_FILE_NULL, h);
    MPI_Errhandler_free(&h);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_SUCCESS);
    CHECK(last_code == MPI_ERR_NO_SUCH_FILE);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

static void user_handler(void)
{
    MPI_Errhandler h, got;
    MPI_Comm c, d;
    int n;
    CHECK(MPI_Comm_create_errhandler(on_comm, &h) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    CHECK(MPI_Comm_set_errhandler(c, h) == MPI_SUCCESS);
    MPI_Comm_get_errhandler(c, &got);
    CHECK(got == h);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&h);
    CHECK(h == MPI_ERRHANDLER_NULL && got == MPI_ERRHANDLER_NULL);
    calls = 0;
    CHECK(MPI_Comm_size(c, NULL) == MPI_ERR_ARG && calls == 1 && last_comm == c && last_code == MPI_ERR_ARG);
    CHECK(MPI_Comm_call_errhandler(c, MPI_ERR_TAG) == MPI_SUCCESS && calls == 2 && last_code == MPI_ERR_TAG);
    MPI_Comm_dup(c, &d);    // inherits
    CHECK(MPI_Comm_remote_size(d, &n) == MPI_ERR_COMM && calls == 3 && last_comm == d);
    MPI_Comm_free(&c);
    CHECK(MPI_Comm_size(d, NULL) == MPI_ERR_ARG &&
          calls == 4);    // the handler outlives its handle and its first communicator
    MPI_Comm_free(&d);
}

static void predefined(void)
{
    MPI_Errhandler h;
    MPI_Comm c, copy;
    int n;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_get_errhandler(c, &h);
    CHECK(h == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&h);
    CHECK(h == MPI_ERRHANDLER_NULL);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_ABORT);
    MPI_Comm_get_errhandler(c, &h);
    CHECK(h == MPI_ERRORS_ABORT);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_call_errhandler(c, MPI_ERR_OTHER) == MPI_SUCCESS);
    copy = c;
    MPI_Comm_free(&c);
    // Invalid handles raise on MPI_COMM_SELF.
    CHECK(MPI_Comm_size(copy, &n) == MPI_ERR_COMM);
    CHECK(MPI_Comm_size(MPI_COMM_NULL, &n) == MPI_ERR_COMM);
    CHECK(MPI_Comm_free(&copy) == MPI_ERR_COMM);
    c = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_free(&c) == MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void wrong_input(void)
{
    MPI_Errhandler h, win, copy;
    MPI_Comm_create_errhandler(on_comm, &h);
    CHECK(MPI_Comm_create_errhandler(NULL, &copy) == MPI_ERR_ARG);
    CHECK(MPI_Win_create_errhandler((MPI_Win_errhandler_function *)on_comm, &win) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, win) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL) == MPI_ERR_ERRHANDLER);
    copy = h;
    MPI_Errhandler_free(&h);
    CHECK(MPI_Errhandler_free(&copy) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Errhandler_free(&h) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, 123456) == MPI_ERR_ARG);
    MPI_Errhandler_free(&win);
    CHECK(MPI_File_create_errhandler((MPI_File_errhandler_function *)on_comm, &h) == MPI_SUCCESS);
    MPI_Errhandler_free(&h);
    CHECK(MPI_Session_create_errhandler(on_session, &h) == MPI_SUCCESS);
    MPI_Errhandler_free(&h);
}

static void standard_classes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int n, class;
    for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; code++) {
        CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS && class == code);
        CHECK(MPI_Error_string(code, text, &n) == MPI_SUCCESS && n == (int)strlen(text) && n > 4);
        CHECK(strncmp(text, "MPI_", 4) == 0 && strstr(text, ": "));
    }
    CHECK(MPI_Error_class(5000, &class) == MPI_ERR_ARG);
    CHECK(MPI_Error_string(-3, text, &n) == MPI_ERR_ARG);
    // The text of the error just raised names the call, the argument and what is allowed.
    CHECK(MPI_Comm_create_group(MPI_COMM_SELF, MPI_GROUP_EMPTY, -5, &last_comm) == MPI_ERR_TAG);
    MPI_Error_string(MPI_ERR_TAG, text, &n);
    const char *want = "MPI_Comm_create_group: tag -5 is negative (0 .. 2147483647 allowed) on MPI_COMM_SELF, rank 0";
    CHECK(strstr(text, want) != NULL);
    MPI_Error_string(MPI_ERR_RANK, text, &n);
    CHECK(!strstr(text, "tag -5"));
}

static void added_codes(void)
{
    int class, code, other, got, flag, *last, before;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last >= MPI_ERR_LASTCODE);
    before = *last;
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code > MPI_ERR_LASTCODE && code != class);
    CHECK(MPI_Add_error_code(MPI_ERR_IO, &other) == MPI_SUCCESS);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(*last >= class && *last >= code && *last >= other && *last > before);
    MPI_Error_class(code, &got);
    CHECK(got == class);
    MPI_Error_class(class, &got);
    CHECK(got == class);
    MPI_Error_class(other, &got);
    CHECK(got == MPI_ERR_IO);
    MPI_Error_string(code, text, &got);
    CHECK(got == 0 && text[0] == 0);
    CHECK(MPI_Add_error_string(code, "the first") == MPI_SUCCESS &&
          MPI_Add_error_string(code, "the second") == MPI_SUCCESS);
    MPI_Error_string(code, text, &got);
    CHECK(strcmp(text, "the second") == 0 && got == 10);
    CHECK(MPI_Add_error_string(MPI_ERR_IO, "no") == MPI_ERR_ARG);
    CHECK(MPI_Add_error_code(MPI_SUCCESS, &got) == MPI_ERR_ARG);
    CHECK(MPI_Add_error_code(code, &got) == MPI_ERR_ARG);    // a code is not a class
    CHECK(MPI_Remove_error_class(class) == MPI_ERR_ARG);     // it still has a code
    CHECK(MPI_Remove_error_code(code) == MPI_ERR_ARG);       // it still has a string
    CHECK(MPI_Remove_error_code(class) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS && MPI_Remove_error_string(code) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_code(code) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS && MPI_Remove_error_class(MPI_ERR_IO) == MPI_ERR_ARG);
    CHECK(MPI_Error_class(code, &got) == MPI_ERR_ARG);
    MPI_Remove_error_code(other);
}

int main(void)
{
    MPI_Errhandler early;
    int code;
    CHECK(MPI_Session_create_errhandler(on_session, &early) == MPI_SUCCESS);    // allowed before MPI_Init
    CHECK(MPI_Add_error_class(&code) == MPI_SUCCESS && MPI_Remove_error_class(code) == MPI_SUCCESS);
    MPI_Errhandler_free(&early);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    user_handler();
    answered();
    predefined();
    wrong_input();
    standard_classes();
    added_codes();
    MPI_Finalize();
    MPI_Error_class(MPI_ERR_TAG, &code);    // and after MPI_Finalize
    return code != MPI_ERR_TAG;
}
