"""Real packets: programs behind an emulated link, and experiments over the kernel's TCP.

The links are the simulator's (crates/tun drives them by the clock); this package makes the namespaces, runs what runs
in them and writes the results in the simulator's schema.
"""
