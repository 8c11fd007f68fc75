//! What a publication printed, cell by cell; [`crate::compare`] sets ours beside it.
//!
//! A table is written as rows with named columns (`columns` and `[[published.row]]`) or as a grid over two swept keys
//! (`that`, `down`, `across`, `grid`). Both become [`Cell`]s: one published value of one figure in one case.

mod file;

pub(crate) use self::file::PublishedFile;

use self::file::{ColumnFile, GridRow, RowFile, TableFile};
use crate::decode::decode;
use crate::metric::Metric;
use crate::printed::Printed;
use crate::quantity::Q;
use crate::raw::WhenFile;
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::tolerance::Tolerance;
use crate::tree::{Any, At, Table, get};
use serde::Serialize;

/// A table of a publication.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Which table or figure.
    pub title: String,
    /// Where it was printed.
    pub source: String,
    /// Its cells, row by row.
    pub cells: Vec<Cell>,
    /// Columns whose order from row to row should be the printed one.
    pub order: Vec<String>,
}

/// One printed value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The row's name.
    pub row: String,
    /// The column's name.
    pub column: String,
    /// The figure.
    pub that: String,
    /// The case: swept keys and their values; a key that stands there several times has one of them.
    pub when: Vec<(String, String)>,
    /// The printed value in the figure's unit: of a range its middle, of a bound the bound.
    pub value: f64,
    /// A range or a bound as printed, such as "10 to 21 %" or "< 50 %".
    pub printed: Option<String>,
    /// Least value within the tolerance; `None` if the cell is not judged, minus infinity below a bound.
    pub low: Option<f64>,
    /// Greatest value within the tolerance.
    pub high: Option<f64>,
    /// What was printed: least and greatest value, equal for a number; in JSON `null` on the open side of a bound.
    pub(crate) range: (f64, f64),
    #[serde(skip)]
    pub(crate) metric: Metric,
    /// The tolerance that gave `low` and `high`; only of a number, which a range or a bound is not.
    #[serde(skip)]
    pub(crate) tolerance: Option<Tolerance>,
    #[serde(skip)]
    pub(crate) when_at: Option<At<Table>>,
    #[serde(skip)]
    pub(crate) place: Place,
}

/// Reads `[published]` or `[[published]]`.
pub(crate) fn read(node: Option<&At<Any>>) -> Checked<Vec<Published>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let tables = match &node.value {
        Any::List(tables) => tables.iter().collect(),
        _ => vec![node],
    };
    tables.into_iter().map(|t| table(t).map_err(|f| f.or_at(t.place).under("published"))).collect()
}

fn table(node: &At<Any>) -> Checked<Published> {
    let file: TableFile = decode(node)?;
    let mut cells = Vec::new();
    let columns = match (&file.columns, &file.grid) {
        (Some(columns), None) => rows(&file, columns, &mut cells)?,
        (None, Some(grid)) => self::grid(&file, grid, &mut cells)?,
        (Some(_), Some(grid)) => {
            return Err(Fault::at(grid.place, "a table has columns and rows, or a grid: not both"));
        }
        (None, None) => {
            let message = "needs columns and [[published.row]], or that, down, across and grid";
            return Err(Fault::at(node.place, message));
        }
    };
    for name in &file.order {
        if !columns.contains(&name.value) {
            return Err(no_column(name, &columns).under("order"));
        }
    }
    if cells.is_empty() {
        let message = "prints nothing: give it [[published.row]] tables with values, or numbers in its grid";
        return Err(Fault::at(node.place, message));
    }
    Ok(Published {
        title: file.title.unwrap_or_default(),
        source: file.source.unwrap_or_default(),
        cells,
        order: file.order.into_iter().map(|name| name.value).collect(),
    })
}

fn no_column(name: &At<String>, columns: &[String]) -> Fault {
    let near = did_you_mean(&name.value, columns.iter().map(String::as_str));
    Fault::at(name.place, format!("there is no column {:?}{near} (columns: {})", name.value, columns.join(", ")))
}

/// The cells of rows, and the names of the columns.
fn rows(file: &TableFile, columns: &At<Any>, cells: &mut Vec<Cell>) -> Checked<Vec<String>> {
    if let Some((key, place)) = [
        ("that", file.that.as_ref().map(|x| x.place)),
        ("down", file.down.as_ref().map(|x| x.place)),
        ("across", file.across.as_ref().map(|x| x.place)),
        ("when", file.when.as_ref().map(|x| x.place)),
    ]
    .into_iter()
    .find_map(|(key, place)| Some((key, place?)))
    {
        return Err(Fault::at(
            place,
            format!("{key:?} belongs to a grid; a table with columns names its figures there"),
        ));
    }
    let Any::Table(columns) = &columns.value else {
        return Err(
            Fault::at(columns.place, format!("expected a table, got {}", columns.value.kind())).under("columns")
        );
    };
    let names: Vec<String> = columns.iter().map(|(name, _)| name.value.clone()).collect();
    let mut known = Vec::new();
    for (name, node) in columns {
        let column = match &node.value {
            Any::Text(_) => ColumnFile { that: decode(node).map_err(|f| f.under(&name.value))?, tolerance: None },
            _ => decode(node).map_err(|f| f.under(&name.value).under("columns"))?,
        };
        known.push((&name.value, column));
    }
    for row in &file.row {
        let when = pairs(row.when.as_ref())?;
        let label = |row: &RowFile| row.name.clone().unwrap_or_else(|| when.1.join(", "));
        let Any::Table(values) = &row.values.value else {
            let message = format!("expected a table such as {{mean = 4.4}}, got {}", row.values.value.kind());
            return Err(Fault::at(row.values.place, message).under("values"));
        };
        for (name, _) in values {
            if !names.contains(&name.value) {
                return Err(no_column(name, &names).under("row"));
            }
        }
        let before = cells.len();
        for (name, column) in &known {
            let Some(value) = get(values, name) else { continue };
            let tolerance = column.tolerance.as_ref().or(file.tolerance.as_ref());
            let cell = cell(label(row), name.to_string(), &column.that, &when.0, value, tolerance);
            cells.extend(cell.map_err(|f| f.under(name.as_str()).under("values"))?);
        }
        if cells.len() == before {
            let message = "the row prints nothing: write what was printed, as in {mean = 4.4}, or leave it out";
            return Err(Fault::at(row.values.place, message).under("values").under("row"));
        }
    }
    Ok(names)
}

type Pairs = (Option<At<Table>>, Vec<String>);

fn pairs(when: Option<&At<WhenFile>>) -> Checked<Pairs> {
    let Some(when) = when else { return Ok((None, Vec::new())) };
    let Any::Table(table) = &when.value.0 else {
        let message = format!("expected a table such as {{\"path.rtt\" = \"40 ms\"}}, got {}", when.value.0.kind());
        return Err(Fault::at(when.place, message).under("when"));
    };
    let values = table.iter().map(|(_, v)| v.show()).collect();
    Ok((Some(At { value: table.clone(), place: when.place }), values))
}

/// The cells of a grid, and the names of its columns.
fn grid(file: &TableFile, grid: &At<Vec<GridRow>>, cells: &mut Vec<Cell>) -> Checked<Vec<String>> {
    let missing = |key: &str| Fault::at(grid.place, format!("a grid needs the key {key:?}"));
    let that = file.that.as_ref().ok_or_else(|| missing("that"))?;
    let down = file.down.as_ref().ok_or_else(|| missing("down"))?;
    let across = file.across.as_ref().ok_or_else(|| missing("across"))?;
    if let Some(row) = file.row.first() {
        return Err(Fault::at(row.place, "a table has columns and rows, or a grid: not both"));
    }
    let (head, body) = match grid.value.split_first() {
        Some((head, body)) if !body.is_empty() && head.len() > 1 => (head, body),
        _ => {
            return Err(
                Fault::at(grid.place, "a grid needs a first row of values and at least one row below").under("grid")
            );
        }
    };
    let fixed = pairs(file.when.as_ref())?.0.map_or(Table::new(), |t| t.value);
    if down.value == across.value {
        let message = format!("{:?} cannot go down and across: a cell has one value of it", down.value);
        return Err(Fault::at(across.place, message).under("across"));
    }
    if let Some((key, _)) = fixed.iter().find(|(key, _)| [&down.value, &across.value].contains(&&key.value)) {
        let message = format!("{:?} has its values in the grid: leave it out here", key.value);
        return Err(Fault::at(key.place, message).under("when"));
    }
    for line in body {
        if line.len() != head.len() {
            let message = format!("the row has {} cells, the first row {}", line.len(), head.len());
            return Err(Fault::at(line.place, message).under("grid"));
        }
        for (top, value) in head.iter().zip(line.iter()).skip(1) {
            let mut when = fixed.clone();
            when.push((down.clone(), line[0].clone()));
            when.push((across.clone(), top.clone()));
            let when = Some(At { value: when, place: line.place });
            let cell = cell(line[0].show(), top.show(), that, &when, value, file.tolerance.as_ref());
            cells.extend(cell.map_err(|f| f.under("grid"))?);
        }
    }
    Ok(head[1..].iter().map(|top| top.show()).collect())
}

/// A cell, or none if its value is `""`: not printed.
fn cell(
    row: String,
    column: String,
    that: &At<Q<Metric>>,
    when: &Option<At<Table>>,
    value: &At<Any>,
    tolerance: Option<&At<Q<Tolerance>>>,
) -> Checked<Option<Cell>> {
    if value.as_text().is_some_and(|t| t.trim().is_empty()) {
        return Ok(None);
    }
    let text = match &value.value {
        Any::Text(_) | Any::Integer(_) | Any::Float(_) => value.show(),
        other => return Err(Fault::at(value.place, format!("{} is not a number", other.kind()))),
    };
    let metric = that.value.0.clone();
    let printed = Printed::read(&text, metric.unit()).map_err(|e| Fault::at(value.place, e))?;
    let tolerance = tolerance.map(|t| (&t.value.0, t.place));
    let bounds = match tolerance {
        Some((t, place)) => {
            let within = t.has_units(metric.unit()).and_then(|()| printed.within(t, metric.unit()));
            Some(within.map_err(|e| Fault::at(place, e).under("tolerance"))?)
        }
        // A range or a bound says itself what is allowed.
        None if printed.is_number() => None,
        None => Some((printed.from, printed.to)),
    };
    let pairs =
        when.as_ref().map_or(Vec::new(), |t| t.value.iter().map(|(k, v)| (k.value.clone(), v.show())).collect());
    Ok(Some(Cell {
        row,
        column,
        that: metric.to_string(),
        when: pairs,
        value: printed.value(),
        printed: (!printed.is_number()).then(|| text.clone()),
        low: bounds.map(|b| b.0),
        high: bounds.map(|b| b.1),
        range: (printed.from, printed.to),
        metric,
        tolerance: tolerance.filter(|_| printed.is_number()).map(|(t, _)| t.clone()),
        when_at: when.clone(),
        place: value.place,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse_document;

    fn read_text(text: &str) -> Checked<Vec<Published>> {
        let doc = parse_document(text, 0)?;
        let Any::Table(table) = &doc.value else { unreachable!("a document is a table") };
        read(get(table, "published"))
    }

    #[test]
    fn rows_and_grids_become_cells() {
        let tables = read_text(
            r#"
            [[published]]
            tolerance = "35 %"
            columns = { mean = "link.bottleneck.queue_ms.mean", use = {that = "link.bottleneck.utilisation", tolerance = "2 points"} }
            [[published.row]]
            name = "CDG"
            when = { "flow.a.cc" = "cdg" }
            values = { mean = 16.28, use = "99.9 %" }
            [[published]]
            that = "flow.a.share"
            down = "path.rate"
            across = "path.rtt"
            grid = [["", "10 ms", "40 ms"], ["4 Mbit/s", 0.4, ""], ["12 Mbit/s", "41 %", 0.5]]
            "#,
        )
        .unwrap();
        let cells = &tables[0].cells;
        assert_eq!((cells[0].row.as_str(), cells[0].value), ("CDG", 16.28));
        assert!((cells[1].value - 0.999).abs() < 1e-12);
        assert!((cells[0].low.unwrap() - 10.582).abs() < 1e-9 && (cells[1].low.unwrap() - 0.979).abs() < 1e-9);
        let grid = &tables[1].cells;
        assert_eq!(grid.len(), 3);
        let when = [("path.rate".to_string(), "12 Mbit/s".to_string()), ("path.rtt".into(), "10 ms".into())];
        assert_eq!((grid[1].when.as_slice(), grid[1].value, grid[1].low), (&when[..], 0.41, None));
    }
}
