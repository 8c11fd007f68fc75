/* SPDX-License-Identifier: GPL-2.0 */
/* Of the kernel's types what bpf/host.h and bpf/kit.h touch, so that they can be compiled without a kernel. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum tcp_ca_event { CA_EVENT_TX_START };
enum { BPF_MAP_TYPE_SK_STORAGE, BPF_MAP_TYPE_RINGBUF };
enum { BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1 };

struct sock {
	struct {
		u32 skc_rcv_saddr;
		u16 skc_num, skc_dport;
	} __sk_common;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
};

struct inet_connection_sock {
	struct sock sk;
	u8 icsk_ca_state, icsk_retransmits, icsk_backoff;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_clamp, snd_una, snd_nxt, high_seq, snd_wnd, mss_cache, srtt_us, rttvar_us, reordering;
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out, prior_cwnd, prr_out, delivered_ce;
	u64 tcp_mstamp, bytes_acked;
	u8 ecn_flags, tlp_retrans, is_cwnd_limited;
};

struct rate_sample {
	long rtt_us;
	u32 acked_sacked;
	int losses;
	bool is_ack_delayed;
};

struct tcp_congestion_ops {
	void *init, *release, *ssthresh, *cong_control, *set_state, *cwnd_event, *undo_cwnd;
	u32 flags;
	char name[16];
};

#endif
