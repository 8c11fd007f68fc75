/* SPDX-License-Identifier: GPL-2.0 */
/* What a BPF program calls, as host.c answers. */
#ifndef SOJOURN_STUB_HELPERS_H
#define SOJOURN_STUB_HELPERS_H

#define SEC(name)
#define BPF_PROG(name, args...) name(args)
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define bpf_ntohl(x) (x)
#define bpf_ntohs(x) (x)
#define bpf_get_prandom_u32() 0 /* whatever has a chance happens */
#define bpf_sk_storage_get(map, sk, init, flags) stub_storage()
#define bpf_sk_storage_delete(map, sk) ((void)(sk))
#define bpf_ringbuf_output(ring, record, size, flags) stub_record(record, size)

static struct host *stub_storage(void);
static int stub_record(const void *record, unsigned long size);

#endif
