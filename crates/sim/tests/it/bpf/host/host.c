// SPDX-License-Identifier: GPL-2.0
/*
 * bpf/kit.h without a kernel: a socket whose fields and whose kernel's calls come a line at a time. "set FIELD NUMBER" sets
 * a field of the socket, or the RTT that ACKs bring, "state NUMBER" enters a state of congestion, "ack NUMBER" acknowledges so many segments,
 * "rest NUMBER" sends again after so many microseconds, "join 0" is given the algorithm anew, "undo 0" takes
 * a reduction back. For every line there is one with cwnd and ssthresh in segments and the pacing rate, before it one for each call of the law:
 * which, of what kind, in which phase.
 */
#include <stdio.h>
#include <string.h>

#include "law.h"

static struct host storage;

static struct host *stub_storage(void)
{
	return &storage;
}

static int stub_record(const void *record, unsigned long size)
{
	static const char *const signals[] = { "loss", "ecn", "timeout" };
	static const char *const notices[] = { "restart", "recovery-end", "undone" };
	const struct law_tape *t = record;

	if (size != sizeof(*t))
		return 0;
	if (t->call == LAW_CALL_CONGESTION)
		printf("asked %s %llu\n", signals[t->detail], (unsigned long long)t->phase);
	else if (t->call == LAW_CALL_NOTICE)
		printf("noticed %s\n", notices[t->detail]);
	else if (t->call == LAW_CALL_ACK)
		printf("acked %llu\n", (unsigned long long)t->phase);
	return 0;
}

#define FIELDS(field)                                                                                                  \
	field(snd_cwnd) field(snd_ssthresh) field(packets_out) field(sacked_out) field(lost_out) field(retrans_out)   \
		field(prr_out) field(delivered_ce) field(ecn_flags) field(tlp_retrans) field(snd_nxt) field(high_seq)  \
			field(inet_conn.sk.sk_max_pacing_rate) field(inet_conn.icsk_retransmits)

int main(void)
{
	struct tcp_sock tp = { .snd_cwnd = 100, .snd_ssthresh = 50, .snd_cwnd_clamp = ~0u, .mss_cache = 1000,
			       .snd_wnd = 1 << 30, .srtt_us = 8 * 100000, .packets_out = 100, .reordering = 3,
			       .is_cwnd_limited = 1, .tcp_mstamp = 1000000, .snd_nxt = 100000 };
	struct sock *sk = &tp.inet_conn.sk;
	char word[8], field[64];
	unsigned long number, rtt_us = 100000;

	sk->sk_max_pacing_rate = ~0ul;
	host_init(sk);
	while (scanf("%7s", word) == 1) {
		if (!strcmp(word, "set") && scanf("%63s %lu", field, &number) == 2) {
#define SET(name)                                                                                                      \
	if (!strcmp(field, #name))                                                                                     \
		tp.name = number;
			FIELDS(SET)
			if (!strcmp(field, "rtt_us"))
				rtt_us = number;
			continue;
		}
		if (scanf("%lu", &number) != 1)
			return 1;
		if (!strcmp(word, "undo")) {
			tp.snd_cwnd = host_undo_cwnd(sk);
		} else if (!strcmp(word, "rest")) {
			tp.tcp_mstamp += number;
			host_cwnd_event(sk, CA_EVENT_TX_START);
		} else if (!strcmp(word, "join")) {
			host_init(sk);
		} else if (!strcmp(word, "state")) {
			host_set_state(sk, number);
			tp.inet_conn.icsk_ca_state = number;
		} else {
			struct rate_sample rs = { .rtt_us = rtt_us, .acked_sacked = number };

			tp.tcp_mstamp += 1000;
			tp.snd_una += number * 1000;
			tp.bytes_acked += number * 1000;
			host_cong_control(sk, 0, 0, &rs);
		}
		printf("%u %u %lu\n", tp.snd_cwnd, tp.snd_ssthresh, sk->sk_pacing_rate);
	}
	return 0;
}
