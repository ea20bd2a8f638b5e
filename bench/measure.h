// SPDX-License-Identifier: BSD-3-Clause
// Sampling of one row at one size; measure.c does it, driver.c calls it.
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H
#include "bench.h"

// Collective over r->comm. f is filled on rank 0 only. Returns the number of failed validations.
int bench_measure(struct run *r, struct figures *f);
// One validated operation: fill, run, check on every rank; 0 or 1 on all ranks alike.
int bench_validate(struct run *r);
int bench_cores(void);
#endif
