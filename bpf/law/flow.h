/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One flow as its host sees it, and the words the algorithms share: crates/cc/src/flow.rs and ack.rs in C.
 *
 * Nothing here knows a kernel type, so that the same text is compiled for BPF and natively. Times are nanoseconds,
 * windows bytes; LAW_NEVER stands for a time that does not come and a threshold that is not set. The host provides
 * host_draw() and host_event().
 */
#ifndef SOJOURN_LAW_FLOW_H
#define SOJOURN_LAW_FLOW_H

#ifndef __VMLINUX_H__
#include <stdbool.h>
#include <stdint.h>
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#endif

#include "events.h"

#define LAW_NEVER (~0ULL)
#define LAW_MS 1000000ULL
#define LAW_INLINE static inline __attribute__((always_inline))

enum law_phase { LAW_OPEN, LAW_REDUCED, LAW_RECOVERY, LAW_TIMED_OUT };
enum law_signal { LAW_SIGNAL_LOSS, LAW_SIGNAL_ECN, LAW_SIGNAL_TIMEOUT };
enum law_notice { LAW_RESTART, LAW_RECOVERY_END, LAW_UNDONE };

/* What an algorithm answers to congestion if it set the windows itself; otherwise it answers a window. */
#define LAW_OWN LAW_NEVER

struct law_round {
	u64 start, end;
	u64 min_rtt, max_rtt;               /* of fresh samples; 0: none */
	u64 min_rtt_reused, max_rtt_reused; /* with the last sample counted again on ACKs that brought none */
	u64 samples;
	u64 delivered;
};

struct law_ack {
	u64 cumulative, delivered;
	u64 rtt;    /* 0: no fresh sample */
	u64 closed; /* this ACK closed `round` */
	struct law_round round;
};

struct law_flow {
	u64 cwnd, ssthresh;
	u64 now, mss, srtt, rtt, min_rtt, max_rtt;
	u64 in_flight, receive_window, floor;
	u64 lost;         /* so far in this episode */
	u64 phase;        /* enum law_phase */
	u64 resends;	  /* after a timeout: some of what it found lost has not been sent again */
	u64 cwnd_limited; /* the window, not the application, held the last flight back */
	u64 draw;         /* natively: the next random number */
	u64 at_ssthresh;  /* cwnd == ssthresh is still slow start (FreeBSD) */
	u64 credit;       /* acknowledged, and not yet turned into additive growth */
	struct law_event event;
};

/* 32 random bits: a number of [0, 1) in Q32. */
static u32 host_draw(struct law_flow *f);
/* Takes the record in f->event. */
static void host_event(struct law_flow *f);

LAW_INLINE u64 law_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

LAW_INLINE u64 law_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

LAW_INLINE u64 law_less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* A sum of times; never stays never. */
LAW_INLINE u64 law_after(u64 at, u64 by)
{
	return at > LAW_NEVER - by ? LAW_NEVER : at + by;
}

LAW_INLINE bool law_in_slow_start(const struct law_flow *f)
{
	return f->cwnd < f->ssthresh || (f->at_ssthresh && f->cwnd == f->ssthresh);
}

/* In whole segments, two at least. */
LAW_INLINE u64 law_segments(const struct law_flow *f, u64 window)
{
	return law_max(window / f->mss, 2) * f->mss;
}

/* What FreeBSD's NewReno makes of a mark. */
LAW_INLINE u64 law_newreno_mark(const struct law_flow *f)
{
	return law_segments(f, f->cwnd / 2);
}

LAW_INLINE bool law_may_grow(const struct law_flow *f)
{
	return f->cwnd_limited && (f->phase == LAW_OPEN || f->phase == LAW_TIMED_OUT);
}

/* What moved the window on. */
LAW_INLINE u64 law_advance(const struct law_ack *a)
{
	return law_min(a->cumulative, a->delivered);
}

/* What slow start grows by on an ACK. */
LAW_INLINE u64 law_growth(const struct law_ack *a, u64 mss, bool ack_counting)
{
	return ack_counting ? mss : law_advance(a);
}

/* Grows by what was acknowledged, as far as ssthresh; returns what it had no use for. */
static u64 law_slow_start(struct law_flow *f, u64 acked)
{
	u64 room;

	if (f->at_ssthresh) {
		/*
		 * FreeBSD: two packets an ACK at most (abc_l_var; one while what a timeout found lost is sent again), and past
		 * ssthresh with the last of them.
		 */
		f->credit = 0;
		f->cwnd += law_min(acked, f->resends ? f->mss : 2 * f->mss);
		return 0;
	}
	room = law_less(f->ssthresh, f->cwnd);
	if (acked <= room) {
		f->cwnd += acked;
		return 0;
	}
	f->cwnd = f->ssthresh;
	return acked - room;
}

/* Of the bytes acknowledged, those that congestion avoidance counts: in FreeBSD two packets an ACK at most. */
LAW_INLINE u64 law_counted(const struct law_flow *f, u64 acked)
{
	return f->at_ssthresh ? law_min(acked, 2 * f->mss) : acked;
}

/* One MSS for every `per` bytes acknowledged. */
static void law_additive(struct law_flow *f, u64 per, u64 acked)
{
	u64 times;

	per = law_max(per, 1);
	if (f->credit >= per) {
		f->credit = 0;
		f->cwnd += f->mss;
	}
	f->credit += acked;
	times = f->credit / per;
	f->credit -= per * times;
	f->cwnd += f->mss * times;
}

/* The values of the next event, in the order of law/events.h. */
LAW_INLINE void law_why(struct law_flow *f, s64 a, s64 b, s64 c, s64 d, s64 e, s64 g, s64 h, s64 i)
{
	s64 *v = f->event.values;

	v[0] = a;
	v[1] = b;
	v[2] = c;
	v[3] = d;
	v[4] = e;
	v[5] = g;
	v[6] = h;
	v[7] = i;
}

/* Tells why cwnd and ssthresh are no longer what they were. */
static void law_because(struct law_flow *f, u32 kind, u64 cwnd_before, u64 ssthresh_before)
{
	struct law_event *e = &f->event;

	e->version = LAW_EVENT_VERSION;
	e->kind = kind;
	e->time = f->now;
	e->cwnd_before = cwnd_before;
	e->cwnd_after = f->cwnd;
	e->ssthresh_before = ssthresh_before;
	e->ssthresh_after = f->ssthresh;
	host_event(f);
}

/* Something that changed no window. */
LAW_INLINE void law_note(struct law_flow *f, u32 kind)
{
	law_because(f, kind, f->cwnd, f->ssthresh);
}

/* The algorithm's own back-off. */
LAW_INLINE void law_reduce(struct law_flow *f, u64 to, u32 kind)
{
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh;

	f->cwnd = f->ssthresh = law_max(to, f->floor);
	law_because(f, kind, cwnd, ssthresh);
}

#endif
