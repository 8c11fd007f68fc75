//! An override that leaves a sweep fewer values takes the claims and printed cells with it that no case is left for, so
//! that the experiment stays one that could have been written.

use crate::sweep::{Axis, apart};
use crate::tree::{Any, At, Table, get, get_mut};

/// Drops claims, published rows and grid cells whose swept values are no longer there.
pub(crate) fn prune(doc: &mut At<Any>, axes: &[Axis]) {
    let Any::Table(root) = &mut doc.value else { return };
    if let Some(At { value: Any::List(claims), .. }) = get_mut(root, "expect") {
        claims.retain_mut(|claim| reachable(claim, axes));
    }
    root.retain_mut(|(key, node)| match &mut node.value {
        Any::List(tables) if key.value == "published" => {
            tables.retain_mut(|t| table(t, axes));
            true
        }
        Any::Table(_) if key.value == "published" => table(node, axes),
        _ => true,
    });
}

fn swept(key: &str, value: &At<Any>, axes: &[Axis]) -> bool {
    let mut columns = axes.iter().flat_map(|axis| &axis.columns);
    // A key that is not swept at all is a mistake, for the checks to find.
    columns.find(|c| c.key.value == key).is_none_or(|c| c.takes(value))
}

/// Can the `when` and `against` of an entry still be met? Of a list of values those are left that can.
fn reachable(entry: &mut At<Any>, axes: &[Axis]) -> bool {
    let Any::Table(keys) = &mut entry.value else { return true };
    ["when", "against"].iter().all(|name| match get_mut(keys, name).map(|node| &mut node.value) {
        Some(Any::Table(when)) => {
            when.iter_mut().all(|(key, value)| {
                if swept(&key.value, value, axes) {
                    return true;
                }
                let Any::List(values) = &mut value.value else { return false };
                values.retain(|v| swept(&key.value, v, axes));
                !values.is_empty()
            }) && apart(when, axes).is_none()
        }
        _ => true,
    })
}

/// Prunes one published table; false if nothing is left of it.
fn table(node: &mut At<Any>, axes: &[Axis]) -> bool {
    if !reachable(node, axes) {
        return false;
    }
    let Any::Table(keys) = &mut node.value else { return true };
    if let Some(At { value: Any::List(rows), .. }) = get_mut(keys, "row") {
        rows.retain_mut(|row| reachable(row, axes));
        return !rows.is_empty();
    }
    grid(keys, axes).unwrap_or(true)
}

/// Prunes a grid's rows and columns; `None` if there is no well-formed grid.
fn grid(keys: &mut Table, axes: &[Axis]) -> Option<bool> {
    let down = get(keys, "down")?.as_text()?.to_string();
    let across = get(keys, "across")?.as_text()?.to_string();
    let Any::List(lines) = &mut get_mut(keys, "grid")?.value else { return None };
    let Any::List(head) = &lines.first()?.value else { return None };
    let kept: Vec<bool> = head.iter().enumerate().map(|(i, v)| i == 0 || swept(&across, v, axes)).collect();
    let mut first = true;
    lines.retain(|line| {
        let top = std::mem::take(&mut first);
        let Any::List(cells) = &line.value else { return true };
        top || cells.first().is_none_or(|v| swept(&down, v, axes))
    });
    for line in lines.iter_mut() {
        if let Any::List(cells) = &mut line.value {
            let mut kept = kept.iter();
            cells.retain(|_| *kept.next().unwrap_or(&true));
        }
    }
    Some(lines.len() > 1 && kept.iter().filter(|k| **k).count() > 1)
}
