//! The one-line form: `12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s`.
//!
//! Before the colon the path, in any order: a rate, the base RTT, a buffer, a queue, loss in % or as `periodic(…)`, a stack. The unit
//! tells which is which; of two times the first is the RTT and the second the buffer. Behind the colon the flows: an
//! optional count, a congestion control or a kind of traffic, `@start` or `@start-stop`.

use crate::limits::{BUFFER_BDP_MAX, BUFFER_MAX, FLOWS_MAX, RATE_MAX, RATE_MIN, RTT_MAX, RTT_MIN};
use crate::quantity::{Buffer, Quantity, Volume, read_rate};
use crate::raw::full_key;
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::traffic::TRAFFIC;
use crate::tree::{Any, At, Table};
use params::unit::{RATES, SIZES, TIMES, names};
use params::{Spec, Value, bytes_a_second, parse_number};
use tcp::Stack;
use units::{Duration, Rate};

const LIKE: &str = "as in \"12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s\"";
/// What carries traffic that is not bulk, where the line names no congestion control.
const DEFAULT_CC: &str = "cubic";

/// Is this text in the one-line form? TOML of one line has an `=` outside parentheses, or starts with `[` or `#`.
pub(crate) fn is_one_line(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.contains('\n') || text.starts_with(['[', '#']) {
        return false;
    }
    match split(text, |c| c == ':' || c == '=').first() {
        Some(first) => text[first.start + first.text.len()..].starts_with(':') || first.text.len() == text.len(),
        None => false,
    }
}

/// Does this text, which comes from no file, mean to be in the one-line form? In TOML of one line a colon stands in quotes.
pub(crate) fn is_meant(text: &str) -> bool {
    let text = text.trim();
    let mut quoted = false;
    let colon = |c: char| {
        quoted ^= c == '"' || c == '\'';
        c == ':' && !quoted
    };
    !text.contains('\n') && !text.starts_with(['[', '#']) && split(text, colon).len() > 1
}

/// A piece of the line and where it starts.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Piece<'a> {
    fn trim(self) -> Piece<'a> {
        let text = self.text.trim_start();
        Piece { text: text.trim_end(), start: self.start + self.text.len() - text.len() }
    }
    fn place(self) -> Place {
        Place::new(0, self.start..self.start + self.text.len())
    }
    fn node(self) -> At<Any> {
        // Between words a tab is as good as a space.
        At { value: Any::Text(self.text.replace('\t', " ")), place: self.place() }
    }
    fn split(self, at: impl FnMut(char) -> bool) -> Vec<Piece<'a>> {
        split(self.text, at).into_iter().map(|p| Piece { start: p.start + self.start, ..p }).collect()
    }
}

/// Splits outside parentheses.
fn split(text: &str, mut at: impl FnMut(char) -> bool) -> Vec<Piece<'_>> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth <= 0 && at(c) => {
                pieces.push(Piece { text: &text[start..i], start });
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(Piece { text: &text[start..], start });
    pieces
}

/// Reads the line into the tree that a file would give.
pub(crate) fn read(line: &str) -> Checked<At<Any>> {
    let whole = Piece { text: line, start: 0 };
    let parts = whole.split(|c| c == ':');
    let [path, flows] = parts.as_slice() else {
        let message = if parts.len() < 2 {
            format!("a colon and the flows are missing, {LIKE}")
        } else {
            format!("one colon parts the path from the flows, {LIKE}")
        };
        return Err(Fault::at(parts.get(2).map_or(whole, |p| *p).place(), message));
    };
    let mut table = Table::new();
    table.push((key("path", path.trim()), At { value: Any::Table(path_keys(*path)?), place: path.trim().place() }));
    let mut entries = Vec::new();
    for item in flows.split(|c| c == ',') {
        entries.push(At { value: Any::Table(flow_keys(item.trim(), flows.place())?), place: item.trim().place() });
    }
    table.push((key("flow", flows.trim()), At { value: Any::List(entries), place: flows.trim().place() }));
    Ok(At { value: Any::Table(table), place: whole.place() })
}

fn key(name: &str, piece: Piece<'_>) -> At<String> {
    At { value: name.into(), place: piece.place() }
}

fn path_keys(path: Piece<'_>) -> Checked<Table> {
    let mut table = Table::new();
    for word in words(path) {
        let name = classify(word, &table)?;
        if let Some((_, old)) = table.iter().find(|(k, _)| k.value == name) {
            // Any word may be a queue; which of the two is one?
            let stray = [(old.place, old.show()), (word.place(), word.text.to_string())]
                .into_iter()
                .find(|(_, text)| name == "queue" && text.parse::<Spec>().is_ok_and(|s| aqm::find(&s.name).is_err()));
            return Err(match stray {
                Some((place, text)) => {
                    Fault::at(place, format!("{text:?} is no rate, time, buffer, loss or queue, {LIKE}"))
                }
                None => Fault::at(word.place(), format!("{:?} is a second {name} beside {:?}", word.text, old.show())),
            });
        }
        table.push((key(name, word), word.node()));
    }
    let missing = |name: &str| !table.iter().any(|(k, _)| k.value == name);
    for (name, like) in [("rate", "12Mbit/s"), ("rtt", "40ms")] {
        if missing(name) {
            let message = format!("the path has no {name}: write {like}, for instance, before the colon");
            return Err(Fault::at(path.place(), message));
        }
    }
    Ok(table)
}

/// Words between spaces; a bare number takes the unit behind it along: `12 Mbit/s`.
fn words(path: Piece<'_>) -> Vec<Piece<'_>> {
    let pieces: Vec<Piece<'_>> = path.split(char::is_whitespace).into_iter().filter(|p| !p.text.is_empty()).collect();
    let mut words = Vec::new();
    let mut i = 0;
    while i < pieces.len() {
        let bare = parse_number(pieces[i].text).is_some_and(|(_, unit)| unit.is_empty());
        let unit_follows = pieces.get(i + 1).is_some_and(|next| parse_number(next.text).is_none());
        let last = if bare && unit_follows { i + 1 } else { i };
        let (from, to) = (pieces[i].start, pieces[last].start + pieces[last].text.len());
        words.push(Piece { text: &path.text[from - path.start..to - path.start], start: from });
        i = last + 1;
    }
    words
}

/// The key of `[path]` that a word sets.
fn classify(word: Piece<'_>, so_far: &Table) -> Checked<&'static str> {
    let text = word.text;
    if let Some((_, unit)) = parse_number(text) {
        return if Rate::parse(text).is_some() {
            Ok("rate")
        } else if Duration::parse(text).is_some() {
            Ok(if so_far.iter().any(|(k, _)| k.value == "rtt") { "buffer" } else { "rtt" })
        } else if unit == "%" {
            Ok("loss")
        } else if Buffer::read(text).is_ok() {
            Ok("buffer")
        } else if unit.is_empty() {
            Err(without_unit(word, text))
        } else if let Some(allowed) = allowed(unit, so_far) {
            Err(Fault::at(word.place(), format!("{text:?} is out of range (allowed: {allowed})")))
        } else if bytes_a_second(unit) {
            Err(Fault::at(word.place(), read_rate(text, Rate::KIND).unwrap_err()))
        } else {
            let units = [&RATES[..], &TIMES, &SIZES].into_iter().flat_map(names);
            let near = did_you_mean(unit, units.chain(["BDP", "packets", "%"]));
            // A word that took the next one along, which is no unit: `40 fifo`.
            if let (true, Some((number, _))) = (near.is_empty(), text.split_once(char::is_whitespace)) {
                return Err(without_unit(word, number));
            }
            Err(Fault::at(word.place(), format!("{text:?} is no rate, time, buffer or loss{near} ({LIKE})")))
        };
    }
    if Stack::parse(text).is_some() {
        return Ok("stack");
    }
    // Neither is a spec: what they hold has no name.
    for (start, name) in [("packets(", "buffer"), ("trace(", "rate")] {
        if text.starts_with(start) {
            return Ok(name);
        }
    }
    let Ok(spec) = text.parse::<Spec>() else {
        let key = word.split(|c| c == '=')[0].text;
        if key.len() < text.len() {
            return Err(setting(word, key, &text[key.len() + 1..], so_far));
        }
        return Err(Fault::at(word.place(), format!("{text:?} is no rate, time, buffer, loss or queue, {LIKE}")));
    };
    let stack = did_you_mean(text, Stack::choices().iter().copied());
    if !stack.is_empty() && aqm::find(&spec.name).is_err() {
        return Err(Fault::at(word.place(), format!("{text:?} is no queue and no stack{stack}")));
    }
    Ok(match spec.name.as_str() {
        "gilbert" | "periodic" => "loss",
        _ => "queue",
    })
}

/// `loss=1%`, where "1%" would do, or a key that no word sets.
fn setting(word: Piece<'_>, key: &str, value: &str, so_far: &Table) -> Fault {
    let piece = Piece { text: value, start: word.start + word.text.len() - value.len() };
    let cure = match (classify(piece, so_far), full_key(key)) {
        (Ok(name), _) if name == key => format!("write {value:?} alone"),
        (_, Some(full)) if !value.is_empty() => format!("give --set '{full}={value}' for it"),
        _ => "write \"1%\" and not \"loss=1%\", and --set KEY=VALUE for what has no word".into(),
    };
    Fault::at(word.place(), format!("{:?}: what stands before the colon are words without \"=\": {cure}", word.text))
}

fn without_unit(word: Piece<'_>, number: &str) -> Fault {
    let cure = format!("write \"{number}Mbit/s\", \"{number}ms\" or \"{number}BDP\"");
    Fault::at(word.place(), format!("{number:?} has no unit: {cure}, {LIKE}"))
}

/// What a word with this unit may say; `None` if it would not do behind another number either.
fn allowed(unit: &str, so_far: &Table) -> Option<String> {
    let one = format!("1 {unit}");
    if Rate::parse(&one).is_some() {
        return Some(format!("{} to {}", RATE_MIN.show(), RATE_MAX.show()));
    }
    if Duration::parse(&one).is_some() && !so_far.iter().any(|(k, _)| k.value == "rtt") {
        return Some(format!("an RTT of {} to {}", RTT_MIN.show(), RTT_MAX.show()));
    }
    let most = match Buffer::read(&one).ok()? {
        Buffer::Bytes(Volume::Bdp(_)) => format!("{BUFFER_BDP_MAX} BDP"),
        _ => BUFFER_MAX.show(),
    };
    Some(format!("a buffer of one packet to {most}"))
}

fn flow_keys(item: Piece<'_>, flows: Place) -> Checked<Table> {
    if item.text.is_empty() {
        let place = if item.start >= flows.end as usize { flows } else { item.place() };
        return Err(Fault::at(place, format!("a flow is missing, {LIKE}")));
    }
    let mut table = Table::new();
    let mut rest = item;
    let digits = rest.text.len() - rest.text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && rest.text[digits..].starts_with(|c: char| c.is_alphabetic() || " \t".contains(c)) {
        let count = Piece { text: &rest.text[..digits], ..rest };
        table.push((key("count", count), number(count)?));
        // No name begins with an x before a letter or a space: in `2xcubic` it is a times sign, in `2cubic` there is none.
        let skipped = digits + usize::from(rest.text[digits..].starts_with([' ', '\t', 'x']));
        rest = Piece { text: &rest.text[skipped..], start: rest.start + skipped }.trim();
    } else if let Some((_, flow)) = parse_number(rest.text)
        && !flow.is_empty()
    {
        let count = Piece { text: &rest.text[..rest.text.len() - flow.len()], ..rest }.trim();
        let flow = flow.trim_start_matches(['x', ' ']);
        let message = format!("{:?} is no count: of a flow there are 1 to {FLOWS_MAX}, as in \"2 {flow}\"", count.text);
        return Err(Fault::at(count.place(), message));
    }
    let mut parts = rest.split(|c| c == '@');
    let (what, ecn) = without_ecn(parts[0].trim());
    let late = match parts.as_mut_slice() {
        [_, times] => {
            let (left, late) = without_ecn(times.trim());
            *times = left;
            late
        }
        _ => None,
    };
    if let Some(word) = ecn.or(late) {
        table.push((key("ecn", word), At { value: Any::Bool(true), place: word.place() }));
    }
    let spec = what.text.parse::<Spec>().map_err(|e| {
        let last = what.text.rsplit_once(char::is_whitespace).map_or("", |(_, word)| word);
        let near = did_you_mean(last, ["ecn"]);
        let several = if near.is_empty() { several(rest, |_| true) } else { None };
        match several {
            Some(message) => Fault::at(rest.place(), message),
            None => Fault::at(what.place(), format!("a flow is {e}{near}")),
        }
    })?;
    match TRAFFIC.iter().find(|kind| kind.name == spec.name) {
        Some(kind) => {
            if !kind.udp {
                table.push((key("cc", what), At { value: Any::Text(DEFAULT_CC.into()), place: what.place() }));
            }
            table.push((key("traffic", what), what.node()));
        }
        None => table.push((key("cc", what), what.node())),
    }
    match parts.as_slice() {
        [] | [_] => {}
        [_, times] => {
            let ends = times.split(|c| c == '-');
            let names = ["start", "stop"];
            if ends.len() > 2 || ends.iter().any(|t| t.trim().text.is_empty()) {
                let message = format!("{:?} is no time: write @10s, or @10s-60s for start and stop", times.text);
                return Err(Fault::at(times.place(), message));
            }
            let known = |name: &str| cc::find(name).is_ok() || TRAFFIC.iter().any(|kind| kind.name == name);
            if let Some(message) = several(rest, known) {
                return Err(Fault::at(rest.place(), message));
            }
            for (name, time) in names.into_iter().zip(ends) {
                table.push((key(name, time.trim()), time.trim().node()));
            }
        }
        [_, _, more, ..] => return Err(Fault::at(more.place(), "a flow has one @, as in cubic@10s-60s")),
    }
    Ok(table)
}

/// What is wrong with several flows, or a flow and its count, where one is to stand; `None` if its words, all after the
/// first of which are `known`, are neither.
fn several(item: Piece<'_>, known: impl Fn(&str) -> bool) -> Option<String> {
    let words = item.split(|c| c.is_whitespace() || ";+&*".contains(c));
    let words: Vec<&str> = words.iter().map(|word| word.text).filter(|word| !["", "and"].contains(word)).collect();
    let count = |word: &str| {
        let digits = word.trim_matches(['x', '×']);
        (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then(|| digits.to_string())
    };
    match words.as_slice() {
        // Of `cubic@ 5` the number is a time without its unit.
        [flow, n] | [n, flow] if count(flow).is_none() && count(n).is_some_and(|x| x != **n || !flow.contains('@')) => {
            let n = count(n)?;
            return Some(format!("{:?}: so many of a flow are \"{n} {flow}\" or \"{n}x{flow}\"", item.text));
        }
        ["ecn", flow] => {
            return Some(format!("{:?}: \"ecn\" stands behind the flow that it is for: \"{flow} ecn\"", item.text));
        }
        _ => {}
    }
    let mut flows: Vec<String> = Vec::new();
    let mut counted = false;
    for (i, word) in words.iter().enumerate() {
        let name = word.split(['(', '@']).next().unwrap_or(word);
        match flows.last_mut() {
            Some(flow) if counted || *word == "ecn" => *flow = format!("{flow} {word}"),
            _ if count(word).is_none() && (name.parse::<Spec>().is_err() || i > 0 && !known(name)) => return None,
            _ => flows.push(word.to_string()),
        }
        counted = count(word).is_some();
    }
    (flows.len() > 1 && !counted)
        .then(|| format!("{:?}: flows are separated by commas: write {:?}", item.text, flows.join(", ")))
}

/// The word `ecn` behind what a flow is: it negotiates ECN.
fn without_ecn(what: Piece<'_>) -> (Piece<'_>, Option<Piece<'_>>) {
    match what.text.strip_suffix("ecn") {
        Some(rest) if rest.ends_with([' ', '\t']) => {
            (Piece { text: rest.trim_end(), ..what }, Some(Piece { text: "ecn", start: what.start + rest.len() }))
        }
        _ => (what, None),
    }
}

fn number(count: Piece<'_>) -> Checked<At<Any>> {
    match count.text.parse::<i64>() {
        Ok(n) => Ok(At { value: Any::Integer(n), place: count.place() }),
        Err(_) => Err(Fault::at(count.place(), format!("{} is too many flows", count.text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::get;

    #[test]
    fn the_two_forms_are_told_apart() {
        for line in
            ["12Mbit/s 40ms: cubic", "1Mbit 1ms codel(target=5ms): cubic(beta=0.7)", "12Mbit/s 40ms fifo", "cubic"]
        {
            assert!(is_one_line(line), "{line}");
        }
        for meant in ["12Mbit/s 40ms loss=1%: cubic", "rate = 12Mbit/s rtt = 40ms: cubic(beta=0.7)"] {
            assert!(is_meant(meant) && !is_one_line(meant), "{meant}");
        }
        for toml in ["format = 1", "title = \"a: b\"", "title = 'a: b'", "[path]", "# nothing: at all", "a = 1\nb: 2"] {
            assert!(!is_meant(toml), "{toml}");
        }
        for toml in ["format = 1", "title = \"a: b\"", "[path]", "# nothing: at all", "", "a = 1\nb: 2"] {
            assert!(!is_one_line(toml), "{toml}");
        }
    }

    #[test]
    fn a_number_says_what_is_wrong_with_it() {
        for (line, says) in [
            ("12Mbit/s 40 2BDP fifo: cubic", "\"40\" has no unit"),
            ("12Mbit/s 40: cubic", "\"40\" has no unit"),
            ("12Mbit/s 40 fifo: cubic", "\"40\" has no unit"),
            ("12 Mbits/s 40ms: cubic", "did you mean \"Mbit/s\"?"),
            ("99999999999999999999Mbit/s 40ms: cubic", "out of range (allowed: 1bit/s to"),
            ("12Mbit/s 99999999999999999999s: cubic", "out of range (allowed: an RTT of 1us to 60s)"),
            ("12Mbit/s -40ms 2BDP: cubic", "\"-40ms\" is out of range (allowed: an RTT of 1us to 60s)"),
            ("12Mbit/s 40ms -40ms: cubic", "(allowed: a buffer of one packet to 1000000MB)"),
            ("12Mbit/s 40ms -2BDP: cubic", "\"-2BDP\" is out of range (allowed: a buffer of one packet to 100000 BDP)"),
            ("12Mbits/s 40ms: cubic", "did you mean \"Mbit/s\"?"),
        ] {
            let message = read(line).unwrap_err().message;
            assert!(message.contains(says), "{line}: {message}");
        }
    }

    #[test]
    fn a_flow_negotiates_ecn_if_told_so() {
        let keys = |item: &str| -> Vec<(String, String)> {
            let piece = Piece { text: item, start: 5 };
            flow_keys(piece, piece.place()).unwrap().iter().map(|(k, v)| (k.value.clone(), v.show())).collect()
        };
        let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
        assert_eq!(
            keys("2 dctcp  ecn@10s"),
            [pair("count", "2"), pair("ecn", "true"), pair("cc", "dctcp"), pair("start", "10s")]
        );
        assert_eq!(keys("prague(rtt_virt=25ms)\tecn")[0], pair("ecn", "true"));
        let table = flow_keys(Piece { text: "dctcp ecn", start: 5 }, Place::new(0, 5..14)).unwrap();
        assert_eq!((table[0].0.place.start, table[1].1.place.end), (11, 10));
        assert_eq!(keys("dctcp"), [pair("cc", "dctcp")]);
        assert_eq!(keys("dctcp@5s-60s ecn"), keys("dctcp ecn@5s-60s"));
    }

    #[test]
    fn a_count_needs_no_space() {
        let whole = |item: &str| read(&format!("12Mbit/s 40ms: {item}")).unwrap();
        let flow = |item: &str| match whole(item).value {
            Any::Table(table) => get(&table, "flow").unwrap().show(),
            _ => unreachable!("a line is a table"),
        };
        for item in ["2cubic", "2xcubic", "2x cubic"] {
            assert_eq!(flow(item), flow("2 cubic"), "{item}");
        }
    }

    #[test]
    fn what_is_no_count_is_told_so() {
        for (item, given) in
            [("-2 hldg", "-2"), ("-2hldg", "-2"), ("+2xhldg", "+2"), ("2.5 hldg", "2.5"), ("1_000 hldg", "1_000")]
        {
            let fault = read(&format!("12Mbit/s 40ms: {item}")).unwrap_err();
            let says = format!("{given:?} is no count: of a flow there are 1 to 100000, as in \"2 hldg\"");
            assert_eq!((fault.message, fault.place.unwrap().start), (says, 15), "{item}");
        }
    }

    #[test]
    fn what_lacks_a_comma_is_told_so() {
        let message = |item: &str| read(&format!("12Mbit/s 40ms: {item}")).unwrap_err().message;
        for (item, cure) in [
            ("hldg cubic", "commas: write \"hldg, cubic\""),
            ("hldg; cubic", "commas: write \"hldg, cubic\""),
            ("hldg and cubic@10s", "commas: write \"hldg, cubic@10s\""),
            ("cubic@5s hldg(g=3) ecn", "commas: write \"cubic@5s, hldg(g=3) ecn\""),
            ("cubic@5s; web", "commas: write \"cubic@5s, web\""),
            ("dctcp ecn 2 cubic", "commas: write \"dctcp ecn, 2 cubic\""),
            ("cubic x2", "\"2 cubic\" or \"2xcubic\""),
            ("cubic@10s x2", "\"2 cubic@10s\" or \"2xcubic@10s\""),
            ("cubic*2", "\"2 cubic\" or \"2xcubic\""),
            ("ecn cubic", "\"cubic ecn\""),
            ("cubic ecm", "did you mean \"ecn\"?"),
            ("cubic(beta 0.7)", "expected key=value"),
        ] {
            assert!(message(item).contains(cure), "{item}: {}", message(item));
        }
        // What is no flow behind a time is a unit that is none.
        for item in ["cubic@5 sec", "cubic@ 5", "cubic@10s - 60s"] {
            assert!(read(&format!("12Mbit/s 40ms: {item}")).is_ok(), "{item}");
        }
    }

    #[test]
    fn words_are_recognised_in_any_order_and_spacing() {
        let keys = |line: &str| -> Vec<(String, String)> {
            let piece = Piece { text: line, start: 0 };
            path_keys(piece).unwrap().iter().map(|(k, v)| (k.value.clone(), v.show())).collect()
        };
        let mut a = keys("12 Mbit/s 40 ms 2 BDP pie(target=20ms, ecn=true)");
        let mut b = keys("pie(target=20ms, ecn=true) 2 BDP 40 ms 12 Mbit/s");
        a.sort();
        b.sort();
        assert_eq!(a, b);
        assert_eq!(keys("10Mbit 40ms packets(2 BDP)")[2..], [("buffer".to_string(), "packets(2 BDP)".to_string())]);
        assert_eq!(keys("trace(lte.up) 40ms")[0], ("rate".to_string(), "trace(lte.up)".to_string()));
        assert_eq!(
            keys("10Mbit 40ms 340ms 1% freebsd-11")[2..],
            [
                ("buffer".to_string(), "340ms".to_string()),
                ("loss".into(), "1%".into()),
                ("stack".into(), "freebsd-11".into()),
            ]
        );
    }
}
