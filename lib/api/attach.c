/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>

#include "lib/base/atomic.h"
#include "lib/base/scope.h"
#include "lib/life/life.h"
#include "lib/process/self.h"
#include "lib/recorder/attach.h"

PTRC_PUBLIC int posixtrace_attach(void)
{
	int error;
	PTRC_NO_CANCEL();

	error = ptrc_attach_all();
	return error == 0 || error == EPERM ? error : ENOMEM;
}

PTRC_PUBLIC int posixtrace_is_traced(void)
{
	return ptrc_load_relaxed(&ptrc_page_self->active) != 0;
}
