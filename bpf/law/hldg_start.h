/* SPDX-License-Identifier: GPL-2.0 */
/* Slow start capped by an ACK train and ended by a gradient: hldg/slow_start.rs and hldg/train.rs. */
#ifndef SOJOURN_LAW_HLDG_START_H
#define SOJOURN_LAW_HLDG_START_H

#include "hldg_state.h"

static void hldg_start_again(struct hldg *s)
{
	s->start.searching = 1;
	s->start.previous = 0;
	s->start.acks = s->start.bytes = s->start.rate = 0;
}

static void hldg_start_exit(struct hldg *s, struct law_flow *f, u64 reason, u64 bandwidth, u64 bdp)
{
	law_why(f, reason, f->rtt, s->base.rtt, s->start.gradient, law_ppb(s->start.chance), law_ppb(s->start.drew),
		bandwidth, bdp);
}

/* An ACK of the train; the rate of the ninth, or 0. */
static u64 hldg_train(struct hldg_start *t, u64 now, u64 acked, const volatile struct hldg_params *p)
{
	u64 rate = 0;

	if (!t->acks)
		t->first = now;
	if (t->acks == p->train && now > t->first)
		rate = hldg_rate(t->bytes, now - t->first);
	t->acks++;
	t->bytes += acked;
	return rate;
}

static void hldg_start_ack(struct hldg *s, struct law_flow *f, const struct law_ack *a, const volatile struct hldg_params *p)
{
	u64 acked = law_growth(a, f->mss, p->ack_counting && !s->regrowing), rate;
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh;

	if (!s->start.searching) {
		law_slow_start(f, acked);
		return;
	}
	if (a->closed)
		s->start.acks = s->start.bytes = 0;
	rate = hldg_train(&s->start, f->now, a->cumulative, p);
	if (rate) {
		s->start.rate = rate;
		f->ssthresh = law_max(hldg_carries(rate, s->base.rtt), f->floor);
		f->cwnd = law_min(f->cwnd, f->ssthresh);
	}
	law_slow_start(f, acked);
	if (f->cwnd >= f->ssthresh) {
		s->start.searching = 0;
		hldg_start_exit(s, f, LAW_EXIT_BANDWIDTH, rate ? rate : hldg_rate(f->ssthresh, s->base.rtt), f->ssthresh);
		law_because(f, LAW_SLOW_START_EXIT, cwnd, ssthresh);
	} else if (rate) {
		law_why(f, rate, s->base.rtt, f->ssthresh, 0, 0, 0, 0, 0);
		law_because(f, LAW_SLOW_START_CAP, cwnd, ssthresh);
	}
}

/* A round ended in slow start. True if its gradient ended slow start too: the window stays as it is. */
static bool hldg_start_round(struct hldg *s, struct law_flow *f, u64 min, u64 threshold,
			     const volatile struct hldg_params *p)
{
	u64 previous = s->start.previous, ssthresh = f->ssthresh;

	s->start.previous = min;
	if (!previous)
		return false;
	s->start.gradient = min - previous;
	if (s->start.initial) {
		s->start.initial = 0;
		s->start.previous = 0;
		return false;
	}
	if (!s->start.searching || s->start.gradient <= 0 || s->start.gradient < (s64)threshold)
		return false;
	s->start.chance = law_probability(s->start.gradient, law_ms(p->g));
	s->start.drew = host_draw(f);
	if (s->start.drew >= s->start.chance)
		return false;
	s->start.searching = 0;
	f->ssthresh = f->cwnd;
	hldg_start_exit(s, f, LAW_EXIT_GRADIENT, 0, 0);
	law_because(f, LAW_SLOW_START_EXIT, f->cwnd, ssthresh);
	return true;
}

#endif
