//! The two text formats of connection vectors.
//!
//! v1: `SEQ start epochs …` or `CONC start nI nA …` begins a connection, times in µs. `m`, `w`, `r`, `l` give MSS, windows,
//! RTT and loss of both sides; then `> bytes` (from the initiator), `t wait`, `< bytes`; in a concurrent connection `c>`,
//! `t>`, `c<`, `t<`. v2: `S start …` or `C start …`, `w`, `r`, `l`, then `I` or `A` with two waits (after its own last unit,
//! after the peer's), and bytes, of which 0 is the FIN. RTT and loss are the experiment's path's, not the vector's.

use super::{Adu, Connection, Side, Vectors};
use std::fmt::Write;
use units::Duration;

const EXPECTED: &str = "a line of connection vectors, such as \"S 3412 1 0 0\" and \"I 0 0 253\" (v2), \
                        or \"SEQ 3412 1 0 0\" and \"> 253\" (v1), with at most 10^12 bytes a unit";

/// More bytes than anybody sends at a time; the load of many such still fits 64 bits.
const UNIT_MOST: u64 = 1_000_000_000_000;

struct Reader {
    vectors: Vectors,
    present: Option<Connection>,
    /// v1: waits read and not yet used, one for each side in concurrent connections.
    waits: [Duration; 2],
    /// A side has sent its FIN.
    closed: [bool; 2],
}

impl Reader {
    fn begin(&mut self, start: Duration, concurrent: bool) -> Option<()> {
        self.end();
        let first = u32::try_from(self.vectors.adus.len()).ok()?;
        self.present = Some(Connection { start, concurrent, mss: None, windows: None, first, count: 0 });
        (self.waits, self.closed) = ([Duration::ZERO; 2], [false; 2]);
        Some(())
    }

    /// A connection without a byte is none.
    fn end(&mut self) {
        let Some(mut connection) = self.present.take() else { return };
        let units = &self.vectors.adus[connection.first as usize..];
        connection.count = units.len() as u32;
        if units.iter().any(|a| a.bytes > 0) {
            self.vectors.connections.push(connection);
        } else {
            self.vectors.adus.truncate(connection.first as usize);
        }
    }

    fn unit(&mut self, from: Side, bytes: u64) -> Option<()> {
        let concurrent = self.present.as_ref()?.concurrent;
        let wait = std::mem::take(&mut self.waits[if concurrent { from as usize } else { 0 }]);
        self.push(Adu { from, wait, bytes })
    }

    /// After its FIN a side sends nothing.
    fn push(&mut self, adu: Adu) -> Option<()> {
        if std::mem::replace(&mut self.closed[adu.from as usize], adu.bytes == 0) {
            return None;
        }
        self.vectors.adus.push(adu);
        Some(())
    }

    fn line(&mut self, words: &[&str]) -> Option<()> {
        let number = |i: usize| words.get(i)?.parse::<u64>().ok();
        let bytes = |i| number(i).filter(|n| *n <= UNIT_MOST);
        // Some v1 files give times with a fraction.
        let time = |i: usize| {
            let us: f64 = words.get(i)?.parse().ok()?;
            (0.0..1e13).contains(&us).then(|| Duration::from_nanos((us * 1e3) as u64))
        };
        match words[0] {
            "S" | "SEQ" => self.begin(time(1)?, false),
            "C" | "CONC" => self.begin(time(1)?, true),
            "m" => {
                let mss = number(1)?.min(number(2)?);
                // A side that sent nothing has 0.
                let mss = u32::try_from(mss).ok().filter(|m| (48..=65_000).contains(m));
                self.present.as_mut()?.mss = mss;
                Some(())
            }
            "w" => {
                let window = |i| u32::try_from(number(i)?).ok();
                self.present.as_mut()?.windows = Some([window(1)?, window(2)?]);
                Some(())
            }
            "r" | "l" => self.present.as_ref().map(|_| ()),
            "t" | "t>" | "t<" => {
                self.present.as_ref()?;
                self.waits[usize::from(words[0] == "t<")] += time(1)?;
                Some(())
            }
            ">" | "c>" => self.unit(Side::Initiator, bytes(1)?),
            "<" | "c<" => self.unit(Side::Acceptor, bytes(1)?),
            "I" | "A" => {
                let from = if words[0] == "I" { Side::Initiator } else { Side::Acceptor };
                self.present.as_ref()?;
                self.push(Adu { from, wait: time(1)? + time(2)?, bytes: bytes(3)? })
            }
            _ => None,
        }
    }
}

pub(super) fn read(text: &str, name: &str) -> Result<Vectors, String> {
    let mut reader =
        Reader { vectors: Vectors::default(), present: None, waits: [Duration::ZERO; 2], closed: [false; 2] };
    for (i, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_none_or(|w| w.starts_with('#')) {
            continue;
        }
        reader.line(&words).ok_or_else(|| format!("line {} of {name}, {line:?}, is not {EXPECTED}", i + 1))?;
    }
    reader.end();
    let mut vectors = reader.vectors;
    if vectors.connections.is_empty() {
        return Err(format!("{name} has no connection that sends anything"));
    }
    vectors.connections.sort_by_key(|c| c.start);
    Ok(vectors)
}

pub(super) fn write(vectors: &Vectors) -> String {
    let mut text = String::new();
    let us = |d: Duration| d.as_nanos() / 1000;
    let sent = "writing to text does not fail";
    for (i, c) in vectors.connections.iter().enumerate() {
        let units = vectors.units(c);
        let of = |side| units.iter().filter(|a| a.from == side).count();
        if c.concurrent {
            writeln!(text, "C {} {} {} {i} {i}", us(c.start), of(Side::Initiator), of(Side::Acceptor)).expect(sent);
        } else {
            writeln!(text, "S {} {} {i} {i}", us(c.start), of(Side::Initiator)).expect(sent);
        }
        if let Some([a, b]) = c.windows {
            writeln!(text, "w {a} {b}").expect(sent);
        }
        if let Some(mss) = c.mss {
            writeln!(text, "m {mss} {mss}").expect(sent);
        }
        let mut last = None;
        for adu in units {
            let word = if adu.from == Side::Initiator { 'I' } else { 'A' };
            let own = c.concurrent || last.is_none_or(|side| side == adu.from);
            let (send, receive) = if own { (us(adu.wait), 0) } else { (0, us(adu.wait)) };
            writeln!(text, "{word} {send} {receive} {}", adu.bytes).expect(sent);
            last = Some(adu.from);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "S 3412 1 7 7\nw 64800 6432\nr 1118156\nl 0 0\nI 0 0 253\nA 0 123693 510\nA 6308497 0 0\n";

    #[test]
    fn both_formats_say_the_same() {
        let v1 = "# v1\nSEQ 3412 1 0 7\nw 64800 6432\nr 1118156\nl 0.0 0.0\n> 253\nt 123693\n< 510\nt 6308497\n< 0\n";
        let (one, two) = (read(v1, "v1").unwrap(), read(V2, "v2").unwrap());
        assert_eq!(one, two);
        let c = two.connections[0];
        assert_eq!((c.start, c.windows, c.concurrent), (Duration::from_micros(3412), Some([64_800, 6432]), false));
        assert_eq!(two.units(&c)[1].wait, Duration::from_micros(123_693));
        assert_eq!((two.units(&c)[1].from, two.units(&c)[1].bytes), (Side::Acceptor, 510));
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = format!("{V2}C 9000 2 1 8 8\nI 0 0 100\nA 5 0 900\nI 40000 0 50\n");
        let vectors = read(&text, "v2").unwrap();
        assert_eq!(read(&vectors.write(), "again").unwrap(), vectors);
        assert!(vectors.connections[1].concurrent);
    }

    #[test]
    fn concurrent_sides_have_their_own_waits() {
        let v = read("CONC 0 2 1 0 0\nc> 10\nt> 5\nt< 7\nc< 20\nc> 30\n", "x").unwrap();
        let waits: Vec<u64> = v.adus.iter().map(|a| a.wait.as_nanos() / 1000).collect();
        assert_eq!(waits, [0, 7, 5]);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, want) in [
            ("", "no connection"),
            ("S 1 1 0 0\n", "no connection"),
            ("I 0 0 1\n", "line 1"),
            ("S 1\nX 2\n", "line 2"),
            ("S 1 1 0 0\nI 0 0 9\nI 0 0 0\nI 0 0 9\n", "line 4"),
            ("S 1 1 0 0\nI 0 0 1000000000001\n", "at most 10^12 bytes"),
            ("SEQ 1 1 0 0\n> 1000000000001\n", "at most 10^12 bytes"),
        ] {
            let error = read(text, "f").unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
