# One long flow through one bottleneck in ns-2, under the kernel's own congestion control (Agent/TCP/Linux runs the C of
# Linux 2.6.22). Prints what run.py reads: a line for each change of window or threshold, then RESULT.
#   ns bench/controls/ns2.tcl cc=bic rate=10e6 rtt=0.04 buf=33 dur=300 warm=60

array set work {cc reno rate 10e6 rtt 0.04 buf 33 dur 300 warm 60 delack 0 loss 0 every 0 seed 1}
foreach argument $argv {
    if {![regexp {^([a-z]+)=(.*)$} $argument -> key value] || ![info exists work($key)]} {
        puts stderr "ns2.tcl: cannot read \"$argument\" (known: [lsort [array names work]])"
        exit 2
    }
    set work($key) $value
}
set rate [expr {double($work(rate))}]

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
ns-random $work(seed)

# 1500 bytes at the IP layer with the timestamps inside, as ours; 200 ms least RTO and 40 ms delayed ACKs as on Linux.
foreach {name value} {packetSize_ 1460 overhead_ 0 window_ 60000 windowInit_ 10 windowInitOption_ 1
                      minrto_ 0.2 timestamps_ true ts_option_size_ 0} {
    Agent/TCP set $name $value
}
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1/DelAck set interval_ 40ms

set left [$ns node]
set right [$ns node]
set delay [expr {$work(rtt) / 2.0}]
$ns simplex-link $left $right $rate ${delay}s DropTail
# Ours sends acknowledgements back at once: here it takes the time they need at a hundred times the rate.
$ns simplex-link $right $left [expr {100 * $rate}] ${delay}s DropTail
# DropTail refuses the packet that would fill the last place.
$ns queue-limit $left $right [expr {$work(buf) + 1}]
$ns queue-limit $right $left 1000000

set tcp [new Agent/TCP/Linux]
set sink [new [expr {$work(delack) ? "Agent/TCPSink/Sack1/DelAck" : "Agent/TCPSink/Sack1"}]]
$ns attach-agent $left $tcp
$ns attach-agent $right $sink
$ns connect $tcp $sink
$ns at 0.0 "$tcp select_ca $work(cc)"
set source [new Application/FTP]
$source attach-agent $tcp
$ns at 0.0 "$source start"
# tcp_lp.c prints on stdout for every ACK.
$tcp attach stderr
$tcp trace cwnd_
$tcp trace ssthresh_
$tcp trace ncwndcuts_

set monitor [$ns monitor-queue $left $right ""]
set waiting [$monitor get-pkts-integrator]
# Before the queue, as ours, and outside of what the monitor counts: so it comes after it, and drops to nobody.
if {$work(loss) > 0 || $work(every) > 0} {
    if {$work(every) > 0} {
        set errors [new ErrorModel/Periodic]
        $errors set period_ $work(every)
    } else {
        set errors [new ErrorModel]
        $errors set rate_ $work(loss)
    }
    $errors unit pkt
    $ns lossmodel $errors $left $right
    $errors drop-target [new Agent/Null]
}
proc begin {} {
    global ns tcp monitor waiting packets integral repeats
    $waiting newpoint [$ns now] [$monitor set pkts_]
    set packets [$monitor set pdepartures_]
    set integral [$waiting set sum_]
    set repeats [$tcp set nrexmitpack_]
}
proc finish {} {
    global ns tcp monitor waiting packets integral repeats work rate
    $waiting newpoint [$ns now] [$monitor set pkts_]
    set seconds [expr {$work(dur) - $work(warm)}]
    set bits [expr {12000.0 * ([$monitor set pdepartures_] - $packets)}]
    puts stderr "RESULT util=[expr {$bits / $seconds / $rate}] queue=[expr {([$waiting set sum_] - $integral) / $seconds}]\
        repeats=[expr {[$tcp set nrexmitpack_] - $repeats}]"
    exit 0
}
$ns at $work(warm) begin
$ns at $work(dur) finish
$ns run
