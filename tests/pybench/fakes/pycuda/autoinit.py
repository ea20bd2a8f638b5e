# SPDX-License-Identifier: BSD-3-Clause
"""Makes a context by being imported."""
