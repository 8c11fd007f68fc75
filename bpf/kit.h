/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel as a host: measures a TCP socket, asks a law, sets the window. Included last by a NAME.bpf.c that has
 * defined LAW as NAME, and LEAST if the window keeps another number of packets than two; params.h is written when the
 * object is built and defines PARAMS, RECORD_ACKS, CONG_CONTROL_ARGS, CALLED, the name under which the kernel has it, and
 * FLOW_IS_ADDRESS: what tells flows apart in records is the local IPv4 address, or else the two ports.
 *
 * All is in cong_control, which the kernel calls for every ACK, in recovery too; so the proportional rate reduction
 * (RFC 6937) that other algorithms get from the kernel is here. What the kernel asks with ssthresh() it explains only
 * with the set_state() that follows; the law is asked there. There are no timers: what was to be done meanwhile is done
 * with the next ACK.
 */
#include "host.h"

/* Proportional rate reduction, RFC 6937, with the slow-start bound while nothing more is lost. */
static void host_reduces(struct host *h, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	struct law_flow *f = &h->flow;
	u32 pipe = in_flight(tp), target = law_max(f->ssthresh / f->mss, 2), send;
	u32 out = tp->prr_out - h->prr_out, acked = rs->acked_sacked;

	if (!acked || !h->prior_cwnd || f->ssthresh == LAW_NEVER)
		return;
	h->prr_delivered += acked;
	if (pipe > target) {
		send = ((u64)target * h->prr_delivered + h->prior_cwnd - 1) / h->prior_cwnd;
		send = law_less(send, out);
	} else {
		send = law_less(h->prr_delivered, out);
		if (h->ack.cumulative && rs->losses <= 0)
			send = law_max(send, acked) + 1;
		send = law_min(send, target - pipe);
	}
	/* The first retransmission goes out whatever the sum says. */
	if (!send && !out)
		send = 1;
	host_set_cwnd(h, (pipe + send) * f->mss);
}

SEC("struct_ops/init")
void BPF_PROG(host_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct host *h = bpf_sk_storage_get(&sojourn_state, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!h)
		return;
#if FLOW_IS_ADDRESS
	h->flow.event.flow = bpf_ntohl(sk->__sk_common.skc_rcv_saddr);
#else
	h->flow.event.flow = (u32)sk->__sk_common.skc_num << 16 | bpf_ntohs(sk->__sk_common.skc_dport);
#endif
	h->snd_cwnd = h->snd_ssthresh = 0;
	host_sees_windows(h, tp);
	host_measures(h, tp);
	h->bytes_acked = tp->bytes_acked;
	/* More than the SYN has been acknowledged where the algorithm is changed later: that window is no initial one. */
	h->initial = tp->bytes_acked > 1 ? INITIAL_WINDOW : tp->snd_cwnd;
	h->delivered_ce = tp->delivered_ce;
	round_begins(h, tp);
	LAW_CALLED(_init)(&h->law, &h->flow, &params);
	tape_before(h, LAW_CALL_INIT, 0);
	tape_after(h, 0);
	host_writes(h, tp);
}

/*
 * What windows grow by, as the kernel's own do (tcp_cong_control, tcp_may_raise_cwnd): of an ACK that fills a hole not
 * what arrived long before, of one that covers anything in order also what it found beyond a hole.
 */
static void host_earns(struct host *h, const struct tcp_sock *tp, u64 acked)
{
	u32 state = state_of(h, tp);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		h->ack.cumulative = acked;
	else
		h->ack.cumulative = acked || tp->reordering > 3 ? h->ack.delivered : 0;
}

static void host_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct host *h = host_of(sk);
	struct law_flow *f;
	u32 state;

	if (!h)
		return;
	f = &h->flow;
	host_sees_windows(h, tp);
	host_measures(h, tp);
	h->ack.delivered = (u64)rs->acked_sacked * f->mss;
	host_earns(h, tp, tp->bytes_acked - h->bytes_acked);
	h->bytes_acked = tp->bytes_acked;
	h->delivered_ce = tp->delivered_ce;
	host_takes_rtt(h, rs);
	host_counts_round(h, tp);

	tape_before(h, LAW_CALL_WAKE, 0);
	LAW_CALLED(_wake)(&h->law, f, &params);
	tape_after(h, 0);
	tape_before(h, LAW_CALL_ACK, 0);
	LAW_CALLED(_ack)(&h->law, f, &h->ack, &params);
	tape_after(h, 0);

	state = tp->inet_conn.icsk_ca_state;
	if (!h->own && (state == TCP_CA_CWR || state == TCP_CA_Recovery))
		host_reduces(h, tp, rs);
	/* A law that cut the window itself may have more in flight: the first retransmission goes out all the same. */
	host_writes_at_least(h, tp, h->own && state == TCP_CA_Recovery && tp->prr_out == h->prr_out ? in_flight(tp) + 1 : 0);
}

#if CONG_CONTROL_ARGS == 4 /* since 6.10 */
SEC("struct_ops/cong_control")
void BPF_PROG(host_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	host_ack(sk, rs);
}
#else
SEC("struct_ops/cong_control")
void BPF_PROG(host_cong_control, struct sock *sk, const struct rate_sample *rs)
{
	host_ack(sk, rs);
}
#endif

/* The kernel asks before it says why: set_state() answers. */
SEC("struct_ops/ssthresh")
u32 BPF_PROG(host_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

/* The kernel counts this one, and doubles the timer, afterwards. */
static void host_says_which_timeout(struct law_flow *f, const struct tcp_sock *tp)
{
	u64 rto = (u64)((tp->srtt_us >> 3) + tp->rttvar_us) * US << tp->inet_conn.icsk_backoff;

	law_why(f, f->in_flight, tp->inet_conn.icsk_retransmits + 1, rto, 0, 0, 0, 0, 0);
}

static void host_congestion(struct host *h, struct tcp_sock *tp, u32 signal)
{
	struct law_flow *f = &h->flow;
	u64 cwnd = f->cwnd, ssthresh = f->ssthresh, now = cwnd, to;
	u32 kind = LAW_LOSS_BACKOFF;

	h->undone = 0;
	tape_before(h, LAW_CALL_CONGESTION, signal);
	to = LAW_CALLED(_congestion)(&h->law, f, signal, &params);
	tape_after(h, to);
	f->credit = 0;
	h->own = to == LAW_OWN;
	h->aside = 0;
	h->prr_delivered = 0;
	h->prr_out = tp->prr_out;
	h->prior_cwnd = cwnd / f->mss;
	if (signal == LAW_SIGNAL_TIMEOUT)
		kind = LAW_TIMEOUT;
	else if (signal == LAW_SIGNAL_ECN)
		kind = LAW_ECN_BACKOFF;
	if (!h->own) {
		to = law_max(to, f->floor);
		host_set_ssthresh(h, to);
		/* The event shows the goal where the reduction takes its time. */
		f->cwnd = kind == LAW_TIMEOUT ? f->mss : to;
		law_why(f, kind == LAW_ECN_BACKOFF ? 0 : f->lost, f->in_flight, 0, 0, 0, 0, 0, 0);
		if (kind == LAW_TIMEOUT)
			host_says_which_timeout(f, tp);
		law_because(f, kind, cwnd, ssthresh);
		host_set_cwnd(h, now);
	}
}

static void host_notice(struct host *h, u32 what)
{
	tape_before(h, LAW_CALL_NOTICE, what);
	LAW_CALLED(_notice)(&h->law, &h->flow, what, &params);
	tape_after(h, 0);
}

#define ECN_AGREED 0x11 /* TCP_ECN_MODE_RFC3168, and since 6.18 TCP_ECN_MODE_ACCECN */

/*
 * What CWR is for: the kernel enters it for a mark and for a loss that a tail probe repaired (tcp_process_tlp_ack). Of the
 * ACK that brings a mark the kernel counts what it delivers before it tells; one that delivers nothing is known by elimination.
 */
static bool host_was_marked(const struct host *h, const struct tcp_sock *tp)
{
	if (!(tp->ecn_flags & ECN_AGREED))
		return false;
	return tp->delivered_ce != h->delivered_ce || !BPF_CORE_READ_BITFIELD(tp, tlp_retrans);
}

SEC("struct_ops/set_state")
void BPF_PROG(host_set_state, struct sock *sk, u8 new)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct host *h = host_of(sk);
	u32 old = tp->inet_conn.icsk_ca_state;
	struct law_flow *f;

	if (!h)
		return;
	f = &h->flow;
	/* After a timeout the kernel has set cwnd before it tells: the law is asked with the window it had. */
	if (new != TCP_CA_Loss)
		host_sees_windows(h, tp);
	host_measures(h, tp);
	if (new == TCP_CA_Recovery && (old != TCP_CA_CWR || h->aside)) {
		host_congestion(h, tp, LAW_SIGNAL_LOSS);
	} else if (new == TCP_CA_CWR && host_was_marked(h, tp)) {
		host_congestion(h, tp, LAW_SIGNAL_ECN);
		/* The kernel reduces all the same, so that a repair within the round ends where the reduction would have. */
		h->aside = h->own;
	} else if (new == TCP_CA_CWR) {
		/* What the probe repeated. All is over with the ACK that tells: there is no episode. */
		f->lost = f->mss;
		host_congestion(h, tp, LAW_SIGNAL_LOSS);
		h->aside = 1;
	} else if (new == TCP_CA_Loss) {
		/*
		 * tcp_enter_loss asks again where something was acknowledged since the last timeout, and where all that was out as
		 * the episode began is: it sets high_seq anew only after this call.
		 */
		bool again = old == TCP_CA_Loss && !tp->inet_conn.icsk_retransmits;
		bool past = (s32)(tp->high_seq - tp->snd_una) <= 0;
		u64 cwnd = f->cwnd;

		if (old <= TCP_CA_Disorder || again || past || (h->own && old != TCP_CA_Loss)) {
			host_congestion(h, tp, LAW_SIGNAL_TIMEOUT);
		} else {
			f->cwnd = f->mss;
			host_says_which_timeout(f, tp);
			law_because(f, LAW_TIMEOUT, cwnd, f->ssthresh);
		}
		h->own = 0;
		host_set_cwnd(h, tp->snd_cwnd * f->mss);
	} else if (new <= TCP_CA_Disorder && old == TCP_CA_CWR && h->aside) {
		if (!h->own)
			host_set_cwnd(h, f->ssthresh);
		h->own = 0;
		f->phase = LAW_OPEN;
	} else if (new <= TCP_CA_Disorder && old >= TCP_CA_CWR) {
		if (old != TCP_CA_Loss && !h->own && !h->undone && f->ssthresh != LAW_NEVER)
			host_set_cwnd(h, f->ssthresh);
		h->own = 0;
		f->credit = 0;
		f->phase = LAW_OPEN;
		if (!h->undone)
			host_notice(h, LAW_RECOVERY_END);
	}
	host_writes(h, tp);
}

/* Half for every RTO of silence, down to the initial window, as tcp_cwnd_restart does; a reduction has its threshold. */
static void host_restarts(struct host *h, u64 idle, u64 rto)
{
	struct law_flow *f = &h->flow;
	u64 before = f->cwnd, ssthresh = f->ssthresh, cwnd = before, least = law_min(h->initial * f->mss, before);
	u64 left = law_min(idle / rto, 32);

	for (; left && cwnd > least; left--)
		cwnd /= 2;
	if (f->phase != LAW_REDUCED)
		host_set_ssthresh(h, law_max(ssthresh, before / 4 * 3));
	if (law_max(cwnd, least) == before)
		return;
	host_set_cwnd(h, law_max(cwnd, least));
	law_why(f, idle, 0, 0, 0, 0, 0, 0, 0);
	law_because(f, LAW_IDLE_RESTART, before, ssthresh);
}

/* Sending again after more than an RTO of silence: RFC 5681, section 4.1. */
SEC("struct_ops/cwnd_event")
void BPF_PROG(host_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct host *h = host_of(sk);
	u64 last, rto;
	struct law_flow *f;

	if (event != CA_EVENT_TX_START || !h)
		return;
	f = &h->flow;
	last = f->now;
	rto = (u64)((tp->srtt_us >> 3) + tp->rttvar_us) * US;
	if (!f->rtt || !rto || tp->tcp_mstamp * US < last + rto)
		return;
	host_sees_windows(h, tp);
	host_measures(h, tp);
	host_restarts(h, f->now - last, rto);
	host_notice(h, LAW_RESTART);
	round_begins(h, tp);
	host_writes(h, tp);
}

/* The reduction was spurious; the kernel puts ssthresh back itself. */
SEC("struct_ops/undo_cwnd")
u32 BPF_PROG(host_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct host *h = host_of(sk);
	u32 to = law_max(tp->snd_cwnd, tp->prior_cwnd);
	struct law_flow *f;
	u64 cwnd;

	if (!h)
		return to;
	f = &h->flow;
	cwnd = f->cwnd;
	h->undone = 1;
	host_notice(h, LAW_UNDONE);
	host_set_cwnd(h, to * f->mss);
	h->snd_cwnd = to;
	law_why(f, 0, 0, 0, 0, 0, 0, 0, 0);
	law_because(f, LAW_UNDO, cwnd, f->ssthresh);
	return to;
}

SEC("struct_ops/release")
void BPF_PROG(host_release, struct sock *sk)
{
	bpf_sk_storage_delete(&sojourn_state, sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops CALLED = {
	.init = (void *)host_init,
	.release = (void *)host_release,
	.ssthresh = (void *)host_ssthresh,
	.cong_control = (void *)host_cong_control,
	.set_state = (void *)host_set_state,
	.cwnd_event = (void *)host_cwnd_event,
	.undo_cwnd = (void *)host_undo_cwnd,
	.flags = 1, /* TCP_CONG_NON_RESTRICTED: any user may ask for it */
	.name = TEXT(CALLED),
};
