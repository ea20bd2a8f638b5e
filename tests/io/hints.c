// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// Hints: each is kept and told as it was given, at opening, with a view and later; what is malformed or unknown is
// dropped; what the library decides itself stays as it is.
#include "file.h"

static const struct {
    const char *key, *value, *other, *malformed;
    int told;    // also where nobody gave it
} hints[] = {{"access_style", "write_once,random", "read_mostly", "", 0},
             {"cb_block_size", "4096", "65536", "-4096", 0},
             {"cb_buffer_size", "300000", "4194304", "-5", 1},
             {"cb_config_list", "*:2", "host:1", "", 1},
             {"chunked", "100,200", "300", "", 0},
             {"chunked_item", "4,1", "8", "", 0},
             {"chunked_size", "10,20", "30", "", 0},
             {"collective_buffering", "true", "false", "perhaps", 0},
             {"file_perm", "0640", "600", "0888", 0},
             {"ind_rd_buffer_size", "65536", "100", "x", 1},
             {"ind_wr_buffer_size", "65536", "100", "1x", 1},
             {"nb_proc", "4", "5", "0", 0},
             {"num_io_nodes", "3", "2", "three", 0},
             {"romio_cb_read", "enable", "disable", "on", 1},
             {"romio_cb_write", "disable", "automatic", "1", 1},
             {"romio_ds_read", "disable", "enable", "never", 1},
             {"romio_no_indep_rw", "true", "false", "2", 1},
             {"striping_factor", "8", "16", "99999999999999999999", 0},
             {"striping_unit", "1048576", "65536", "0x100", 0}};
enum { HINTS = sizeof hints / sizeof *hints };

static const char *path;

// NULL: not told.
static const char *told(MPI_File fh, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info used;
    int len = sizeof value, flag = 0;
    CHECK(MPI_File_get_info(fh, &used) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(used, key, &len, value, &flag) == MPI_SUCCESS);
    MPI_Info_free(&used);
    return flag ? value : NULL;
}

static MPI_Info info_of(int which)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < HINTS; i++) {
        const char *value = which == 0 ? hints[i].value : which == 1 ? hints[i].other : hints[i].malformed;
        if (*value) MPI_Info_set(info, hints[i].key, value);
    }
    MPI_Info_set(info, "no_such_hint", "value");
    return info;
}

static MPI_File open_with(MPI_Info info)
{
    MPI_File fh;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &fh) == MPI_SUCCESS);
    CHECK(!told(fh, "no_such_hint"));
    return fh;
}

static void check_all(MPI_File fh, int which)
{
    for (int i = 0; i < HINTS; i++) {
        const char *value = told(fh, hints[i].key);
        if (!value || strcmp(value, which ? hints[i].other : hints[i].value) != 0)
            fprintf(stderr, "%s: %s\n", hints[i].key, value ? value : "not told");
        CHECK(value && strcmp(value, which ? hints[i].other : hints[i].value) == 0);
    }
}

static void given(void)
{
    MPI_Info first = info_of(0), second = info_of(1), malformed = info_of(2);
    MPI_File fh = open_with(first);
    check_all(fh, 0);
    CHECK(MPI_File_set_info(fh, malformed) == MPI_SUCCESS);
    check_all(fh, 0);
    CHECK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", second) == MPI_SUCCESS);
    check_all(fh, 1);
    CHECK(MPI_File_set_info(fh, first) == MPI_SUCCESS);
    check_all(fh, 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Info_free(&first);
    MPI_Info_free(&second);
    MPI_Info_free(&malformed);
}

static void not_given(void)
{
    MPI_Info malformed = info_of(2);
    for (int turn = 0; turn < 2; turn++) {
        MPI_File fh = open_with(turn ? malformed : MPI_INFO_NULL);
        for (int i = 0; i < HINTS; i++) {
            const char *value = told(fh, hints[i].key);
            CHECK(!value == !hints[i].told && (!value || strcmp(value, hints[i].malformed) != 0));
        }
        CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    }
    MPI_Info_free(&malformed);
}

static void decided(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "romio_visibility_immediate", "false");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "filename", "another");
    MPI_File fh = open_with(info);
    CHECK(strcmp(told(fh, "filename"), path) == 0);
    CHECK(strcmp(told(fh, "romio_ds_write"), "disable") == 0);
    CHECK(strcmp(told(fh, "romio_visibility_immediate"), "true") == 0);
    CHECK(strcmp(told(fh, "cb_nodes"), "1") == 0);
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Info_set(info, "cb_nodes", "1000");
    fh = open_with(info);
    int size, n = atoi(told(fh, "cb_nodes"));
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(n >= 1 && n <= size);    // as many as there are
    CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

// The permissions of a file that is created; those of one that is there stay.
static void permissions(int rank)
{
    char name[300];
    struct stat st;
    MPI_Info info;
    MPI_File fh;
    mode_t before = umask(0027);
    snprintf(name, sizeof name, "%s.created", path);
    MPI_Info_create(&info);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Info_set(info, "file_perm", turn ? "0600" : "0664");
        CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh) == MPI_SUCCESS);
        CHECK(stat(name, &st) == 0 && (st.st_mode & 0777) == 0640);
        CHECK(strcmp(told(fh, "file_perm"), turn ? "0600" : "0664") == 0);
        CHECK(MPI_File_close(&fh) == MPI_SUCCESS);
    }
    MPI_Info_free(&info);
    umask(before);
    if (rank == 0) unlink(name);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    path = make_path("hints");
    given();
    not_given();
    decided();
    permissions(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Finalize();
    return 0;
}
