# flick. A new file in a folder of src/ or tests/ needs no line here.
#
#	make		the library, the agent and the command, in build/
#	make demo	the same, and show it at work
#	make check	every test; ends with `N passed, N failed, N skipped`
#	make tests-built	build what `make check` runs, and run none of it
#	make check-a64-e2e	all of tests/e2e with the AArch64 build, by an emulator: an hour
#	make torture	the long runs of the tests that try to break flick
#	make fuzz	feed what parses foreign input until stopped, or FUZZ_SECONDS
#	make mutants	plant faults, one by one, that tests must see (MUTANTS=PATTERN,
#			MUTANTS_FOR=SECONDS: go on with the next run)
#	make real	real programs, fetched from Debian and rebuilt
#	make bench	measure, print the table, write bench/results.json
#	make install	to PREFIX (/usr/local), below DESTDIR; uninstall takes it away
#	make deb	Debian packages: flick, libflick0, libflick-dev
#	make deps	install the Debian packages a build needs
#	make V=1	show the commands
#	make CROSS=aarch64-linux-gnu- [GOAL]	the same for another CPU, below build/CPU-linux-gnu
#
# demo, check, torture, fuzz, mutants, real and bench install what they need themselves.

VERSION = 0.1.0
ABI = 0
BUILD = build
Q = $(if $(V),,@)

FRONT = demo check torture fuzz mutants real bench
PLAIN = $(FRONT) check-a64-e2e deps check-deps deb clean help
GOALS = $(or $(MAKECMDGOALS),all)

all:

ifneq ($(CROSS),)
# A tree of links, in which everything is as here but for the compiler, and Debian's
# libraries of that CPU (tools/sysroot).
CROSS_TREE = $(BUILD)/$(CROSS:%-=%)
CROSS_ROOT = $(CURDIR)/$(BUILD)/sysroot-$(CROSS:%-=%)
CROSS_ARCH = $(patsubst aarch64-%,arm64,$(CROSS))
.PHONY: $(GOALS)
$(GOALS): cross-tree
	@$(MAKE) --no-print-directory -C $(CROSS_TREE) CROSS= $@
cross-tree:
	@tools/setup cross
	@tools/sysroot $(CROSS_ARCH) $(CROSS_ROOT)
	@mkdir -p $(CROSS_TREE)
	@ln -sfn $(foreach f,$(filter-out $(BUILD) config.mk,$(wildcard *)),$(CURDIR)/$f) $(CROSS_TREE)
	@[ -f $(CROSS_TREE)/config.mk ] || { cd $(CROSS_TREE) && ./configure --cross=$(CROSS) \
		CC="$(CROSS)gcc --sysroot=$(CROSS_ROOT)"; }
else

ifneq ($(filter-out $(PLAIN),$(GOALS)),)
include config.mk
endif

config.mk: configure
	./configure $(CONFIGURED)

# ---- what is compiled ------------------------------------------------------

GUEST_DIRS = base os obj arch arch/$(ARCH) site patch copy probe channel agent
READER_DIRS = perf analysis report trial trial/$(ARCH) args select process \
	session session/budget session/samples session/change cli

# What must not stand before the same functions of a program: in libflick.so alone.
ALONE := src/base/bytes.c src/agent/asked.c src/agent/listed.c
sources = $(filter-out $(ALONE),$(wildcard $(foreach d,$1,src/$d/*.c src/$d/*.S)))
objects = $(patsubst src/%,$(BUILD)/$1/%.o,$(basename $2))

# A file that says `READER code` at its head stays out of the target.
READER_ONLY := $(shell grep -ls '^ \* READER code' src/channel/*.c src/obj/*.c src/base/*.c)
GUEST_SRC := $(filter-out $(READER_ONLY),$(call sources,$(GUEST_DIRS)))
INSIDE_SRC := $(filter-out src/agent/%,$(GUEST_SRC))
READER_SRC := $(call sources,$(READER_DIRS)) $(READER_ONLY)

# guest/: ships in the target, and but for the agent in the command, which measures what the
# target will have: an agent stands before functions of its program.
# reader/: what is in the command alone.
# points/: what shares memory, so that a test can stop a protocol (FL_POINT), and
# readers whose steps a test counts, or waits for.
GUEST := $(call objects,guest,$(GUEST_SRC))
INSIDE := $(call objects,guest,$(INSIDE_SRC))
READER := $(call objects,reader,$(READER_SRC))
TESTED_READER := $(filter-out %/cli/main.o,$(READER))
TESTED := $(INSIDE) $(TESTED_READER)
POINTED := $(READER_ONLY) $(shell grep -lsw FL_POINT src/analysis/*.c src/perf/*.c)
POINTS := $(call objects,points,$(GUEST_SRC) $(POINTED)) \
	$(filter-out $(call objects,reader,$(POINTED)),$(TESTED_READER))

STRICT = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes
COMPILE = $(CC) $(STRICT) -Isrc -Iinclude -MMD -MP $(STORES) $(CPPFLAGS) $(CFLAGS)
NO_STACK = -Wa,--noexecstack
AS_GUEST = $(NO_STACK) -fPIC -fvisibility=hidden -mgeneral-regs-only \
	-fno-stack-protector -fno-plt -ftls-model=initial-exec $(GUEST_FLAGS_$(ARCH))
GUEST_FLAGS_x86_64 = -fcf-protection=none
GUEST_FLAGS_aarch64 = -mbranch-protection=none -mno-outline-atomics -ffixed-x18

define compile
	@mkdir -p $(@D)
	@echo "  CC     $<"
	$(Q)$(COMPILE) $1 -c -o $@ $<
	$(if $(PLACED),$(Q)$(PLACED) $@)
endef

# What works at start, dlopen and first calls, and not when a probe is met: samples there
# are told apart (session/samples/profile.c).
AT_START := $(wildcard src/site/*.c src/obj/*.c) $(addprefix src/, base/bytes.c base/pattern.c os/proc.c) \
	$(filter-out %/unwind.c,$(wildcard src/copy/*.c)) \
	$(addprefix src/arch/$(ARCH)/, access.c aside.c count.c decode.c emit.c excl.c glue.c glue-record.c \
		held.c live.c lookup.c lse.c moves.c odd.c operands.c pair.c path.c plan.c \
		plan-insn.c put.c reloc.c stack.c stands.c swap.c veneer.c whole.c) \
	$(addprefix src/patch/, claim.c commit.c halt.c halt-serve.c held.c motion.c near.c stage.c tactic.c \
		text.c text-asked.c text-way.c) \
	$(addprefix src/probe/, again.c arm.c discover.c end.c glue.c island.c known.c \
		table.c yield.c)
PLACED_GUEST := $(filter $(GUEST) $(call objects,guest,$(ALONE)),$(call objects,guest,$(AT_START)))
OBJCOPY = $(TOOLS)objcopy
AR = $(TOOLS)ar
$(PLACED_GUEST): PLACED = $(OBJCOPY) --rename-section .text=fl_start_work
$(PLACED_GUEST): Makefile

$(BUILD)/guest/%.o: src/%.c config.mk
	$(call compile,$(AS_GUEST))
$(BUILD)/guest/%.o: src/%.S config.mk
	$(call compile,$(AS_GUEST))
$(BUILD)/points/%.o: src/%.c config.mk
	$(call compile,$(AS_GUEST) -DFL_POINTS)
$(BUILD)/points/%.o: src/%.S config.mk
	$(call compile,$(AS_GUEST) -DFL_POINTS)
$(BUILD)/reader/%.o: src/%.c config.mk
	$(call compile,-DFLICK_VERSION='"$(VERSION)"' \
		-DFLICK_LIBRARY='"libflick.so.$(ABI)"' -DFLICK_LIBDIR='"$(LIBDIR)"' \
		-DFLICK_LIBDIR_FROM_BIN='"$(patsubst $(PREFIX)/%,../%,$(LIBDIR))"')

$(BUILD)/reader/report/to-flame.o: src/report/flame.js

# What knows where it will be installed is made again when that changes.
$(BUILD)/reader/process/launch.o $(BUILD)/flick.pc: $(BUILD)/places
$(BUILD)/places: always
	@mkdir -p $(@D)
	@echo '$(PREFIX) $(LIBDIR)' | cmp -s - $@ || echo '$(PREFIX) $(LIBDIR)' >$@

# ---- what is linked ---------------------------------------------------------

LIB = $(BUILD)/libflick.so
all: $(LIB) $(BUILD)/libflick.a $(BUILD)/flick

# The version that the C library's oldest functions have.
OLDEST_x86_64 = GLIBC_2.2.5
OLDEST_aarch64 = GLIBC_2.17
MAP = $(BUILD)/flick.map
$(MAP): flick.map config.mk
	@mkdir -p $(@D)
	@sed 's/GLIBC_OLDEST/$(OLDEST_$(ARCH))/' $< >$@

SHARED = $(CC) -shared $(LDFLAGS) \
	-Wl,-soname,libflick.so.$(ABI) -Wl,--version-script=$(MAP) \
	-Wl,-z,defs -Wl,-z,now -Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,noexecstack

$(LIB): $(GUEST) $(call objects,guest,$(ALONE)) $(MAP)
	@echo "  LINK   $@"
	$(Q)$(SHARED) -o $@ $(filter %.o,$^) -ldl -lpthread
	@ln -sf libflick.so $@.$(ABI)

$(BUILD)/libflick.a: $(GUEST)
$(BUILD)/inside.a: $(INSIDE)
$(BUILD)/tested.a: $(TESTED)
$(BUILD)/points.a: $(POINTS)
%.a:
	@mkdir -p $(@D)
	@echo "  AR     $@"
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# Of the guest code the command takes what it uses.
# In one step, because tests may use the one that is there while another test installs.
$(BUILD)/flick: $(READER) $(BUILD)/inside.a
	@echo "  LINK   $@"
	$(Q)$(CC) -o $@.new $^ $(LDFLAGS) -Wl,--as-needed $(READER_LIBS) -lm -lpthread -ldl
	$(Q)mv -f $@.new $@

# ---- tests -------------------------------------------------------------------

# A test that defines fl_point_hit(), or includes stop-at.h, which does, is linked
# with the points. In tests/, NAME.c and NAME.sh are tests; what they share has
# another name.
TEST_LIBS = -Wl,--as-needed -lcmocka -lZydis -lunicorn $(READER_LIBS) -lm -lpthread -ldl
TEST_SRC := $(wildcard tests/unit/*.c tests/torture/*.c)
TEST_BIN := $(patsubst %.c,$(BUILD)/%,$(TEST_SRC))
UNIT := $(filter $(BUILD)/tests/unit/%,$(TEST_BIN))
TORTURE := $(filter $(BUILD)/tests/torture/%,$(TEST_BIN))
WITH_POINTS := $(patsubst %.c,$(BUILD)/%,$(if $(TEST_SRC),$(shell \
	grep -lE '^void fl_point_hit|^#include "stop-at.h"' $(TEST_SRC))))
scripts = $(sort $(wildcard tests/$1/*.sh))
SCRIPTS := $(foreach d,tools asm golden model e2e fault aarch64,$(call scripts,$d))
CHECKERS := $(sort $(wildcard tools/check-*))
TESTS = $(CHECKERS) $(UNIT) $(A64_TEST) $(OTHER_TESTS) $(SCRIPTS) $(TORTURE) $(FUZZ)
RUN = BUILD=$(BUILD) CC="$(CC)" tests/run

# The agent with points, at which tests/targets/kill-at.c kills its process.
KILLER := $(BUILD)/tests/libflick-kill-at.so
$(KILLER): tests/targets/kill-at.c $(call objects,points,$(GUEST_SRC) $(ALONE)) $(MAP)
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	$(Q)$(SHARED) $(STRICT) -Isrc -fPIC -o $@ $(filter-out $(MAP),$^) -ldl -lpthread

# The command with points in what attaches, likewise.
ATTACHES := $(shell grep -lsw FL_POINT src/process/attach*.c)
READER_KILLER := $(BUILD)/tests/flick-kill-at
$(READER_KILLER): tests/targets/kill-at.c $(call objects,points,$(ATTACHES)) \
		$(filter-out $(call objects,reader,$(ATTACHES)),$(READER)) $(BUILD)/inside.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	$(Q)$(CC) $(STRICT) -Isrc -o $@ $^ $(LDFLAGS) -Wl,--as-needed $(READER_LIBS) -lm -lpthread -ldl

$(WITH_POINTS): $(BUILD)/points.a
$(BUILD)/tests/unit/bytes: $(call objects,guest,src/base/bytes.c)
$(filter-out $(WITH_POINTS),$(TEST_BIN)): $(BUILD)/tested.a
# Its time is its own.
$(BUILD)/tests/unit/session-budget: private TEST_LIBS += -Wl,--wrap=fl_os_monotonic_ns
$(TEST_BIN): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	@echo "  CC     $<"
	$(Q)$(COMPILE) -MT $@ -MF $@.d -o $@ $< $(filter %.o %.a,$^) $(TEST_LIBS)

# ---- another CPU ---------------------------------------------------------------

# The library, the agent and the command for that CPU: an emulator runs them in tests/aarch64.
# What knows no CPU must not know this one either. So it runs tests/cross, and those of
# tests/unit that are named here, which need neither a library nor a site. Where that CPU's
# libraries cannot be had these are skipped, and say so.
OTHER := $(if $(filter x86_64,$(ARCH)),$(if $(shell command -v aarch64-linux-gnu-gcc),aarch64))
OTHER_TREE = $$BUILD/$(OTHER)-linux-gnu/build
OTHER_RUN = qemu-$(OTHER) -L "$$BUILD/sysroot-$(OTHER)-linux-gnu"
OTHER_MAKE = $(MAKE) --no-print-directory CROSS=$(OTHER)-linux-gnu- CPPFLAGS=-Werror
OTHER_UNIT = analysis-calls analysis-counts analysis-histogram analysis-latency \
	analysis-stack attach base-err base-pattern bytes channel-reader \
	session-afford session-clock session-own perf-preempt report-diff report-names
OTHER_NAMES = $(OTHER_UNIT) $(basename $(notdir $(wildcard tests/cross/*.c)))
OTHER_TESTS := $(if $(OTHER),$(patsubst %,$(BUILD)/tests/cross/%,$(OTHER_NAMES)))

cross-built: CROSS_GOAL = cross-tests
# What tests of tests/e2e need beside the programs under test, too.
cross-e2e-built: CROSS_GOAL = e2e-built
cross-built cross-e2e-built:
ifneq ($(OTHER),)
	@mkdir -p $(BUILD)
	+@if $(OTHER_MAKE) config.mk >$(BUILD)/cross.log 2>&1; then \
		$(OTHER_MAKE) $(CROSS_GOAL) >>$(BUILD)/cross.log 2>&1 || \
			{ tail -n 20 $(BUILD)/cross.log; exit 1; } \
	else tail -n 3 $(BUILD)/cross.log; fi
endif
$(OTHER_TESTS): $(BUILD)/tests/cross/%: Makefile
	@mkdir -p $(@D)
	@printf '#!/bin/sh\n[ -x "%s" ] || { echo "no build for $(OTHER)"; exit 77; }\nexec %s\n' \
		'$(OTHER_TREE)/tests/cross/$*' '$(OTHER_RUN) "$(OTHER_TREE)/tests/cross/$*"' >$@
	@chmod +x $@

# There, where CROSS has led.
cross-tests: all $(OTHER_NAMES:%=$(BUILD)/tests/cross/%)
vpath %.c tests/unit tests/cross
$(BUILD)/tests/cross/bytes: $(call objects,guest,src/base/bytes.c)
$(BUILD)/tests/cross/%: %.c $(BUILD)/tested.a
	@mkdir -p $(@D)
	@echo "  CC     $<"
	$(Q)$(COMPILE) -Wno-error -Itests/cross -Itests/unit -MT $@ -MF $@.d -o $@ $< \
		$(filter %.o %.a,$^) -lm -lpthread

# ---- another CPU's pure parts, here --------------------------------------------------

# What decodes and moves AArch64's instructions, and what reads code by it, compiled for
# this CPU: it is only bytes. tests/a64 has oracles that are nowhere else.
PURE_LIVE = flip own resume cpu syscall tramp word rseq vectors
PURE_SRC := $(filter-out %.S $(PURE_LIVE:%=src/arch/aarch64/%.c),$(call sources,\
	base os obj site patch probe copy channel arch/aarch64))
A64_TEST := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/a64/*.c))
$(BUILD)/a64/%.o: src/%.c config.mk
	$(call compile,-DFL_PORT_AARCH64)
$(BUILD)/a64.a: $(call objects,a64,$(PURE_SRC)) \
	$(filter $(PURE_LIVE:%=$(BUILD)/guest/arch/$(ARCH)/%.o),$(GUEST))
$(A64_TEST): $(BUILD)/tests/%: tests/%.c $(BUILD)/a64.a
	@mkdir -p $(@D)
	@echo "  CC     $<"
	$(Q)$(COMPILE) -DFL_PORT_AARCH64 -Itests/unit -MT $@ -MF $@.d -o $@ $< $(filter %.a,$^) \
		-lcapstone $(TEST_LIBS)

# ---- fuzzers --------------------------------------------------------------------

# clang's libFuzzer, and what reads foreign input built for it: tests/fuzz/NAME.c.
FUZZ_CC = clang
FUZZ_FLAGS = $(STRICT) -Isrc -Iinclude -MMD -MP -gline-tables-only -O1 -fno-omit-frame-pointer \
	-Wno-unknown-warning-option -fsanitize=address,undefined,fuzzer-no-link \
	-fno-sanitize-recover=undefined
FUZZ_READS := $(call sources,base os obj arch arch/$(ARCH) site patch copy channel analysis \
	report perf) src/session/functions.c src/session/lines.c src/session/kept.c \
	src/session/change/ctl.c src/session/change/ctl-answer.c
FUZZ := $(if $(shell command -v $(FUZZ_CC)),$(patsubst %.c,$(BUILD)/%,$(wildcard \
	tests/fuzz/*.c)))
$(BUILD)/fuzz/%.o: src/%.c config.mk
	@mkdir -p $(@D)
	@echo "  FUZZ   $<"
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -c -o $@ $<
$(BUILD)/fuzz/%.o: src/%.S config.mk
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -Isrc -Iinclude -MMD -MP $(NO_STACK) -c -o $@ $<
$(BUILD)/fuzz/reads.a: $(call objects,fuzz,$(FUZZ_READS))
$(FUZZ): $(BUILD)/tests/%: tests/%.c $(BUILD)/fuzz/reads.a
	@mkdir -p $(@D)
	@echo "  FUZZ   $<"
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -MT $@ -MF $@.d -o $@ $< $(filter %.a,$^) \
		$(READER_LIBS) -lm -lpthread -ldl

DEMO_FLAGS = -O2 -g -finstrument-functions -pthread
$(BUILD)/demo: tests/targets/demo.c config.mk
	@mkdir -p $(@D)
	@echo "  CC     $<"
	$(Q)$(CC) $(DEMO_FLAGS) -o $@ $<

run-demo: all $(BUILD)/demo
	$(BUILD)/flick record -o $(BUILD)/demo.data $(BUILD)/demo
	$(BUILD)/flick report $(BUILD)/demo.data
# What a change may keep from linking, and no test has been run yet.
tests-built: all cross-built $(TEST_BIN) $(A64_TEST) $(OTHER_TESTS) $(KILLER) $(READER_KILLER) $(FUZZ)
run-check: tests-built
	@TRIES=2 $(RUN) $(TESTS)
e2e-built: all $(BUILD)/tested.a $(KILLER) $(READER_KILLER)
run-check-a64-e2e: all cross-e2e-built
	@BUILD=$(BUILD) CC="$(CC)" tests/aarch64/e2e
# Tests of the gate that look there at a part of a matrix, and here at all of it.
MATRICES := $(if $(filter run-torture,$(MAKECMDGOALS)),\
	$(shell grep -lE 'every [0-9] |further |WHOLE|/sweep"' $(SCRIPTS)) \
	$(patsubst %.c,$(BUILD)/%,$(shell grep -lE 'stride.[0-9]' tests/unit/*.c)))
run-torture: all $(MATRICES) $(TORTURE) $(FUZZ) $(A64_TEST) $(BUILD)/tests/unit/build
	@FLICK_TORTURE=long WHOLE=yes $(RUN) $(TORTURE) $(A64_TEST) $(FUZZ) \
		$(call scripts,torture) $(MATRICES)
run-fuzz: $(FUZZ)
	@BUILD=$(BUILD) tests/fuzz/run
run-mutants: config.mk
	@tests/mutants/run
run-real: all
	@$(RUN) $(call scripts,real)
run-bench: all
	@BUILD=$(BUILD) CC="$(CC)" bench/run

# ---- front doors ---------------------------------------------------------------

# First the packages, then this same Makefile again, which now finds them.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
$(FRONT):
	@tools/setup $@
	@$(MAKE) --no-print-directory $(JOBS) run-$@
check-a64-e2e:
	@tools/setup check
	@$(MAKE) --no-print-directory $(JOBS) run-$@
deps:
	@tools/setup build
check-deps:
	@tools/setup check
help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

format-check:
	clang-format --dry-run $(wildcard src/*/*.[ch] src/*/*/*.[ch])

# What is installed, and where: MODE FILE DIRECTORY, for install and for uninstall.
DEST = $(DESTDIR)$(PREFIX)
LIBS = $(DESTDIR)$(LIBDIR)
SHARE = $(DEST)/share
PAGES = $(foreach n,1 3 5,$(foreach p,$(wildcard man/*.$n),644:$p:$(SHARE)/man/man$n))
INSTALLED = 755:$(BUILD)/flick:$(DEST)/bin 644:$(BUILD)/libflick.a:$(LIBS) \
	644:$(LIB).$(ABI):$(LIBS) 644:$(BUILD)/flick.pc:$(LIBS)/pkgconfig \
	$(patsubst %,644:%:$(DEST)/include,$(wildcard include/*.h)) \
	$(patsubst %,644:%:$(DEST)/include/flick,$(wildcard include/flick/*)) \
	$(patsubst %,644:%:$(SHARE)/doc/flick/examples,$(wildcard examples/*)) \
	644:LICENSE:$(SHARE)/doc/flick 644:CHANGES.md:$(SHARE)/doc/flick \
	644:tools/completion/flick:$(SHARE)/bash-completion/completions \
	644:tools/completion/_flick:$(SHARE)/zsh/site-functions $(PAGES)
field = $(word $1,$(subst :, ,$2))

$(BUILD)/flick.pc: flick.pc.in config.mk
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' \
		-e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' $< >$@

# The loader's list is this machine's: what goes below DESTDIR is another's.
LDCONFIG = @[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig || true

define newline


endef
install: all $(BUILD)/flick.pc
	$(foreach f,$(INSTALLED),@install -D -m $(call field,1,$f) -t $(call field,3,$f) \
		$(call field,2,$f)$(newline)	)
	@ln -sf libflick.so.$(ABI) $(LIBS)/libflick.so
	$(LDCONFIG)
	@echo "flick is in $(DEST)/bin, its libraries are in $(LIBS)"

# Directories that are not flick's own stay, be they empty.
uninstall:
	@rm -f $(foreach f,$(INSTALLED),$(call field,3,$f)/$(notdir $(call field,2,$f))) \
		$(LIBS)/libflick.so
	@rmdir $(DEST)/include/flick $(SHARE)/doc/flick/examples $(SHARE)/doc/flick \
		2>/dev/null || true
	$(LDCONFIG)

deb:
	@tools/setup deb
	@tools/make-deb $(BUILD)/deb

clean:
	rm -rf $(BUILD) config.mk

.PHONY: all $(FRONT) $(FRONT:%=run-%) check-a64-e2e run-check-a64-e2e deps check-deps help format-check install uninstall deb \
	clean always cross-built cross-e2e-built cross-tests tests-built
.DELETE_ON_ERROR:

-include $(wildcard $(patsubst %,$(BUILD)/%/*/*.d,guest points reader tests a64 fuzz) \
	$(patsubst %,$(BUILD)/%/*/*/*.d,guest points reader a64))

endif					# CROSS
