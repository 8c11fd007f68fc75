//! What is read from an experiment's tree, but for what a single case makes of it: the sweep, claims, printed numbers.

use crate::claim::{Claim, Over, with};
use crate::decode::decode;
use crate::published::{self, Published};
use crate::quantity::Quantity;
use crate::raw::{ExpectFile, File, WhenFile};
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::sweep::{self, Axis, Column};
use crate::tree::{Any, At, Table};
use params::Spec;

/// Everything that is read from the tree.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub file: File,
    pub axes: Vec<Axis>,
    pub claims: Vec<Claim>,
    /// Where each claim's figure and condition were written.
    pub claim_places: Vec<[Place; 2]>,
    pub published: Vec<Published>,
}

impl Parts {
    /// `written` are the places of all claims of the file, of which overrides may have dropped some: a claim keeps its number.
    pub fn of(doc: &At<Any>, written: &[Place]) -> Checked<Parts> {
        let file: File = decode(doc)?;
        let axes = sweep::axes(file.sweep.as_ref())?;
        sweep::refuse_repeats(&axes)?;
        let number =
            |i: usize, at: &At<ExpectFile>| written.iter().position(|place| *place == at.place).unwrap_or(i) + 1;
        let claims =
            file.expect.iter().enumerate().map(|(i, at)| claim(at, number(i, at), &axes)).collect::<Checked<_>>()?;
        let claim_places = file.expect.iter().map(|at| [at.value.that.place, at.value.is.place]).collect();
        for figure in &file.figure {
            figure.value.parse::<Spec>().map_err(|e| Fault::at(figure.place, e.to_string()).under("figure"))?;
        }
        let mut published = published::read(file.published.as_ref())?;
        for cell in published.iter_mut().flat_map(|table| &mut table.cells) {
            if let Some(when) = &cell.when_at {
                cell.when = alternatives(&when.value, when.place, &axes).map_err(|f| f.under("published"))?;
            }
        }
        Ok(Parts { file, axes, claims, claim_places, published })
    }
}

fn claim(at: &At<ExpectFile>, number: usize, axes: &[Axis]) -> Checked<Claim> {
    let expect = &at.value;
    let (metric, condition) = (expect.that.value.0.clone(), expect.is.value.0.clone());
    condition.check(&metric).map_err(|e| Fault::at(expect.is.place, e).under(format!("expect[{number}].is")))?;
    let when = pairs(expect.when.as_ref(), axes).map_err(|f| f.under(format!("expect[{number}].when")))?;
    let against = pairs(expect.against.as_ref(), axes).map_err(|f| f.under(format!("expect[{number}].against")))?;
    if let Some(other) = &expect.against
        && condition.figures().is_empty()
    {
        let message = "nothing on the right side of `is` comes from that case: write a figure there, as in \">= 2 * flow.a.share\"";
        return Err(Fault::at(other.place, message).under(format!("expect[{number}].against")));
    }
    let moved = with_zipped(|key| against.iter().any(|(k, _)| k == key), axes);
    let over = expect.over.as_ref().map_or(Over::Mean, |at| at.value.0.0);
    let pool = pooled(expect, over, &moved, axes).map_err(|f| f.under(format!("expect[{number}].pool")))?;
    let (that, is) = (metric.to_string(), condition.write().show());
    let together = if pool.is_empty() { String::new() } else { format!(", pooled over {}", pool.join(", ")) };
    let name = expect.name.clone().unwrap_or_else(|| format!("{that} {is}{}{together}", with(&against)));
    let against_at = expect.against.as_ref().map_or_else(Place::default, |at| at.place);
    Ok(Claim { number, name, that, is, over, when, against, pool, moved, against_at, metric, condition })
}

/// Swept keys, and those that a zip moves along.
fn with_zipped(named: impl Fn(&str) -> bool, axes: &[Axis]) -> Vec<String> {
    let groups = axes.iter().filter(|axis| axis.columns.iter().any(|c| named(&c.key.value)));
    groups.flat_map(|axis| axis.columns.iter().map(|c| c.key.value.clone())).collect()
}

/// The keys of `pool`, checked, and those that a zip moves along.
fn pooled(expect: &ExpectFile, over: Over, moved: &[String], axes: &[Axis]) -> Checked<Vec<String>> {
    let Some(pool) = &expect.pool else { return Ok(Vec::new()) };
    if over == Over::Each {
        let message = "over = \"each\" asks every run by itself: leave out pool, or let a mean or median fulfil it";
        return Err(Fault::at(pool.place, message));
    }
    for key in &pool.value {
        swept(key, axes)?;
    }
    let keys = with_zipped(|key| pool.value.iter().any(|k| k.value == key), axes);
    if let Some(both) = keys.iter().find(|key| moved.contains(key)) {
        let message = format!("{both:?} tells the cases of `against` from these, so it cannot be pooled");
        return Err(Fault::at(pool.place, message));
    }
    Ok(keys)
}

/// Keys and values of a `when` or `against`, checked; several values of a key one after the other.
fn pairs(when: Option<&At<WhenFile>>, axes: &[Axis]) -> Checked<Vec<(String, String)>> {
    let Some(when) = when else { return Ok(Vec::new()) };
    let Any::Table(table) = &when.value.0 else {
        return Err(Fault::at(when.place, "expected a table such as {\"path.rtt\" = \"40 ms\"}"));
    };
    alternatives(table, when.place, axes)
}

/// Keys and values of a `when` as the sweep spells them: they must be swept, and some case must have all of them.
fn alternatives(when: &Table, place: Place, axes: &[Axis]) -> Checked<Vec<(String, String)>> {
    let mut all = Vec::new();
    for (key, value) in when {
        if matches!(value.value, Any::Table(_)) {
            let message = format!("a swept key stands in quotes here: write {:?} = …", unquoted(key, value));
            return Err(Fault::at(key.place, message));
        }
        let column = swept(key, axes)?;
        let values = column.alternatives(value);
        if values.is_empty() {
            let message = format!("{} = [] allows no value: leave the key out, and every value fits", key.value);
            return Err(Fault::at(value.place, message));
        }
        for one in values {
            let spelled = column.spelled(one);
            if spelled.is_empty() {
                let known: Vec<String> = column.values.iter().map(|v| v.show()).take(20).collect();
                let given = one.show();
                let message =
                    format!("{} does not take the value {given:?} (it takes {})", key.value, known.join(", "));
                return Err(Fault::at(one.place, message));
            }
            all.extend(spelled.into_iter().map(|text| (key.value.clone(), text)));
        }
    }
    if let Some(keys) = sweep::apart(when, axes) {
        let message = format!("no case has these values of {}, which [sweep.zip] moves together", keys.join(", "));
        return Err(Fault::at(place, message));
    }
    Ok(all)
}

/// The key that was written without quotes, which makes tables of its parts.
fn unquoted(key: &At<String>, value: &At<Any>) -> String {
    let (mut full, mut inner) = (key.value.clone(), &value.value);
    while let Any::Table(table) = inner
        && let Some((key, value)) = table.first()
    {
        full = format!("{full}.{}", key.value);
        inner = &value.value;
    }
    full
}

/// The column of a key, which must be swept.
fn swept<'a>(key: &At<String>, axes: &'a [Axis]) -> Checked<&'a Column> {
    let columns = || axes.iter().flat_map(|axis| &axis.columns);
    columns().find(|c| c.key.value == key.value).ok_or_else(|| {
        let keys: Vec<&str> = columns().map(|c| c.key.value.as_str()).collect();
        let near = did_you_mean(&key.value, keys.iter().copied());
        let all = if keys.is_empty() { "nothing is swept".into() } else { format!("swept are {}", keys.join(", ")) };
        Fault::at(key.place, format!("{:?} is not swept{near} ({all})", key.value))
    })
}
