# The front door. Meson does the work in build/; these targets are what the README names.
.PHONY: all check clean
all:
check:
	@tools/check
clean:
	rm -rf build
