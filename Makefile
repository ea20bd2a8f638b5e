# SPDX-License-Identifier: BSD-3-Clause
# The front door. Meson does the work in build/; these targets are what the README names.
PREFIX ?= /usr/local
.PHONY: all demo check install clean
all:
	@tools/build
demo: all
	@tools/demo
# SUITES="10-abi 15-unit": these alone.
check: all
	@tools/check $(SUITES)
# DESTDIR is for packagers: files land in DESTDIR/PREFIX.
install: all
	@DESTDIR="$(DESTDIR)$(abspath $(PREFIX))" meson install -C build --no-rebuild --quiet
	@echo "installed in $(DESTDIR)$(abspath $(PREFIX))"
clean:
	rm -rf build build-*
