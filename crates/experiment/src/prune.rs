//! An override that leaves a sweep fewer values takes the claims and printed cells with it that no case is left for, or
//! not all those that they are the mean of, so that the experiment stays one that could have been written.

use crate::sweep::{Axis, Column, apart};
use crate::tree::{Any, At, Table, get, get_mut};

/// Drops claims, published rows and grid cells whose swept values are no longer there.
pub(crate) fn prune(doc: &mut At<Any>, before: &[Axis], after: &[Axis]) {
    let change = Change { before, after };
    let Any::Table(root) = &mut doc.value else { return };
    if let Some(At { value: Any::List(claims), .. }) = get_mut(root, "expect") {
        claims.retain_mut(|entry| change.leaves_claim(entry));
    }
    root.retain_mut(|(key, node)| match &mut node.value {
        Any::List(tables) if key.value == "published" => {
            tables.retain_mut(|table| change.leaves_table(table));
            true
        }
        Any::Table(_) if key.value == "published" => change.leaves_table(node),
        _ => true,
    });
}

/// The axes before an override and after it.
struct Change<'a> {
    before: &'a [Axis],
    after: &'a [Axis],
}

impl Change<'_> {
    fn column(&self, key: &str) -> Option<&Column> {
        self.after.iter().flat_map(|axis| &axis.columns).find(|c| c.key.value == key)
    }

    /// Is the value swept, or each of a list? A key that is not swept at all is a mistake, for the checks to find.
    fn leaves(&self, key: &str, value: &At<Any>) -> bool {
        self.column(key).is_none_or(|c| c.alternatives(value).iter().all(|one| c.takes(one)))
    }

    /// Do the axes of these keys have as many values as before that `when` allows?
    fn leaves_as_many<'k>(&self, mut keys: impl Iterator<Item = &'k str>, when: &Table) -> bool {
        keys.all(|key| {
            let allowed = |axes: &[Axis]| axes.iter().find(|axis| axis.has(key)).map(|axis| axis.allowed(when));
            allowed(self.before) <= allowed(self.after).or(Some(usize::MAX))
        })
    }

    /// Is what was printed of the cases with these values, the mean of several, still of all of them?
    fn leaves_printed(&self, when: &Table) -> bool {
        when.iter().all(|(key, value)| self.leaves(&key.value, value))
            && self.leaves_as_many(when.iter().map(|(key, _)| key.value.as_str()), when)
    }

    /// Can a claim still be asked? It is judged case by case in what is left of its lists, but of a pool as a whole.
    fn leaves_claim(&self, entry: &mut At<Any>) -> bool {
        let Any::Table(keys) = &mut entry.value else { return true };
        if let Some(Any::List(pool)) = get(keys, "pool").map(|node| &node.value)
            && !self.leaves_as_many(pool.iter().filter_map(|key| key.as_text()), &table_of(keys, "when"))
        {
            return false;
        }
        ["when", "against"].iter().all(|name| match get_mut(keys, name).map(|node| &mut node.value) {
            Some(Any::Table(when)) => {
                when.iter_mut().all(|(key, value)| self.thin(&key.value, value)) && apart(when, self.after).is_none()
            }
            _ => true,
        })
    }

    /// Leaves the values of a list that are swept; false if that is none.
    fn thin(&self, key: &str, value: &mut At<Any>) -> bool {
        if self.leaves(key, value) {
            return true;
        }
        let (Some(column), Any::List(values)) = (self.column(key), &mut value.value) else { return false };
        values.retain(|one| column.takes(one));
        !values.is_empty()
    }

    /// Prunes one published table; false if nothing is left of it.
    fn leaves_table(&self, node: &mut At<Any>) -> bool {
        let Any::Table(keys) = &mut node.value else { return true };
        if !table_of(keys, "when").iter().all(|(key, value)| self.leaves(&key.value, value)) {
            return false;
        }
        if let Some(At { value: Any::List(rows), .. }) = get_mut(keys, "row") {
            rows.retain(|row| match &row.value {
                Any::Table(row) => self.leaves_printed(&table_of(row, "when")),
                _ => true,
            });
            return !rows.is_empty();
        }
        self.leaves_grid(keys).unwrap_or(true)
    }

    /// Prunes a grid's rows, columns and cells, and the order of its columns; `None` if there is no well-formed grid.
    fn leaves_grid(&self, keys: &mut Table) -> Option<bool> {
        let key = |name: &str| {
            let node = get(keys, name)?;
            Some(At { value: node.as_text()?.to_string(), place: node.place })
        };
        let (down, across) = (key("down")?, key("across")?);
        let fixed = table_of(keys, "when");
        let Any::List(lines) = &mut get_mut(keys, "grid")?.value else { return None };
        let Any::List(head) = lines.first()?.value.clone() else { return None };
        let kept: Vec<bool> = head.iter().enumerate().map(|(i, v)| i == 0 || self.leaves(&across.value, v)).collect();
        let mut first = true;
        lines.retain(|line| {
            let top = std::mem::take(&mut first);
            let Any::List(cells) = &line.value else { return true };
            top || cells.first().is_none_or(|v| self.leaves(&down.value, v))
        });
        let mut printed = false;
        for (n, line) in lines.iter_mut().enumerate() {
            let Any::List(cells) = &mut line.value else { continue };
            let of_row = cells.first().cloned();
            for (top, cell) in head.iter().zip(cells.iter_mut()).skip(1) {
                let mut when = fixed.clone();
                when.extend(of_row.clone().map(|value| (down.clone(), value)));
                when.push((across.clone(), top.clone()));
                if n > 0 && !self.leaves_printed(&when) {
                    cell.value = Any::Text(String::new());
                }
            }
            let mut stays = kept.iter();
            cells.retain(|_| *stays.next().unwrap_or(&true));
            let says = |cell: &At<Any>| cell.as_text().is_none_or(|text| !text.trim().is_empty());
            printed |= n > 0 && cells.iter().skip(1).any(says);
        }
        if let Some(Any::List(order)) = get_mut(keys, "order").map(|node| &mut node.value) {
            let gone = |name: &str| head.iter().zip(&kept).any(|(top, kept)| !kept && top.show() == name);
            order.retain(|name| name.as_text().is_none_or(|name| !gone(name)));
        }
        Some(printed)
    }
}

/// A table of a table; an empty one if there is none.
fn table_of(keys: &Table, name: &str) -> Table {
    match get(keys, name).map(|node| &node.value) {
        Some(Any::Table(table)) => table.clone(),
        _ => Table::new(),
    }
}
