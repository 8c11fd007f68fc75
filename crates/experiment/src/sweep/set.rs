//! `--set` in an experiment that sweeps: what becomes of a key that is swept, or part of what is.

use super::Axis;
use crate::assign::{self, assign};
use crate::source::{Checked, Fault};
use crate::tree::{Any, At, Table, get, get_mut, same_text};

/// Sets a key, and tells whether the sweep is another one now. A swept key keeps this one value. Where keys are swept that
/// set some of the same, as `flow.*.cc` does beside `flow.a.cc`, the value holds in every case all the same: one that sets
/// nothing else keeps it alone, and after one that sets more it has its turn.
pub(crate) fn set(doc: &mut At<Any>, axes: &[Axis], key: &At<String>, value: At<Any>) -> Checked<bool> {
    if let Some(swept) = key.value.strip_prefix("sweep.") {
        over(doc, At { value: swept.into(), place: key.place }, value)?;
        return Ok(true);
    }
    if narrow(doc, key, &value)? {
        return Ok(true);
    }
    let swept = axes.iter().flat_map(|axis| &axis.columns).map(|column| &column.key.value);
    let (within, wider): (Vec<&String>, Vec<&String>) = swept
        .filter(|swept| assign::overlap(doc, swept, &key.value))
        .partition(|swept| assign::covers(doc, &key.value, swept));
    for &swept in &within {
        narrow(doc, &At { value: swept.clone(), place: key.place }, &value)?;
    }
    // Every case sets the whole value (`flow.a.cc`) anew. As an axis of its own the setting comes after that.
    let last = !wider.is_empty() || is_beneath(axes, &key.value);
    if last {
        let place = value.place;
        over(doc, key.clone(), At { value: Any::List(vec![value]), place })?;
    } else {
        assign(doc, key, value)?;
    }
    Ok(last || !within.is_empty() || key.value == "sweep")
}

fn of_doc(doc: &mut At<Any>) -> Option<&mut At<Any>> {
    doc.value.as_table_mut().and_then(|root| get_mut(root, "sweep"))
}

/// A swept key of a plain axis keeps the one value; a zip keeps the positions that have it. False if the key is not swept.
fn narrow(doc: &mut At<Any>, key: &At<String>, value: &At<Any>) -> Checked<bool> {
    let Some(At { value: Any::Table(table), .. }) = of_doc(doc) else { return Ok(false) };
    if key.value != "zip"
        && let Some(values) = get_mut(table, &key.value)
    {
        values.value = Any::List(vec![value.clone()]);
        return Ok(true);
    }
    let Some(At { value: Any::List(groups), .. }) = get_mut(table, "zip") else { return Ok(false) };
    for group in groups {
        let Any::Table(columns) = &mut group.value else { continue };
        let Some(At { value: Any::List(values), .. }) = get(columns, &key.value) else { continue };
        let keep: Vec<bool> = values.iter().map(|v| same_text(&v.show(), &value.show())).collect();
        if !keep.contains(&true) {
            let all: Vec<String> = values.iter().map(|v| v.show()).collect();
            let message = format!(
                "{0} moves with others in [sweep.zip]; it takes one of {1}, or --set 'sweep.{0}=[…]' gives it {2} others",
                key.value,
                all.join(", "),
                all.len()
            );
            return Err(Fault::at(value.place, message));
        }
        for (_, column) in columns.iter_mut() {
            if let Any::List(values) = &mut column.value {
                let mut keep = keep.iter();
                values.retain(|_| *keep.next().unwrap_or(&true));
            }
        }
        return Ok(true);
    }
    Ok(false)
}

/// `--set sweep.KEY=[…]`: a key of a zip gets as many other values; any other becomes an axis, the last one.
fn over(doc: &mut At<Any>, key: At<String>, values: At<Any>) -> Checked<()> {
    let name = key.value.strip_prefix("zip.").unwrap_or(&key.value);
    if let Some(column) = of_doc(doc).and_then(|sweep| of_zip(sweep, name)) {
        return replace(column, name, values);
    }
    let place = values.place;
    let Some(root) = doc.value.as_table_mut() else { return Err(Fault::new("the experiment is not a table")) };
    if get(root, "sweep").is_none() {
        let sweep = At { value: "sweep".into(), place: key.place };
        root.push((sweep, At { value: Any::Table(Table::new()), place }));
    }
    if let Some(Any::Table(table)) = get_mut(root, "sweep").map(|node| &mut node.value) {
        table.retain(|(k, _)| k.value != key.value);
        table.push((key, values));
    }
    Ok(())
}

/// The values of a key that moves with others.
fn of_zip<'a>(sweep: &'a mut At<Any>, key: &str) -> Option<&'a mut At<Any>> {
    let Any::Table(table) = &mut sweep.value else { return None };
    let Some(At { value: Any::List(groups), .. }) = get_mut(table, "zip") else { return None };
    groups.iter_mut().find_map(|group| group.value.as_table_mut().and_then(|columns| get_mut(columns, key)))
}

fn replace(column: &mut At<Any>, key: &str, values: At<Any>) -> Checked<()> {
    let many = |node: &At<Any>| if let Any::List(values) = &node.value { Some(values.len()) } else { None };
    if let (Some(old), new) = (many(column), many(&values))
        && new != Some(old)
    {
        let got = new.map_or_else(|| values.value.kind().to_string(), |n| n.to_string());
        let message = format!("{key} moves with others in [sweep.zip]; give a list of {old} values, not {got}");
        return Err(Fault::at(values.place, message));
    }
    *column = values;
    Ok(())
}

/// Does the key lead into a value that is swept, as `flow.a.cc.beta` where `flow.a.cc` or `flow.*.cc` is?
fn is_beneath(axes: &[Axis], key: &str) -> bool {
    // A pattern that is set may mean a name that is swept, too.
    let fits = |(swept, given): (&str, &str)| given.contains('*') || assign::fits(swept, given);
    let beneath = |swept: &str| {
        swept.split('.').count() < key.split('.').count() && swept.split('.').zip(key.split('.')).all(fits)
    };
    axes.iter().flat_map(|axis| &axis.columns).any(|c| beneath(&c.key.value))
}
