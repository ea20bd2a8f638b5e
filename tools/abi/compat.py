# SPDX-License-Identifier: BSD-3-Clause
"""The end of mpi.h: names that the ABI leaves to the header, and refusals of names that the standard removed.

Called by gen.py. The data are `typedefs`, `renamed`, `removed` in abi.json. A removed name is declared so that its use
is refused with what to use instead; with MPI_REMOVED defined, include/mpi_removed.h gives it its old meaning.
"""

FORTRAN = """
/* Statuses of Fortran: MPI_F_STATUS_SIZE integers, or the structure of the module mpi_f08 (fields as in MPI_Status). */
typedef MPI_Status MPI_F08_status;
#define MPI_F_STATUS_IGNORE      ((MPI_Fint *)0)
#define MPI_F_STATUSES_IGNORE    ((MPI_Fint *)0)
#define MPI_F08_STATUS_IGNORE    ((MPI_F08_status *)0)
#define MPI_F08_STATUSES_IGNORE  ((MPI_F08_status *)0)
#if defined(__GNUC__)
#define MPI_ABI_INLINE static __inline__ __attribute__((__unused__))
#elif defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define MPI_ABI_INLINE static inline
#else
#define MPI_ABI_INLINE static
#endif
MPI_ABI_INLINE int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int i;
    if (!c_status || !f_status) return MPI_ERR_ARG;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (i = 3; i < MPI_F_STATUS_SIZE; i++) f_status[i] = c_status->MPI_internal[i - 3];
    return MPI_SUCCESS;
}
MPI_ABI_INLINE int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int i;
    if (!c_status || !f_status) return MPI_ERR_ARG;
    c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = f_status[MPI_F_TAG];
    c_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (i = 3; i < MPI_F_STATUS_SIZE; i++) c_status->MPI_internal[i - 3] = f_status[i];
    return MPI_SUCCESS;
}
MPI_ABI_INLINE int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    if (!c_status || !f08_status) return MPI_ERR_ARG;
    *f08_status = *c_status;
    return MPI_SUCCESS;
}
MPI_ABI_INLINE int MPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    return MPI_Status_c2f08(f08_status, c_status);
}
MPI_ABI_INLINE int MPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    return MPI_Status_f2c(f_status, f08_status);
}
MPI_ABI_INLINE int MPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    return MPI_Status_c2f(f08_status, f_status);
}
"""
STATUS = ("c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f")

REMOVED = """
/* Names that MPI-3 removed: a use of one is refused, with what to use instead. -DMPI_REMOVED gives them back; */
/* -DMPI_REMOVED_UNCHECKED leaves them alone, for a program that defines them itself. */
#if defined(__GNUC__) && !defined(MPI_REMOVED) && !defined(MPI_REMOVED_UNCHECKED)
#if __GNUC__ >= 12 || defined(__clang__)
#define MPI_ABI_GONE(name, use) \\
    __attribute__((unavailable(name " was removed in MPI-3: use " use ", or compile with -DMPI_REMOVED")))
#else
#define MPI_ABI_GONE(name, use) \\
    __attribute__((deprecated(name " was removed in MPI-3: use " use ", or compile with -DMPI_REMOVED")))
#endif"""


def typedefs(abi):
    """Other names of types."""
    return [f"typedef {old} {new};" for new, old in abi["typedefs"].items()]


def renamed(abi):
    """Other names of functions, which a profiler may define and call in both spellings."""
    pairs = [(p + new, p + old) for p in ("", "P") for new, old in abi["renamed"].items()]
    pairs += [(f"PMPI_Status_{form}", f"MPI_Status_{form}") for form in STATUS]
    width = max(len(new) for new, _ in pairs)
    return [f"#define {new:<{width}} {old}" for new, old in pairs]


def refusals(abi, fold):
    """A declaration per removed name that no program has as a macro of its own."""
    out = [REMOVED]
    for name, entry in abi["removed"].items():
        declared = fold(entry["declaration"].replace("@", name))
        out += [f"#ifndef {name}", declared, f'    MPI_ABI_GONE("{name}", "{entry["use"]}");', "#endif"]
    return [*out, "#undef MPI_ABI_GONE", "#endif"]


def lines(abi, fold):
    """What stands between the functions and the end of mpi.h; fold(text) breaks a declaration into lines."""
    out = ["", "/* Older names of types, and the integers of Fortran. */", *typedefs(abi)]
    out += ["", "/* Handles as integers of Fortran: the names from before the ABI. */", *renamed(abi)]
    return [*out, FORTRAN.rstrip("\n"), *refusals(abi, fold)]
