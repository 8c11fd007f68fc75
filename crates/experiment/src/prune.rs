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

/// Prunes a grid's rows, columns and cells, and the order of its columns; `None` if there is no well-formed grid.
fn grid(keys: &mut Table, axes: &[Axis]) -> Option<bool> {
    let key = |name: &str| {
        let node = get(keys, name)?;
        Some(At { value: node.as_text()?.to_string(), place: node.place })
    };
    let (down, across) = (key("down")?, key("across")?);
    let fixed = match get(keys, "when").map(|node| &node.value) {
        Some(Any::Table(when)) => when.clone(),
        _ => Table::new(),
    };
    let Any::List(lines) = &mut get_mut(keys, "grid")?.value else { return None };
    let Any::List(head) = lines.first()?.value.clone() else { return None };
    let kept: Vec<bool> = head.iter().enumerate().map(|(i, v)| i == 0 || swept(&across.value, v, axes)).collect();
    let mut first = true;
    lines.retain(|line| {
        let top = std::mem::take(&mut first);
        let Any::List(cells) = &line.value else { return true };
        top || cells.first().is_none_or(|v| swept(&down.value, v, axes))
    });
    let mut printed = false;
    for (n, line) in lines.iter_mut().enumerate() {
        let Any::List(cells) = &mut line.value else { continue };
        let of_row = cells.first().cloned();
        for (top, cell) in head.iter().zip(cells.iter_mut()).skip(1) {
            let mut when = fixed.clone();
            when.extend(of_row.clone().map(|value| (down.clone(), value)));
            when.push((across.clone(), top.clone()));
            if n > 0 && apart(&when, axes).is_some() {
                cell.value = Any::Text(String::new());
            }
        }
        let mut stays = kept.iter();
        cells.retain(|_| *stays.next().unwrap_or(&true));
        printed |= n > 0 && cells.iter().skip(1).any(|cell| cell.as_text().is_none_or(|text| !text.trim().is_empty()));
    }
    if let Some(Any::List(order)) = get_mut(keys, "order").map(|node| &mut node.value) {
        let gone = |name: &str| head.iter().zip(&kept).any(|(top, kept)| !kept && top.show() == name);
        order.retain(|name| name.as_text().is_none_or(|name| !gone(name)));
    }
    Some(printed)
}
