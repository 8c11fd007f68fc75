//! `cargo bench -p sojourn-hot [NAME]`: nanoseconds of the loops a simulation spends its time in.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hot::{Clocked, Standing, transfer};
use sim::digest::{Digest, Fact};
use sim::scheduler::Scheduler;
use std::hint::black_box;
use std::time::Duration;
use units::{Instant, Rng};

/// Takes the earliest event and puts it off by a random time: as many sources pending before as after.
fn scheduler(c: &mut Criterion) {
    let mut group = c.benchmark_group("scheduler");
    for sources in [4, 100, 10_000] {
        let mut scheduler = Scheduler::new(sources);
        let mut rng = Rng::new(1, 0, 0);
        for source in 0..sources as u32 {
            let order = scheduler.ticket();
            scheduler.set(source, Instant::from_nanos(rng.below(1_000_000)), order);
        }
        group.bench_function(BenchmarkId::from_parameter(sources), |b| {
            b.iter(|| {
                let (at, source) = scheduler.peek().expect("sources are never cleared");
                let order = scheduler.ticket();
                scheduler.set(source, at + units::Duration::from_nanos(rng.below(1_000_000)), order);
            });
        });
    }
    group.finish();
}

fn digest(c: &mut Criterion) {
    let mut digest = Digest::default();
    let mut n = 0;
    c.bench_function("digest", |b| {
        b.iter(|| {
            n += 1;
            digest.fold(Instant::from_nanos(n * 1000), Fact::Enqueue, 1, black_box(n));
        });
    });
    black_box(digest.text());
}

fn queues(c: &mut Criterion) {
    let mut group = c.benchmark_group("queue");
    for about in aqm::QDISCS {
        let mut standing = Standing::new(about.name);
        group.bench_function(about.name, |b| b.iter(|| standing.step()));
    }
    group.finish();
}

fn endpoints(c: &mut Criterion) {
    const SEGMENTS: u64 = 10_000;
    let mut group = c.benchmark_group("tcp");
    group.throughput(Throughput::Elements(SEGMENTS));
    for (name, lose) in [("clean", None), ("one in 100 lost", Some(100))] {
        group.bench_function(name, |b| b.iter(|| transfer(SEGMENTS, 40, black_box(lose))));
    }
    group.finish();
}

fn algorithms(c: &mut Criterion) {
    let mut group = c.benchmark_group("on_ack");
    for entry in cc::ALGORITHMS {
        let mut clocked = Clocked::new(entry.about.name);
        group.bench_function(entry.about.name, |b| b.iter(|| clocked.step()));
    }
    group.finish();
}

criterion_group! {
    name = hot;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = scheduler, digest, queues, endpoints, algorithms
}
criterion_main!(hot);
