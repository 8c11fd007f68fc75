# One ns-2 (2.35) queue at a link, fed with packets from a file:
#   ns bench/queues/ns2.tcl arrivals=FILE rate=10e6 begin=0 end=30 seed=1 queue=RED limit=100 adaptive_=1 …
# FILE has "nanoseconds flow bytes" a line, in order. Words that end in an underscore are the queue's variables.

array set words {arrivals "" rate 10e6 delay 0.01 begin 0 end 30 seed 1 queue DropTail limit 100}
foreach argument $argv {
    if {![regexp {^([A-Za-z_]+)=(.*)$} $argument -> key value]} {
        puts stderr "ns2.tcl: cannot read \"$argument\""
        exit 2
    }
    if {[string match *_ $key]} { Queue/$words(queue) set $key $value } else { set words($key) $value }
}
set ns [new Simulator]
ns-random $words(seed)
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $words(rate) $words(delay)s $words(queue)
$ns queue-limit $left $right $words(limit)
set monitor [$ns monitor-queue $left $right ""]
set waiting [$monitor get-pkts-integrator]

# The fair queues tell flows by addresses (SFQ: no ports), so each gets one of its own.
proc source_of {flow} {
    global ns left right sources
    if {![info exists sources($flow)]} {
        set source [new Agent/UDP]
        $source set packetSize_ 65535
        $source set fid_ $flow
        set sink [new Agent/Null]
        $ns attach-agent $left $source
        $ns attach-agent $right $sink
        $ns connect $source $sink
        $source set agent_addr_ [expr {1000 + $flow}]
        set sources($flow) $source
    }
    return $sources($flow)
}

set arrivals [open $words(arrivals)]
proc await {} {
    global ns arrivals
    if {[gets $arrivals line] > 0} {
        foreach {at flow bytes} $line break
        $ns at [format %.9f [expr {$at * 1e-9}]] "[source_of $flow] send $bytes; await"
    }
}
proc counted {} {
    global ns monitor waiting
    $waiting newpoint [$ns now] [$monitor set pkts_]
    return [list [$monitor set parrivals_] [$monitor set pdrops_] [$waiting set sum_]]
}
proc begin {} {
    global before
    set before [counted]
}
proc finish {} {
    global before words
    foreach {arrived dropped area} [counted] {a d w} $before break
    set queue [expr {($area - $w) / ($words(end) - $words(begin))}]
    puts "RESULT arrived=[expr {$arrived - $a}] dropped=[expr {$dropped - $d}] queue=[format %.6f $queue]"
    exit 0
}
$ns at $words(begin) begin
$ns at $words(end) finish
await
$ns run
