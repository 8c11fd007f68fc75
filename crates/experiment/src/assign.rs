//! `path.rtt`, `flow.a.cc`, `flow.a.cc.beta`: setting a value of the tree by its key.

use crate::limits::KEY_PARTS_MAX;
use crate::source::{Checked, Fault, did_you_mean};
use crate::tree::{Any, At, Table, get, get_mut};
use params::Spec;

/// Gives every `[[flow]]` without a name one: its congestion control's, or its traffic's, with -2, -3, … where taken.
pub(crate) fn name_flows(doc: &mut At<Any>) {
    let Any::Table(table) = &mut doc.value else { return };
    let Some(At { value: Any::List(flows), .. }) = get_mut(table, "flow") else { return };
    let mut taken: Vec<String> = Vec::new();
    for flow in flows.iter() {
        if let Any::Table(keys) = &flow.value
            && let Some(name) = get(keys, "name").and_then(|n| n.as_text())
        {
            taken.extend(expanded(name, keys).take(NAMES_TRIED));
        }
    }
    for flow in flows.iter_mut() {
        let place = flow.place;
        let Any::Table(keys) = &mut flow.value else { continue };
        if get(keys, "name").is_some() {
            continue;
        }
        let (cc, traffic) = (get(keys, "cc"), get(keys, "traffic"));
        // The one-line form's "web" stands for both: then the traffic is what people call it.
        let named = match (cc, traffic) {
            (Some(cc), Some(traffic)) if cc.place == traffic.place => Some(traffic),
            (cc, traffic) => cc.or(traffic),
        };
        let text = named.and_then(|n| n.as_text()).unwrap_or("flow");
        let word: String = text.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let word = if word.is_empty() { "flow".to_string() } else { word };
        let free = |name: &String| !expanded(name, keys).take(NAMES_TRIED).any(|n| taken.contains(&n));
        let mut candidates = std::iter::once(word.clone()).chain((2..).map(|n| format!("{word}-{n}")));
        let name = candidates.find(free).unwrap_or(word);
        taken.extend(expanded(&name, keys).take(NAMES_TRIED));
        let entry = (At { value: "name".into(), place }, At { value: Any::Text(name), place });
        keys.insert(0, entry);
    }
}

/// Collisions of made-up names are looked for among so many flows of a group; the full check comes with expansion.
const NAMES_TRIED: usize = 64;

/// The names of the flows of an entry.
fn expanded<'a>(name: &'a str, keys: &Table) -> impl Iterator<Item = String> + use<'a> {
    let count = match get(keys, "count").map(|n| &n.value) {
        Some(Any::Integer(n)) => (*n).clamp(1, 1 << 32) as u64,
        _ => 1,
    };
    flow_names(name, count)
}

/// `a`, `a-2`, `a-3`, …: the flows of an entry with `count`.
pub(crate) fn flow_names(name: &str, count: u64) -> impl Iterator<Item = String> + use<'_> {
    (1..=count).map(move |i| if i == 1 { name.to_string() } else { format!("{name}-{i}") })
}

/// Sets the value of a dotted key, making it if it is not there. Decoding finds keys that do not exist.
pub(crate) fn assign(doc: &mut At<Any>, key: &At<String>, value: At<Any>) -> Checked<()> {
    refuse_deep(key)?;
    let segments: Vec<&str> = key.value.split('.').collect();
    if segments.iter().any(|s| s.trim().is_empty()) {
        return Err(Fault::at(key.place, format!("{:?} is not a key such as path.rtt or flow.a.cc", key.value)));
    }
    let Any::Table(root) = &mut doc.value else { return Err(Fault::at(key.place, "the experiment is not a table")) };
    match segments.as_slice() {
        [kind @ ("flow" | "link"), rest @ ..] => {
            let (Some((name, keys)), false) = (rest.split_first(), rest.len() < 2) else {
                let message = format!("{:?} names no key: write {kind}.NAME.KEY, such as flow.a.cc", key.value);
                return Err(Fault::at(key.place, message));
            };
            if name.contains('*') {
                return set_all(root, kind, name, keys, key, &value);
            }
            let entry = named(root, kind, name, key)?;
            set(entry, keys, key, value)
        }
        keys => set(doc, keys, key, value),
    }
}

/// Refuses a key that leads deeper than any does.
pub(crate) fn refuse_deep(key: &At<String>) -> Checked<()> {
    match key.value.split('.').count() {
        parts if parts > KEY_PARTS_MAX => {
            let message = format!("{:?} has {parts} parts; allowed are {KEY_PARTS_MAX}, as in path.rtt", key.value);
            Err(Fault::at(key.place, message))
        }
        _ => Ok(()),
    }
}

/// Is it this name, or one that begins and ends as a pattern such as `web-*`?
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => name == pattern,
    }
}

/// `flow.web-*.cc`: every flow (or link) whose name begins and ends so.
fn set_all(
    root: &mut Table,
    kind: &str,
    pattern: &str,
    keys: &[&str],
    key: &At<String>,
    value: &At<Any>,
) -> Checked<()> {
    let mut any = false;
    if let Some(Any::List(entries)) = get_mut(root, kind).map(|node| &mut node.value) {
        for entry in entries {
            let Any::Table(table) = &entry.value else { continue };
            if get(table, "name").and_then(|n| n.as_text()).is_some_and(|name| fits(pattern, name)) {
                set(entry, keys, key, value.clone())?;
                any = true;
            }
        }
    }
    if any { Ok(()) } else { Err(Fault::at(key.place, format!("no {kind} is called like {pattern}"))) }
}

fn named<'a>(root: &'a mut Table, kind: &str, name: &str, key: &At<String>) -> Checked<&'a mut At<Any>> {
    let entries = match get_mut(root, kind).map(|node| &mut node.value) {
        Some(Any::List(entries)) => entries.as_mut_slice(),
        _ => &mut [],
    };
    let of = |entry: &At<Any>| match &entry.value {
        Any::Table(keys) => get(keys, "name").and_then(|n| n.as_text()).map(str::to_string),
        _ => None,
    };
    let names: Vec<String> = entries.iter().filter_map(of).collect();
    match entries.iter_mut().find(|e| of(e).as_deref() == Some(name)) {
        Some(entry) => Ok(entry),
        None => {
            let near = did_you_mean(name, names.iter().map(String::as_str));
            let all = if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
            Err(Fault::at(key.place, format!("there is no {kind} {name:?}{near} ({all})")))
        }
    }
}

fn set(node: &mut At<Any>, keys: &[&str], key: &At<String>, value: At<Any>) -> Checked<()> {
    let Some((first, rest)) = keys.split_first() else {
        *node = value;
        return Ok(());
    };
    match &mut node.value {
        Any::Table(table) => {
            let i = table.iter().position(|(k, _)| k.value == *first).unwrap_or_else(|| {
                let empty = At { value: Any::Table(Table::new()), place: key.place };
                table.push((At { value: first.to_string(), place: key.place }, empty));
                table.len() - 1
            });
            set(&mut table[i].1, rest, key, value)
        }
        // A setting inside "cubic(beta=0.7)".
        Any::Text(text) => {
            let changed = set_in_spec(text, keys, &value.show()).map_err(|e| Fault::at(key.place, e))?;
            *node = At { value: Any::Text(changed), place: value.place };
            Ok(())
        }
        other => {
            let message = format!("{:?} leads below {}, which has no keys", key.value, other.kind());
            Err(Fault::at(key.place, message))
        }
    }
}

fn set_in_spec(text: &str, keys: &[&str], value: &str) -> Result<String, String> {
    let Some((first, rest)) = keys.split_first() else { return Ok(value.into()) };
    let mut spec: Spec = text.parse().map_err(|e| format!("{e}, so it takes no setting {first:?}"))?;
    let old = spec.args.iter_mut().find(|(k, _)| k == first);
    match old {
        Some((_, old)) => *old = set_in_spec(old, rest, value)?,
        None if rest.is_empty() => spec.args.push((first.to_string(), value.into())),
        None => return Err(format!("{spec} has no setting {first:?}")),
    }
    Ok(spec.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_inside_a_spec_are_replaced_or_added() {
        assert_eq!(set_in_spec("cubic", &["beta"], "0.8").unwrap(), "cubic(beta=0.8)");
        assert_eq!(set_in_spec("cubic(beta=0.7, c=0.4)", &["beta"], "0.8").unwrap(), "cubic(beta=0.8, c=0.4)");
        let nested = set_in_spec("cubic(slow_start=hystart)", &["slow_start", "low"], "16").unwrap();
        assert_eq!(nested, "cubic(slow_start=hystart(low=16))");
    }
}
