// SPDX-License-Identifier: MIT
// Calls each function of <trace.h>, from C++98. Built and linked by header.sh; no call is
// made, as a program without arguments only proves that they are all there.
#include <trace.h>

int main(int argc, char **)
{
	trace_attr_t attr;
	trace_id_t trid = 0;
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	trace_event_set_t set;
	posix_trace_event_info info;
	posix_trace_status_info status;
	timespec time = {0, 0};
	char text[TRACE_EVENT_NAME_MAX + 1];
	int value = 0;
	size_t size = 0;
	int sum = 0;

	if (argc < 2)
		return 0;
	sum += posix_trace_attr_init(&attr);
	sum += posix_trace_attr_destroy(&attr);
	sum += posix_trace_attr_getclockres(&attr, &time);
	sum += posix_trace_attr_getcreatetime(&attr, &time);
	sum += posix_trace_attr_getgenversion(&attr, text);
	sum += posix_trace_attr_getname(&attr, text);
	sum += posix_trace_attr_setname(&attr, text);
	sum += posix_trace_attr_getinherited(&attr, &value);
	sum += posix_trace_attr_getlogfullpolicy(&attr, &value);
	sum += posix_trace_attr_getstreamfullpolicy(&attr, &value);
	sum += posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	sum += posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND);
	sum += posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH);
	sum += posix_trace_attr_getlogsize(&attr, &size);
	sum += posix_trace_attr_getmaxdatasize(&attr, &size);
	sum += posix_trace_attr_getmaxsystemeventsize(&attr, &size);
	sum += posix_trace_attr_getmaxusereventsize(&attr, size, &size);
	sum += posix_trace_attr_getstreamsize(&attr, &size);
	sum += posix_trace_attr_setlogsize(&attr, size);
	sum += posix_trace_attr_setmaxdatasize(&attr, size);
	sum += posix_trace_attr_setstreamsize(&attr, size);
	sum += posix_trace_create(0, &attr, &trid);
	sum += posix_trace_create_withlog(0, &attr, 1, &trid);
	sum += posix_trace_flush(trid);
	sum += posix_trace_shutdown(trid);
	sum += posix_trace_clear(trid);
	sum += posix_trace_start(trid);
	sum += posix_trace_stop(trid);
	sum += posix_trace_get_attr(trid, &attr);
	sum += posix_trace_get_status(trid, &status);
	posix_trace_event(id, text, sizeof(text));
	sum += posix_trace_eventid_open("name", &id);
	sum += posix_trace_eventid_equal(trid, id, id);
	sum += posix_trace_eventid_get_name(trid, id, text);
	sum += posix_trace_trid_eventid_open(trid, "name", &id);
	sum += posix_trace_eventtypelist_getnext_id(trid, &id, &value);
	sum += posix_trace_eventtypelist_rewind(trid);
	sum += posix_trace_eventset_add(id, &set);
	sum += posix_trace_eventset_del(id, &set);
	sum += posix_trace_eventset_empty(&set);
	sum += posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
	sum += posix_trace_eventset_ismember(id, &set, &value);
	sum += posix_trace_get_filter(trid, &set);
	sum += posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET);
	sum += posix_trace_getnext_event(trid, &info, text, sizeof(text), &size, &value);
	sum += posix_trace_timedgetnext_event(trid, &info, text, sizeof(text), &size, &value,
					      &time);
	sum += posix_trace_trygetnext_event(trid, &info, text, sizeof(text), &size, &value);
	sum += posix_trace_open(0, &trid);
	sum += posix_trace_close(trid);
	sum += posix_trace_rewind(trid);
	return sum != 0;
}
