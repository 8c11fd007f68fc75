/* SPDX-License-Identifier: GPL-2.0 */
/* HLDG's parameters and state, by mechanism. */
#ifndef SOJOURN_LAW_HLDG_STATE_H
#define SOJOURN_LAW_HLDG_STATE_H

#include "cubic.h"
#include "gradient.h"

struct hldg_params {
	s64 wwma, zsgw, bdp, accumulate, gradient_fix, threshold, adaptive_g, mode_switch, westwood, use_ineffectual;
	s64 use_shadow, lpcc, g, lambda, beta_delay, beta_loss, use_max, window, mtu, bandwidth, base_window, base_probe;
	s64 base_wait, base_hold, base_in_repairs, consec_cong, hold_backoff, queue_threshold, rounds, loss_entry, loss_dwell;
	s64 beta_cubic, c_cubic, after_probe, g_queue, g_rate, g_max, g_delay, train, weights, threshold_by, zsgw_push, zsgw_effectual;
	s64 shadow_cap, forget_shadow, slow_start_at_ssthresh, ack_counting, search_again, repair_growth;
	s64 min_first, stale_rtt, probe_rounds, leave_loss, dwell_again, shadow_after_cut, least, every_round;
	s64 loss_ack_counting, start_threshold, start_bandwidth, acked, own_start;
};

/* W_size. */
#define HLDG_WINDOW 8
/* Averages are kept in this part of a nanosecond: sixteenths and all of 1/1 … 1/8 are whole in it. */
#define HLDG_UNIT 1680

enum { HLDG_USUAL, HLDG_BLIND, HLDG_EFFECT, HLDG_SKIP };
enum { HLDG_NOTHING, HLDG_MEASURED, HLDG_EFFECTUAL };

struct hldg_signal {
	s64 ring[HLDG_WINDOW]; /* ns, oldest first */
	s64 last, average;
};

struct hldg_gradients {
	struct hldg_signal min, max;
	u64 previous, previous_min, previous_max;
	u64 stage;
};

struct hldg_base {
	u64 rtt; /* LAW_NEVER before the first sample */
	u64 due, backed_off;
	u64 probing, since, left, lowest, at;
};

struct hldg_modes {
	u64 mode;
	u64 high, len; /* the last rounds' bits: a long queue */
	u64 entry, switched, entered, probe_epoch, probe_began, probe_rounds, probe_until;
	u64 elapsing, smallest; /* the RTT under way of a probe, since when, and its smallest sample */
};

struct hldg_restore {
	u64 target; /* 0: nothing to restore */
	u64 interval, next;
	u64 threshold; /* what the loss that led to the last probe would have left */
};

struct hldg_start {
	u64 searching;
	u64 acks, bytes, first; /* the train */
	u64 previous, initial;
	u64 rate; /* of the last train, bit/s; 0 before the first */
	u64 chance, drew;
	s64 gradient;
};

struct hldg {
	u64 bandwidth; /* bit/s of payload */
	u64 acked;     /* in order, in the round under way */
	struct hldg_base base;
	u64 regrowing;
	struct hldg_gradients gradients;
	u64 sum_min, sum_max; /* accumulated probabilities, Q32 */
	u64 chance, drew;     /* the last toss */
	struct hldg_modes modes;
	struct cubic curve;
	struct hldg_restore restore;
	struct hldg_start start;
	u64 consecutive, shadow, queue, queue_min;
	u64 bandwidth_before_probe;
	u64 repairing;
	u64 lift;
};

/* Eq 5.5, bit/s. */
static u64 hldg_rate(u64 bytes, u64 ns)
{
	return law_mul_div(bytes, 8000000000ULL, ns);
}

static u64 hldg_carries(u64 bps, u64 ns)
{
	return law_mul_div(bps, ns, 8000000000ULL);
}

/* Eq 5.7. */
static u64 hldg_bdp(const struct hldg *s)
{
	return s->base.rtt == LAW_NEVER ? 0 : hldg_carries(s->bandwidth, s->base.rtt);
}

/* Eq 5.12. */
static u64 hldg_queueing(const struct hldg *s, const struct law_flow *f)
{
	return law_less(f->rtt, s->base.rtt);
}

static u64 hldg_lambda(const volatile struct hldg_params *p)
{
	if (p->lambda >= 0)
		return p->lambda;
	return p->lpcc ? HAMILTON_Q30(75, 100) : HAMILTON_Q30(95, 100);
}

#endif
