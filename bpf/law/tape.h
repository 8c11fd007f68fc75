/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One call of a host with what it told the algorithm and what came of it: words of 64 bits, in the order in which the
 * kernel writes them to its ring, native.c reads them and crates/sim/tests/it/bpf.rs makes them.
 */
#ifndef SOJOURN_LAW_TAPE_H
#define SOJOURN_LAW_TAPE_H

#include "flow.h"

enum law_call { LAW_CALL_ACK, LAW_CALL_CONGESTION, LAW_CALL_NOTICE, LAW_CALL_WAKE, LAW_CALL_INIT };

struct law_tape {
	u64 call, detail; /* enum law_signal, enum law_notice */
	u64 flow;	  /* its number, as in events */
	/* Before the call; natively the windows are only taken from here where the host had changed them. */
	u64 cwnd, ssthresh, now, mss, srtt, rtt, min_rtt, max_rtt, in_flight, receive_window, floor, lost, phase, resends;
	u64 cwnd_limited;
	u64 host_cwnd, host_ssthresh; /* changed by the host since the last call */
	u64 draw;		      /* what the call drew, if it drew */
	struct law_ack ack;
	/* After it. */
	u64 after_cwnd, after_ssthresh, reaction;
};

LAW_INLINE void law_tape_before(struct law_tape *t, const struct law_flow *f)
{
	t->flow = f->event.flow;
	t->cwnd = f->cwnd;
	t->ssthresh = f->ssthresh;
	t->now = f->now;
	t->mss = f->mss;
	t->srtt = f->srtt;
	t->rtt = f->rtt;
	t->min_rtt = f->min_rtt;
	t->max_rtt = f->max_rtt;
	t->in_flight = f->in_flight;
	t->receive_window = f->receive_window;
	t->floor = f->floor;
	t->lost = f->lost;
	t->phase = f->phase;
	t->resends = f->resends;
	t->cwnd_limited = f->cwnd_limited;
}

#endif
