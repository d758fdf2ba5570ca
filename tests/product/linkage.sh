#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317,SC2154 # functions are called through result, which tap.sh has
# Programs linked with the static and the shared library, in the ways there are. TAP.

include=$PTRC_SOURCE/include
libs=$PTRC_BUILD/lib/.libs
shared=$libs/libposixtrace.so
static=$libs/libposixtrace.a
# shellcheck source=tests/support/tap.sh
. "$PTRC_SOURCE/tests/support/tap.sh"

need() {
	for file; do
		if ! test -r "$file"; then
			echo "no $file"
			exit 77
		fi
	done
}

cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <posixtrace.h>

#define DO(call) do { int err = (call); if (err) { \
	printf("line %d: %s: %d\n", __LINE__, #call, err); return 1; } } while (0)
#define IS(condition) DO(!(condition))

static int next(trace_id_t trid, trace_event_id_t id)
{
	struct posix_trace_event_info info;
	char data[1024];
	size_t len;
	int none = -1;
	do {
		DO(posix_trace_getnext_event(trid, &info, data, sizeof(data), &len, &none));
		IS(!none);
	} while (info.posix_event_id == POSIX_TRACE_FLUSH_START ||
		 info.posix_event_id == POSIX_TRACE_FLUSH_STOP);
	if (info.posix_event_id != id)
		printf("%u instead of %u\n", info.posix_event_id, id);
	return info.posix_event_id != id;
}

int main(int argc, char **argv)
{
	trace_attr_t attr;
	trace_id_t plain, logged, log;
	trace_event_id_t id;
	FILE *file = tmpfile();
	int status;
	pid_t pid;

	(void)argc;
	(void)argv;
	IS(file);
	DO(posix_trace_attr_init(&attr));
	DO(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED));
	DO(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND));
	DO(posix_trace_eventid_open("event", &id));
	DO(posix_trace_create(0, &attr, &plain));
	DO(posix_trace_create_withlog(0, &attr, fileno(file), &logged));
	DO(posix_trace_start(plain));
	DO(posix_trace_start(logged));
	posix_trace_event(id, "one", 3);
	pid = fork();
	if (pid == 0) {
		posix_trace_event(id, "two", 3);
		_exit(0);
	}
	IS(waitpid(pid, &status, 0) == pid && status == 0);
	DO(posix_trace_shutdown(logged));
	DO(next(plain, POSIX_TRACE_START));
	DO(next(plain, id));
	DO(next(plain, id));
	DO(posix_trace_shutdown(plain));
	DO(posix_trace_open(fileno(file), &log));
	DO(next(log, POSIX_TRACE_START));
	DO(next(log, id));
	DO(next(log, id));
	DO(next(log, POSIX_TRACE_STOP));
	DO(posix_trace_close(log));
	IS(strcmp(posixtrace_version(), "") != 0);
	return 0;
}
END

# The compiler as the tree is compiled: sanitized libraries need it so.
compile() {
	# shellcheck disable=SC2086 # lists of flags
	$CC ${PTRC_SAN_CFLAGS-} -std=gnu11 -I"$include" "$@"
}

with_static() (
	need "$static"
	compile -o "$dir/static" "$dir/program.c" "$static" -lpthread || exit 1
	"$dir/static"
)

with_shared() (
	need "$shared"
	compile -o "$dir/shared" "$dir/program.c" -L"$libs" -lposixtrace || exit 1
	LD_LIBRARY_PATH=$libs "$dir/shared"
)

# As a plugin would be, with the library as its dependency, by a program that has none.
with_dlopen() (
	need "$shared"
	test -z "${PTRC_SAN_CFLAGS-}" || {
		echo 'sanitized libraries cannot be loaded late'
		exit 77
	}
	compile -shared -fPIC -Dmain=plugin_main -o "$dir/plugin.so" "$dir/program.c" \
		-L"$libs" -lposixtrace || exit 1
	cat >"$dir/loader.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *plugin = dlopen(argv[1], RTLD_NOW);
	int (*run)(int, char **);
	if (!plugin) {
		puts(dlerror());
		return 1;
	}
	*(void **)&run = dlsym(plugin, "plugin_main");
	return run ? run(argc, argv) : 1;
}
END
	compile -o "$dir/loader" "$dir/loader.c" -ldl || exit 1
	LD_LIBRARY_PATH=$libs "$dir/loader" "$dir/plugin.so"
)

# A program that only emits events draws in what makes it traceable, and no keeper.
small() (
	need "$static"
	cat >"$dir/emit.c" <<'END'
#include <trace.h>
int main(void)
{
	trace_event_id_t id;
	if (posix_trace_eventid_open("event", &id))
		return 1;
	posix_trace_event(id, 0, 0);
	return 0;
}
END
	compile -o "$dir/emit" "$dir/emit.c" "$static" -lpthread || exit 1
	"$dir/emit" || exit 1
	command -v nm >/dev/null || exit 77
	! nm "$dir/emit" | grep -E ' T posix_trace_(create_withlog|open|getnext_event)$'
)

# A program that only reads logs has what a fork and an exit need all the same.
reader() (
	need "$static"
	command -v nm >/dev/null || exit 77
	compile -o "$dir/reader" "$PTRC_SOURCE/examples/log-fields.c" "$static" -lpthread || exit 1
	nm "$dir/reader" | grep ' T ptrc_life_begin$'
)

# No C library at run time: the static one of the system, if it is installed.
fully_static() (
	need "$static"
	compile -static -o "$dir/full" "$dir/program.c" "$static" -lpthread 2>"$dir/err" || {
		echo 'no fully static programs here'
		exit 77
	}
	"$dir/full"
)

# The patterns of a trace hold from the first event on also where the library is shared.
patterns() (
	need "$shared" "$PTRC_BUILD/src/ptrace-run"
	cat >"$dir/noise.c" <<'END'
#include <trace.h>

int main(void)
{
	trace_event_id_t noise, tune;

	if (posix_trace_eventid_open("x.noise", &noise) || posix_trace_eventid_open("x.tune", &tune))
		return 1;
	for (int i = 0; i < 5000; i++)
		posix_trace_event(noise, &i, sizeof(i));
	posix_trace_event(tune, 0, 0);
	return 0;
}
END
	compile -o "$dir/noise" "$dir/noise.c" -L"$libs" -lposixtrace || exit 1
	LD_LIBRARY_PATH=$libs "$PTRC_BUILD/src/ptrace-run" -o "$dir/noise.log" --exclude='*.noise' \
		-- "$dir/noise" || exit 1
	test "$("$PTRC_BUILD/src/ptrace-dump" -e 'x.*' --count "$dir/noise.log")" -eq 1
)

echo 1..7
result 'program with the static library works [GEN-11 GEN-06]' with_static
result 'program with the shared library works [GEN-11 GEN-06]' with_shared
result 'library may be loaded late [GEN-11]' with_dlopen
result 'program that only emits stays small [GEN-11]' small
result 'program that only reads logs has the fork handlers' reader
result 'patterns hold in a program with the shared library' patterns
result 'fully static program works [GEN-11]' fully_static
exit $status
