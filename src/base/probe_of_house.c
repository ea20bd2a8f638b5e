int uno_probe_of_house; // SPDX-License-Identifier: BSD-3-Clause
