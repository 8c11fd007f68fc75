//! Sweeps: keys that take several values. Plain keys multiply; the keys of a `zip` move together.

mod set;

pub(crate) use self::set::set;

use crate::assign;
use crate::limits::CASES_MAX;
use crate::source::{Checked, Fault, Place};
use crate::tree::{Any, At, Table, get, same_text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::collections::BTreeSet;

/// Keys that move together and the values they take.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub key: At<String>,
    pub values: Vec<At<Any>>,
}

impl Column {
    /// Is this one of its values?
    pub fn takes(&self, value: &At<Any>) -> bool {
        self.values.iter().any(|v| same_text(&v.show(), &value.show()))
    }

    /// How it spells a value, each time in another way.
    pub fn spelled(&self, value: &At<Any>) -> BTreeSet<String> {
        self.values.iter().map(|v| v.show()).filter(|text| same_text(text, &value.show())).collect()
    }

    /// The values that a `when` allows: those of a list, unless the list is a value itself, as `run.measure` has.
    pub fn alternatives<'a>(&self, value: &'a At<Any>) -> &'a [At<Any>] {
        match &value.value {
            Any::List(all) if !self.takes(value) => all,
            _ => std::slice::from_ref(value),
        }
    }
}

/// The keys of a `when` that move together and never have its values at once; `None` if there is a case with all.
pub(crate) fn apart<'a>(when: &'a Table, axes: &[Axis]) -> Option<Vec<&'a str>> {
    axes.iter().find_map(|axis| {
        let given: Vec<&str> = when.iter().map(|(key, _)| key.value.as_str()).filter(|key| axis.has(key)).collect();
        (given.len() > 1 && axis.allowed(when) == 0).then_some(given)
    })
}

impl Axis {
    fn len(&self) -> usize {
        self.columns[0].values.len()
    }

    pub fn has(&self, key: &str) -> bool {
        self.columns.iter().any(|c| c.key.value == key)
    }

    /// How many of its values, or of the rows of its zip, a `when` allows.
    pub fn allowed(&self, when: &Table) -> usize {
        let column = |key: &str| self.columns.iter().find(|c| c.key.value == key);
        let given: Vec<_> = when
            .iter()
            .filter_map(|(key, value)| column(&key.value).map(|column| (column, column.alternatives(value))))
            .collect();
        let fits = |i: usize, (column, values): &(&Column, &[At<Any>])| {
            values.iter().any(|one| same_text(&one.show(), &column.values[i].show()))
        };
        (0..self.len()).filter(|i| given.iter().all(|one| fits(*i, one))).count()
    }
}

/// Flattens `path.rate = […]` written without quotes, and a single `[sweep.zip]`, into the form the rest reads:
/// `{"path.rate" = […], zip = [{…}, …]}`.
pub(crate) fn normalise(sweep: &mut At<Any>) -> Checked<()> {
    let place = sweep.place;
    let Any::Table(table) = &mut sweep.value else {
        let message = format!(
            "expected a table of keys and their values, as in [sweep] with \"path.rtt\" = [\"10 ms\", \"40 ms\"]; got {}",
            sweep.value.kind()
        );
        return Err(Fault::at(place, message).under("sweep"));
    };
    let zip_at = table.iter().position(|(key, _)| key.value == "zip");
    let zip = zip_at.map(|i| table.remove(i));
    let mut flat = Table::new();
    flatten("", std::mem::take(table), &mut flat).map_err(|f| f.under("sweep"))?;
    if let Some((key, node)) = zip {
        let groups = match node.value {
            Any::Table(_) => vec![node],
            Any::List(groups) => groups,
            other => {
                let message = format!("expected a table of keys, got {}", other.kind());
                return Err(Fault::at(node.place, message).under("sweep.zip"));
            }
        };
        let mut flat_groups = Vec::new();
        for group in groups {
            let Any::Table(inner) = group.value else {
                let message = format!("expected a table of keys, got {}", group.value.kind());
                return Err(Fault::at(group.place, message).under("sweep.zip"));
            };
            let mut flat = Table::new();
            flatten("", inner, &mut flat).map_err(|f| f.under("sweep.zip"))?;
            flat_groups.push(At { value: Any::Table(flat), place: group.place });
        }
        let place = key.place;
        flat.push((key, At { value: Any::List(flat_groups), place }));
    }
    *table = flat;
    Ok(())
}

fn flatten(prefix: &str, table: Table, into: &mut Table) -> Checked<()> {
    for (key, node) in table {
        let full = if prefix.is_empty() { key.value.clone() } else { format!("{prefix}.{}", key.value) };
        match node.value {
            Any::Table(inner) => flatten(&full, inner, into)?,
            Any::List(_) if get(into, &full).is_some() => {
                return Err(Fault::at(key.place, format!("{full:?} is swept twice")));
            }
            Any::List(_) => into.push((At { value: full, place: key.place }, node)),
            other => {
                let message =
                    format!("a swept key takes a list of values, such as [\"10 ms\", \"40 ms\"]; got {}", other.kind());
                return Err(Fault::at(node.place, message).under(full));
            }
        }
    }
    Ok(())
}

/// The axes of a normalised sweep, checked.
pub(crate) fn axes(sweep: Option<&At<Any>>) -> Checked<Vec<Axis>> {
    let Some(At { value: Any::Table(table), .. }) = sweep else { return Ok(Vec::new()) };
    let mut axes = Vec::new();
    for (key, node) in table {
        let Any::List(items) = &node.value else { continue };
        if key.value == "zip" {
            for group in items {
                axes.push(zipped(group)?);
            }
        } else {
            axes.push(Axis { columns: vec![column(key, node)?] });
        }
    }
    let mut keys: Vec<&At<String>> = Vec::new();
    for column in axes.iter().flat_map(|axis: &Axis| &axis.columns) {
        if keys.iter().any(|k| k.value == column.key.value) {
            return Err(Fault::at(column.key.place, format!("{:?} is swept twice", column.key.value)).under("sweep"));
        }
        keys.push(&column.key);
    }
    count(&axes)
        .map_err(|message| Fault::at(keys.last().map_or_else(Place::default, |k| k.place), message).under("sweep"))?;
    Ok(axes)
}

fn zipped(group: &At<Any>) -> Checked<Axis> {
    let Any::Table(table) = &group.value else {
        return Err(Fault::at(group.place, "expected a table").under("sweep.zip"));
    };
    let columns = table.iter().map(|(key, node)| column(key, node)).collect::<Checked<Vec<_>>>()?;
    let Some(first) = columns.first() else {
        return Err(Fault::at(group.place, "no keys; leave it out").under("sweep.zip"));
    };
    for other in &columns[1..] {
        if other.values.len() != first.values.len() {
            let message = format!(
                "keys that move together need equally many values: {:?} has {}, {:?} has {}",
                first.key.value,
                first.values.len(),
                other.key.value,
                other.values.len()
            );
            return Err(Fault::at(other.key.place, message).under("sweep.zip"));
        }
    }
    let mut rows = BTreeSet::new();
    for (i, value) in first.values.iter().enumerate() {
        if !rows.insert(columns.iter().map(|c| c.values[i].show()).collect::<Vec<_>>()) {
            return Err(Fault::at(value.place, "the same combination is given twice").under("sweep.zip"));
        }
    }
    Ok(Axis { columns })
}

fn column(key: &At<String>, node: &At<Any>) -> Checked<Column> {
    let Any::List(values) = &node.value else { return Err(Fault::at(node.place, "expected a list").under(&key.value)) };
    assign::refuse_deep(key).map_err(|f| f.under("sweep"))?;
    let sweepable = ["path", "flow", "link", "run"];
    let root = key.value.split('.').next().unwrap_or("");
    if !sweepable.contains(&root) || !key.value.contains('.') {
        let near = params::nearest(root, sweepable);
        let near = near.map_or(String::new(), |n| format!("; did you mean \"{n}.…\"?"));
        let message =
            format!("{:?} cannot be swept{near} (allowed: path.KEY, run.KEY, flow.NAME.KEY, link.NAME.KEY)", key.value);
        return Err(Fault::at(key.place, message).under("sweep"));
    }
    if key.value.ends_with(".name") {
        let message = format!("{:?} cannot be swept: other keys refer to the name", key.value);
        return Err(Fault::at(key.place, message).under("sweep"));
    }
    if values.is_empty() {
        return Err(Fault::at(node.place, format!("{:?} has no values", key.value)).under("sweep"));
    }
    Ok(Column { key: key.clone(), values: values.clone() })
}

/// The number of cases; an error beyond the limit.
pub(crate) fn count(axes: &[Axis]) -> Result<usize, String> {
    let product = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.len()));
    match product {
        Some(n) if n <= CASES_MAX => Ok(n),
        Some(n) => Err(format!("the sweep has {n} cases; allowed are {CASES_MAX}")),
        None => Err(format!("the sweep has more cases than can be counted; allowed are {CASES_MAX}")),
    }
}

/// A value given twice on a plain axis makes two equal cases.
pub(crate) fn refuse_repeats(axes: &[Axis]) -> Checked<()> {
    for axis in axes.iter().filter(|axis| axis.columns.len() == 1) {
        let column = &axis.columns[0];
        // Sorting keeps this linear in practice; sweeps may have 100 000 values.
        let mut seen: Vec<(String, &At<Any>)> = column.values.iter().map(|v| (squeezed(&v.show()), v)).collect();
        seen.sort_by(|a, b| (&a.0, a.1.place.start).cmp(&(&b.0, b.1.place.start)));
        if let Some(pair) = seen.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let message = format!("{:?} has the value {:?} twice", column.key.value, pair[1].1.show());
            return Err(Fault::at(pair[1].1.place, message).under("sweep"));
        }
    }
    Ok(())
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Two cases with equal settings: the fault is the first value of the later one that is written in another way.
/// `overlap` tells whether two keys set the same value somewhere, so that the later one hides the earlier.
pub(crate) fn same(axes: &[Axis], earlier: usize, later: usize, overlap: impl Fn(&str, &str) -> bool) -> Fault {
    let (before, after) = (case(axes, earlier), case(axes, later));
    let differs = |i: &usize| before[*i].1.show() != after[*i].1.show();
    let Some(at) = (0..before.len()).find(differs) else {
        return Fault::new(format!("the cases {earlier} and {later} are the same")).under("sweep");
    };
    let (key, a, b) = (&before[at].0.value, before[at].1.show(), after[at].1.show());
    let hides = |(i, (other, _)): &(usize, &(&At<String>, _))| {
        (turn(&other.value), *i) > (turn(key), at) && overlap(&other.value, key)
    };
    let message = match before.iter().enumerate().find(hides) {
        Some((_, (other, _))) if !same_text(&a, &b) => {
            format!("{key:?} changes nothing from {a:?} to {b:?}: {:?} sets the same after it", other.value)
        }
        _ => format!("{key:?} has the values {a:?} and {b:?}, which mean the same"),
    };
    Fault::at(after[at].1.place, message).under("sweep")
}

/// When a key of a case has its turn, in whatever order keys were written: whole values before settings inside them
/// (`flow.a.cc` before `flow.a.cc.beta`), and what all have before what one has (`flow.*.cc` before `flow.a.cc`).
pub(crate) fn turn(key: &str) -> (usize, bool) {
    (key.matches('.').count(), !key.contains('*'))
}

/// The swept keys and their values in case `index`; the first axis changes slowest.
pub(crate) fn case(axes: &[Axis], mut index: usize) -> Vec<(&At<String>, &At<Any>)> {
    let mut picks = vec![0; axes.len()];
    for (axis, pick) in axes.iter().zip(&mut picks).rev() {
        *pick = index % axis.len();
        index /= axis.len();
    }
    let chosen = axes.iter().zip(picks).flat_map(|(axis, i)| axis.columns.iter().map(move |c| (&c.key, &c.values[i])));
    chosen.collect()
}

/// `[sweep]` in the JSON schema.
pub(crate) struct SweepFile;

impl JsonSchema for SweepFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "sweep".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let keys = "^(path|run|flow\\.[^.]+|link\\.[^.]+)\\..+$";
        let values = json_schema!({
            "type": "array", "minItems": 1,
            "description": "Values of `path.KEY`, `run.KEY`, `flow.NAME.KEY` or `link.NAME.KEY`. The first key changes slowest.",
        });
        let group = serde_json::json!({ "type": "object", "patternProperties": { (keys): values } });
        json_schema!({
            "type": "object",
            "description": "`[sweep]`: every combination of the values is a case.",
            "patternProperties": { (keys): values },
            "properties": { "zip": {
                "description": "Keys that move together, with equally many values each. Several groups: `[[sweep.zip]]`.",
                "anyOf": [group, { "type": "array", "items": group }],
            } },
        })
    }
}
