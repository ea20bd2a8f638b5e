// SPDX-License-Identifier: BSD-3-Clause
// run: np=1
// Error classes, codes and strings that come and go: numbers are used again, the highest in use is what
// MPI_LASTUSEDCODE says, many come and go in time that grows with their number, and strings stay as given.
#include "../check.h"

#include <string.h>

enum { MANY = 30000 };

static int numbers[MANY];

static int last_used(void)
{
    int *value, flag = 0;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag) == MPI_SUCCESS && flag);
    return *value;
}

static void again(void)
{
    int class, first = 0, code, before = last_used();
    for (int i = 0; i < 1000; i++) {
        CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
        CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code != class);
        if (i == 0) first = class > code ? class : code;
        CHECK(class <= first && code <= first);
        CHECK(last_used() == first);
        CHECK(MPI_Add_error_string(code, "one") == MPI_SUCCESS);
        CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
        CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
        CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
        CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
        CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
        CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    }
    CHECK(last_used() >= before);
}

// A class made anew in the place of a code, and the other way round, has nothing of what was there.
static void other_kind(void)
{
    int class, other, a, b, in = -1, len = -1;
    char text[MPI_MAX_ERROR_STRING];
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && MPI_Add_error_code(class, &a) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(a, "gone") == MPI_SUCCESS && MPI_Remove_error_string(a) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(a) == MPI_SUCCESS);
    CHECK(MPI_Add_error_class(&other) == MPI_SUCCESS && other == a);
    CHECK(MPI_Error_class(other, &in) == MPI_SUCCESS && in == other);
    CHECK(MPI_Error_string(other, text, &len) == MPI_SUCCESS && len == 0 && text[0] == 0);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(other, &b) == MPI_SUCCESS && b == class);
    CHECK(MPI_Error_class(b, &in) == MPI_SUCCESS && in == other);
    CHECK(MPI_Remove_error_class(other) != MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(b) == MPI_SUCCESS && MPI_Remove_error_class(other) == MPI_SUCCESS);
}

// Removed from the middle, from the front and from the back; a count of steps would be a timing, but 30,000 classes
// that each look at all others take minutes, the test's whole time.
static void many(void)
{
    int top;
    for (int i = 0; i < MANY; i++) CHECK(MPI_Add_error_class(&numbers[i]) == MPI_SUCCESS);
    top = last_used();
    for (int i = 1; i < MANY; i += 2) CHECK(MPI_Remove_error_class(numbers[i]) == MPI_SUCCESS);
    for (int i = 1; i < MANY; i += 2) CHECK(MPI_Add_error_class(&numbers[i]) == MPI_SUCCESS && numbers[i] <= top);
    for (int i = 0; i < MANY; i++) CHECK(MPI_Remove_error_class(numbers[i]) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) CHECK(MPI_Remove_error_class(numbers[i]) != MPI_SUCCESS);
}

// A code of the user's in a class of the standard, one that says nothing too, is known as such.
static void in_standard_classes(void)
{
    const int classes[] = {MPI_ERR_UNKNOWN, MPI_ERR_OTHER, MPI_ERR_TAG};
    for (int i = 0; i < 3; i++) {
        int code, in = -1;
        CHECK(MPI_Add_error_code(classes[i], &code) == MPI_SUCCESS);
        CHECK(MPI_Error_class(code, &in) == MPI_SUCCESS && in == classes[i]);
        CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    }
}

static void fails(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

// Ours may be said more about; the user's are as given, also when the error was raised just now.
static void strings(void)
{
    int class, code, len = -1;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler handler;
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "my own words") == MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(fails, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS);
    CHECK(MPI_Error_string(code, text, &len) == MPI_SUCCESS);
    CHECK(strcmp(text, "my own words") == 0 && len == (int)strlen(text));
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, class) == MPI_SUCCESS);
    CHECK(MPI_Error_string(class, text, &len) == MPI_SUCCESS && len == 0 && text[0] == 0);
    CHECK(MPI_Send(NULL, 0, MPI_INT, 77, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &len) == MPI_SUCCESS && strstr(text, "77"));
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_class(class) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    again();
    other_kind();
    many();
    in_standard_classes();
    strings();
    MPI_Finalize();
    return 0;
}
