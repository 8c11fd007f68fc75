/* SPDX-License-Identifier: GPL-2.0 */
/* The base RTT over a window of time and its probe: hldg/base_rtt.rs and half of hldg/probes.rs. */
#ifndef SOJOURN_LAW_HLDG_BASE_RTT_H
#define SOJOURN_LAW_HLDG_BASE_RTT_H

#include "hldg_gradient.h"

static void hldg_base_begin(struct hldg *s, u64 at, const volatile struct hldg_params *p)
{
	s->base.due = p->base_window ? at + p->base_window : LAW_NEVER;
}

static void hldg_base_sees(struct hldg *s, u64 now, u64 rtt, const volatile struct hldg_params *p)
{
	struct hldg_base *b = &s->base;

	if (b->probing && rtt < b->lowest) {
		b->lowest = rtt;
		b->at = now;
	}
	if (rtt < b->rtt) {
		b->rtt = rtt;
		hldg_base_begin(s, now, p);
	}
}

static bool hldg_base_due(const struct hldg *s, u64 now)
{
	return now >= s->base.due && !s->base.probing;
}

/* Where back-offs are frequent, a probe that is due waits for the next one. */
static u64 hldg_base_deadline(const struct hldg *s, const volatile struct hldg_params *p)
{
	return s->base.probing ? LAW_NEVER : law_max(s->base.due, law_after(s->base.backed_off, p->base_wait));
}

/* True if this round was the last one that the probe wanted. */
static bool hldg_base_round(struct hldg *s, u64 began)
{
	struct hldg_base *b = &s->base;

	if (!b->probing)
		return false;
	if (began >= b->since && b->left)
		b->left--;
	return !b->left;
}

/* Competitors are suspected: their queue must not be taken for the path. */
static bool hldg_suspects(const struct hldg_modes *m, const volatile struct hldg_params *p)
{
	return !p->lpcc && law_switch(p->mode_switch, p->bdp) && m->mode == LAW_MODE_DELAY &&
	       (m->entry != LAW_NEVER || (m->high & 1));
}

/* The window of Eq 5.9 is over: give up a fifth of the window to see what lies beneath the queue. */
static void hldg_probe_base(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh;

	if (f->phase != LAW_OPEN || f->cwnd < f->ssthresh || !f->in_flight || hldg_suspects(&s->modes, p)) {
		s->base.due = f->now + f->srtt;
		return;
	}
	if (f->cwnd > law_max(f->mss, f->floor)) {
		f->ssthresh = f->cwnd;
		f->cwnd = law_max(law_part(f->cwnd, p->base_probe), f->floor);
	}
	s->start.searching = 0;
	s->base.probing = 1;
	s->base.since = s->base.at = f->now;
	s->base.left = law_max(p->base_hold, 1);
	s->base.lowest = LAW_NEVER;
	law_why(f, LAW_PROBE_BASE_RTT, s->base.rtt, 0, 0, 0, 0, 0, 0);
	law_because(f, LAW_PROBE_START, cwnd, ssthresh);
}

static void hldg_after_base_probe(struct hldg *s, struct law_flow *f)
{
	hldg_gradients_clear(&s->gradients);
	s->sum_min = s->sum_max = 0;
	law_why(f, LAW_PROBE_BASE_RTT, s->base.rtt, hldg_queueing(s, f), 0, 0, 0, 0, 0);
	law_note(f, LAW_PROBE_END);
}

static void hldg_end_base_probe(struct hldg *s, struct law_flow *f, const volatile struct hldg_params *p)
{
	struct hldg_base *b = &s->base;

	b->probing = 0;
	if (b->lowest == LAW_NEVER) {
		hldg_base_begin(s, f->now, p);
	} else {
		b->rtt = b->lowest;
		hldg_base_begin(s, b->at, p);
	}
	s->regrowing = f->cwnd < f->ssthresh;
	hldg_after_base_probe(s, f);
}

/* A loss or competitors came in between: the base stays, and the next occasion probes again. */
static void hldg_abandon_base_probe(struct hldg *s, struct law_flow *f)
{
	s->regrowing = 0;
	if (!s->base.probing)
		return;
	s->base.probing = 0;
	s->base.due = f->now;
	hldg_after_base_probe(s, f);
}

#endif
