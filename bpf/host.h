/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept of a TCP socket, recorded, and measured of it: windows, rounds, RTTs. kit.h includes it, and says what must be
 * defined before.
 */
#ifndef SOJOURN_HOST_H
#define SOJOURN_HOST_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "params.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define LAW_CALLED(what) JOIN(LAW, what)
#ifndef LEAST
#define LEAST 2 /* packets that the window keeps */
#endif

#include "law/tape.h"

char _license[] SEC("license") = "GPL";

const volatile struct LAW_CALLED(_params) params = { PARAMS };

#define US 1000ULL
#define UNSET 0x7fffffff /* TCP_INFINITE_SSTHRESH */
#define INITIAL_WINDOW 10 /* RFC 6928 */

struct host {
	struct law_flow flow;
	struct law_ack ack;
	struct LAW law;
	struct law_round open; /* the round under way */
	u64 bytes_acked;
	u32 delivered_ce; /* by the last ACK */
	u32 round_end;
	u32 snd_cwnd, snd_ssthresh; /* as last written */
	u32 initial; /* window */
	u32 prr_delivered, prr_out, prior_cwnd; /* prr_out: the kernel's when the law was asked, which a CWR before may have raised */
	u32 own, undone;
	u32 aside; /* the kernel's CWR is no episode of the law's */
#if RECORD_ACKS
	struct law_tape tape;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct host);
} sojourn_state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RECORD_ACKS ? 1 << 24 : 1 << 20);
} sojourn_events SEC(".maps");

/* Records for which the ring had no room: its reader says so. */
u64 sojourn_lost;

static void host_tells(void *record, u64 size)
{
	/* The reader polls; a wake-up an event would cost more than the event. */
	if (bpf_ringbuf_output(&sojourn_events, record, size, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&sojourn_lost, 1);
}

static u32 host_draw(struct law_flow *f)
{
	f->draw = bpf_get_prandom_u32();
	return f->draw;
}

static void host_event(struct law_flow *f)
{
	host_tells(&f->event, sizeof(f->event));
}

static struct host *host_of(struct sock *sk)
{
	return bpf_sk_storage_get(&sojourn_state, sk, 0, 0);
}

static void tape_before(struct host *h, u64 call, u64 detail)
{
#if RECORD_ACKS
	h->tape.call = call;
	h->tape.detail = detail;
	law_tape_before(&h->tape, &h->flow);
	h->flow.draw = 0;
#endif
}

static void tape_after(struct host *h, u64 reaction)
{
#if RECORD_ACKS
	struct law_tape *t = &h->tape;

	t->draw = h->flow.draw;
	t->ack = h->ack;
	t->after_cwnd = h->flow.cwnd;
	t->after_ssthresh = h->flow.ssthresh;
	t->reaction = reaction;
	host_tells(t, sizeof(*t));
	t->host_cwnd = t->host_ssthresh = 0;
#endif
}

static void host_set_cwnd(struct host *h, u64 cwnd)
{
	h->flow.cwnd = cwnd;
#if RECORD_ACKS
	h->tape.host_cwnd = 1;
#endif
}

static void host_set_ssthresh(struct host *h, u64 ssthresh)
{
	h->flow.ssthresh = ssthresh;
#if RECORD_ACKS
	h->tape.host_ssthresh = 1;
#endif
}

static u64 bytes_of(u32 packets, u64 mss)
{
	return packets >= UNSET ? LAW_NEVER : packets * mss;
}

static u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static u64 phase_of(u32 state)
{
	if (state == TCP_CA_Recovery)
		return LAW_RECOVERY;
	if (state == TCP_CA_Loss)
		return LAW_TIMED_OUT;
	return state == TCP_CA_CWR ? LAW_REDUCED : LAW_OPEN;
}

static u32 state_of(const struct host *h, const struct tcp_sock *tp)
{
	u32 state = tp->inet_conn.icsk_ca_state;

	return state == TCP_CA_CWR && h->aside ? TCP_CA_Open : state;
}

static bool is_cwnd_limited(const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Takes over what the kernel did behind the law's back: an undo, a new MSS. */
static void host_sees_windows(struct host *h, const struct tcp_sock *tp)
{
	struct law_flow *f = &h->flow;
	u64 mss = tp->mss_cache ? tp->mss_cache : 536;
	bool resized = mss != f->mss;

	f->mss = mss;
	f->floor = law_max(LEAST * mss, 1);
	if (resized || tp->snd_cwnd != h->snd_cwnd)
		host_set_cwnd(h, tp->snd_cwnd * mss);
	if (resized || tp->snd_ssthresh != h->snd_ssthresh)
		host_set_ssthresh(h, bytes_of(tp->snd_ssthresh, mss));
}

static void host_measures(struct host *h, const struct tcp_sock *tp)
{
	struct law_flow *f = &h->flow;

	f->now = law_max(f->now, tp->tcp_mstamp * US);
	f->srtt = (u64)(tp->srtt_us >> 3) * US;
	f->in_flight = in_flight(tp) * f->mss;
	f->lost = tp->lost_out * f->mss;
	f->receive_window = tp->snd_wnd;
	f->phase = phase_of(state_of(h, tp));
	f->resends = f->phase == LAW_TIMED_OUT && tp->lost_out > tp->retrans_out;
	f->cwnd_limited = is_cwnd_limited(tp);
}

static void host_writes_at_least(struct host *h, struct tcp_sock *tp, u64 least)
{
	struct law_flow *f = &h->flow;
	struct sock *sk = (struct sock *)tp;
	u64 cwnd = law_max(f->cwnd / f->mss, law_max(least, 1)), rate;

	h->snd_cwnd = law_min(cwnd, tp->snd_cwnd_clamp);
	h->snd_ssthresh = f->ssthresh == LAW_NEVER ? UNSET : law_min(law_max(f->ssthresh / f->mss, 2), UNSET);
	tp->snd_cwnd = h->snd_cwnd;
	tp->snd_ssthresh = h->snd_ssthresh;
	/* What the kernel does for algorithms without cong_control (tcp_update_pacing_rate): it sizes TSO bursts by this rate. */
	if (f->srtt) {
		rate = law_mul_div(f->cwnd * (f->cwnd < f->ssthresh / 2 ? 200 : 120), 10000000, f->srtt);
		sk->sk_pacing_rate = law_min(rate, sk->sk_max_pacing_rate);
	}
}

static void host_writes(struct host *h, struct tcp_sock *tp)
{
	host_writes_at_least(h, tp, 0);
}

static void round_begins(struct host *h, const struct tcp_sock *tp)
{
	h->open = (struct law_round){ .start = h->flow.now, .min_rtt = LAW_NEVER, .min_rtt_reused = LAW_NEVER };
	h->round_end = tp->snd_nxt;
}

/* Counts an ACK in the round under way and closes it when what was sent at its beginning is passed. */
static void host_counts_round(struct host *h, const struct tcp_sock *tp)
{
	struct law_round *r = &h->open, *done = &h->ack.round;
	u64 rtt = h->ack.rtt, last = h->flow.rtt;

	r->delivered += h->ack.delivered;
	if (rtt) {
		r->samples++;
		r->min_rtt = law_min(r->min_rtt, rtt);
		r->max_rtt = law_max(r->max_rtt, rtt);
	} else if (last) {
		r->min_rtt_reused = law_min(r->min_rtt_reused, last);
		r->max_rtt_reused = law_max(r->max_rtt_reused, last);
	}
	h->ack.closed = (s32)(tp->snd_una - h->round_end) > 0;
	if (!h->ack.closed)
		return;
	*done = *r;
	done->end = h->flow.now;
	done->min_rtt_reused = law_min(r->min_rtt_reused, r->min_rtt);
	done->max_rtt_reused = law_max(r->max_rtt_reused, r->max_rtt);
	if (done->min_rtt == LAW_NEVER)
		done->min_rtt = 0;
	if (done->min_rtt_reused == LAW_NEVER)
		done->min_rtt_reused = 0;
	round_begins(h, tp);
}

static void host_takes_rtt(struct host *h, const struct rate_sample *rs)
{
	struct law_flow *f = &h->flow;
	u64 rtt = rs->rtt_us > 0 ? rs->rtt_us * US : 0;

	/* A lone segment's ACK may have waited for the receiver's timer. */
	if (rs->is_ack_delayed && rtt > f->min_rtt && f->min_rtt)
		rtt = 0;
	h->ack.rtt = rtt;
	if (!rtt)
		return;
	f->rtt = rtt;
	f->max_rtt = law_max(f->max_rtt, rtt);
	f->min_rtt = f->min_rtt ? law_min(f->min_rtt, rtt) : rtt;
}

#endif
