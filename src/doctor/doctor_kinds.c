/* SPDX-License-Identifier: MIT */
/* Reports which kinds of events can be recorded of a program, and why other kinds cannot. */
#include "config.h"

#include "src/doctor/doctor.h"
#include "src/os/os_trace.h"
#include "src/session/preload.h"
#include "src/summary/program_probes.h"

/* Whether the library that records functions, waits and probes can be preloaded into the program.
 * If not, reports why. */
static bool can_preload(struct ptrc_doctor *d, const char *path)
{
	struct ptrc_preload preload = {.is_static = false};
	const char *why;

	ptrc_preload_functions(&preload, NULL);
	why = ptrc_preload_prepare(&preload, path)
		      ? ptrc_preload_why_not(&preload)
		      : "the preloaded library cannot be used, as said on standard error";
	ptrc_preload_free(&preload);
	if (why)
		ptrc_doctor_note(d, "preload", path, NULL,
				 "its functions, waits and probes cannot be recorded: %s", why);
	return !why;
}

static void check_functions(struct ptrc_doctor *d, const char *path)
{
	if (ptrc_preload_has_hooks(path))
		ptrc_doctor_ok(d, "functions", path, "its functions can be recorded: --functions");
	else
		ptrc_doctor_note(
			d, "functions", path,
			"compile it with -finstrument-functions, or with -fxray-instrument",
			"its functions cannot be recorded, as it has no hooks for them");
}

static void check_probes(struct ptrc_doctor *d, const char *path)
{
	struct ptrc_program_probes probes;

	if (!ptrc_program_probes_find(&probes, path))
		return;
	if (probes.count)
		ptrc_doctor_ok(
			d, "sdt", path,
			"it and its libraries have %zu static probe%s: --sdt, and ptrace-events "
			"--sdt lists them",
			probes.count, probes.count == 1 ? "" : "s");
	else
		ptrc_doctor_note(d, "sdt", path, NULL,
				 "neither it nor its libraries have static probes");
	ptrc_program_probes_free(&probes);
}

/* Reports that --os can record events of the program, if the kernel allows that. If the kernel does not,
 * ptrc_doctor_machine() has already reported why. */
static void check_os(struct ptrc_doctor *d, const char *path)
{
	struct ptrc_cli_reason refusal;
	const char *kinds = ptrc_os_allowed(&refusal);

	if (kinds)
		ptrc_doctor_ok(d, "os", path,
			       "what the operating system does with it can be recorded: --os=%s",
			       kinds);
}

void ptrc_doctor_kinds(struct ptrc_doctor *d, const char *path)
{
	if (can_preload(d, path)) {
		check_functions(d, path);
		ptrc_doctor_ok(d, "waits", path,
			       "the calls in which its threads wait can be recorded: --waits");
		check_probes(d, path);
	}
	check_os(d, path);
}
