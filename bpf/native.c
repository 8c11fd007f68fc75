// SPDX-License-Identifier: GPL-2.0
/*
 * A law without a kernel: reads a tape, makes its calls, writes what came of each. Built by tests as the kernel's object
 * is, with LAW defined and a params.h of its own; crates/sim/tests/it/bpf.rs compares the answers with the Rust's.
 *
 * The law keeps its own window from call to call; it is taken from the tape where the host had changed it. Written for
 * every call: cwnd, ssthresh, reaction, the number of events, and the events.
 */
#include <stdio.h>
#include <string.h>

#include "params.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define LAW_CALLED(what) JOIN(LAW, what)

#include TEXT(law/LAW.h)
#include "law/tape.h"

static const volatile struct LAW_CALLED(_params) params = { PARAMS };

static struct law_event events[16];
static u64 happened;

static u32 host_draw(struct law_flow *f)
{
	return f->draw;
}

static void host_event(struct law_flow *f)
{
	if (happened < sizeof(events) / sizeof(events[0]))
		events[happened++] = f->event;
}

static void take(struct law_flow *f, const struct law_tape *t, bool first)
{
	if (first || t->host_cwnd)
		f->cwnd = t->cwnd;
	if (first || t->host_ssthresh)
		f->ssthresh = t->ssthresh;
	f->event.flow = t->flow;
	f->now = t->now;
	f->mss = t->mss;
	f->srtt = t->srtt;
	f->rtt = t->rtt;
	f->min_rtt = t->min_rtt;
	f->max_rtt = t->max_rtt;
	f->in_flight = t->in_flight;
	f->receive_window = t->receive_window;
	f->floor = t->floor;
	f->lost = t->lost;
	f->phase = t->phase;
	f->resends = t->resends;
	f->cwnd_limited = t->cwnd_limited;
	f->draw = t->draw;
}

int main(void)
{
	static struct law_flow flow;
	static struct LAW law;
	struct law_tape t;
	bool first = true;

	while (fread(&t, sizeof(t), 1, stdin) == 1) {
		u64 reaction = 0;

		happened = 0;
		take(&flow, &t, first);
		first = false;
		if (t.call == LAW_CALL_INIT)
			LAW_CALLED(_init)(&law, &flow, &params);
		else if (t.call == LAW_CALL_ACK)
			LAW_CALLED(_ack)(&law, &flow, &t.ack, &params);
		else if (t.call == LAW_CALL_WAKE)
			LAW_CALLED(_wake)(&law, &flow, &params);
		else if (t.call == LAW_CALL_NOTICE)
			LAW_CALLED(_notice)(&law, &flow, t.detail, &params);
		else {
			reaction = LAW_CALLED(_congestion)(&law, &flow, t.detail, &params);
			flow.credit = 0;
		}
		if (t.call == LAW_CALL_NOTICE && t.detail == LAW_RECOVERY_END)
			flow.credit = 0;
		u64 answer[] = { flow.cwnd, flow.ssthresh, flow.credit, reaction, happened };

		fwrite(answer, sizeof(answer), 1, stdout);
		fwrite(events, sizeof(events[0]), happened, stdout);
		fflush(stdout);
	}
	return 0;
}
