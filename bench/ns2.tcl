# The bench workloads in ns-2: bulk TCP flows through one bottleneck. Arguments as in bench/README.md:
#   ns bench/ns2.tcl n=10 rate=1e9 rttlo=0.02 rtthi=0.02 dur=10 cc=cubic aqm=fifo buf=1667
# Two more pick the scheduler (schedule=Calendar|Heap|Map|List) and keep every packet header ns-2 knows (headers=all).

array set work {n 1 rate 12e6 rttlo 0.04 rtthi 0.04 dur 100 cc newreno aqm fifo buf 40 spread 0.1 seed 1 delack 1
                schedule Calendar headers needed}
foreach argument $argv {
    if {![regexp {^([a-z]+)=(.*)$} $argument -> key value] || ![info exists work($key)]} {
        puts stderr "ns2.tcl: cannot read \"$argument\" (known: [lsort [array names work]])"
        exit 2
    }
    set work($key) $value
}
set rate [expr {double($work(rate))}]
set count $work(n)
set mixed [expr {$work(rttlo) != $work(rtthi)}]

# Unused headers cost ns-2 memory traffic on every packet; without them it shows its best.
if {$work(headers) ne "all"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set ns [new Simulator]
$ns use-scheduler $work(schedule)
ns-random $work(seed)

# 1500-byte packets, initial window 10 (RFC 6928), 200 ms least RTO and 40 ms delayed ACKs as on Linux.
foreach {name value} {packetSize_ 1460 overhead_ 0 window_ 1000000 maxcwnd_ 1000000 windowInit_ 10 windowInitOption_ 1
                      tcpTick_ 0.001 minrto_ 0.2 timestamps_ true ts_option_size_ 0} {
    Agent/TCP set $name $value
}
Agent/TCPSink set ts_echo_rfc1323_ true
foreach sink {Agent/TCPSink/DelAck Agent/TCPSink/Sack1/DelAck} { $sink set interval_ 40ms }

switch $work(aqm) {
    fifo { set queue DropTail }
    red {
        set queue RED
        # Adaptive RED that finds its own thresholds for a target delay of 10 ms, counting packets.
        foreach {name value} {adaptive_ 1 gentle_ true thresh_ 0 maxthresh_ 0 q_weight_ 0 targetdelay_ 0.01
                              bytes_ false queue_in_bytes_ false} {
            Queue/RED set $name $value
        }
    }
    pi   { set queue PI }
    drr  { set queue DRR }
    default {
        puts "UNSUPPORTED aqm=$work(aqm)"
        exit 3
    }
}

# cc -> sender class, sink classes without and with delayed ACKs
set senders(newreno) {Agent/TCP/Newreno Agent/TCPSink Agent/TCPSink/DelAck}
set senders(cubic) {Agent/TCP/Linux Agent/TCPSink/Sack1 Agent/TCPSink/Sack1/DelAck}
if {![info exists senders($work(cc))]} {
    puts "UNSUPPORTED cc=$work(cc)"
    exit 3
}
foreach {sender_class plain_sink delayed_sink} $senders($work(cc)) break

set left [$ns node]
set right [$ns node]
# With mixed RTTs the bottleneck takes 1 ms each way and access links the rest.
set core [expr {$mixed ? 0.001 : $work(rttlo) / 2.0}]
$ns simplex-link $left $right $rate ${core}s $queue
$ns simplex-link $right $left [expr {10 * $rate}] ${core}s DropTail
$ns queue-limit $left $right $work(buf)
$ns queue-limit $right $left 1000000

for {set i 0} {$i < $count} {incr i} {
    set host $left
    if {$mixed} {
        set rtt [expr {$work(rttlo) + ($work(rtthi) - $work(rttlo)) * $i / max(1.0, $count - 1.0)}]
        set host [$ns node]
        $ns duplex-link $host $left [expr {10 * $rate}] [expr {$rtt / 2 - $core}]s DropTail
        $ns queue-limit $host $left 1000000
        $ns queue-limit $left $host 1000000
    }
    set tcp [new $sender_class]
    set sink [new [expr {$work(delack) ? $delayed_sink : $plain_sink}]]
    $tcp set fid_ $i
    $sink set fid_ $i
    $ns attach-agent $host $tcp
    $ns attach-agent $right $sink
    $ns connect $tcp $sink
    if {$work(cc) eq "cubic"} { $ns at 0.0 "$tcp select_ca cubic" }
    set source [new Application/FTP]
    $source attach-agent $tcp
    $ns at [expr {$work(spread) * double($i) / $count}] "$source start"
    lappend transfers $tcp
}

proc finish {} {
    global work rate transfers
    set packets 0
    set repeated 0
    foreach tcp $transfers {
        incr packets [expr {[$tcp set ack_] + 1}]
        incr repeated [$tcp set nrexmitpack_]
    }
    puts "RESULT goodput_pkts=$packets util=[format %.4f [expr {$packets * 12000.0 / $work(dur) / $rate}]] rexmit=$repeated"
    exit 0
}
$ns at $work(dur) finish
$ns run
