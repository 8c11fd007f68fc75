//! `[published]` as it is written.

use crate::metric::Metric;
use crate::quantity::Q;
use crate::raw::{Opt, WhenFile};
use crate::tolerance::Tolerance;
use crate::tree::{Any, At};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// `[published]`: a table of a publication.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as title and columns")]
#[schemars(rename = "published")]
pub(crate) struct TableFile {
    /// Which table or figure.
    #[schemars(extend("examples" = ["Table 5.1"]))]
    pub title: Option<String>,
    /// Where it was printed.
    #[schemars(extend("examples" = ["HLDG thesis, section 5.3.3"]))]
    pub source: Option<String>,
    /// How far our figure may be from the printed one: `30 %` of it, `2 ms` or `5 points` either side, `factor 2`, or the
    /// wider of several, `max(1.5 ms, 30 %)`. A number alone is for figures without a unit: 20 packets are `20`, and 0.02 of
    /// a share is `0.02`. Without a tolerance a number is shown and not judged; a range or a bound is judged as it stands.
    #[schemars(extend("examples" = ["35 %", "max(1.5 ms, 30 %)"]))]
    pub tolerance: Opt<Tolerance>,
    /// Names of the columns and the figure each holds: `NAME = "figure"`, or `NAME = {that = "figure", tolerance = "…"}`.
    #[schemars(with = "Option<std::collections::BTreeMap<String, ColumnSchema>>")]
    #[schemars(extend("examples" = [{"mean": "link.bottleneck.queue_ms.mean"}]))]
    pub columns: Option<At<Any>>,
    /// Rows: the case and the values printed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row: Vec<At<RowFile>>,
    /// Columns whose order from row to row should be the printed one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["mean"]]))]
    pub order: Vec<At<String>>,
    /// For a grid: the figure in its cells.
    #[schemars(extend("examples" = ["flow.a.share"]))]
    pub that: Opt<Metric>,
    /// For a grid: the swept key that its rows stand for.
    #[schemars(extend("examples" = ["path.rate"]))]
    pub down: Option<At<String>>,
    /// For a grid: the swept key that its columns stand for.
    #[schemars(extend("examples" = ["path.rtt"]))]
    pub across: Option<At<String>>,
    /// For a grid: values of other swept keys.
    #[schemars(extend("examples" = [{"flow.a.cc": "hldg"}]))]
    pub when: Option<At<WhenFile>>,
    /// The grid: a first row with the values of `across` behind an empty cell, then rows that begin with a value of
    /// `down`. A cell `""` was not printed.
    #[schemars(with = "Option<Vec<Vec<Any>>>")]
    #[schemars(extend("examples" = [[["", "10 ms", "40 ms"], ["1.5 Mbit/s", 0.41, 0.45]]]))]
    pub grid: Option<At<Vec<GridRow>>>,
}

/// Cells of a grid's row.
pub(crate) type GridRow = At<Vec<At<Any>>>;

/// `[[published.row]]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as name, when and values")]
#[schemars(rename = "published_row")]
pub(crate) struct RowFile {
    /// The row's name in print. Default: the values of `when`.
    #[schemars(extend("examples" = ["CDG"]))]
    pub name: Option<String>,
    /// The case: swept keys and their values. A list of values makes the row one of several cases, whose
    /// mean is compared. Default: every case.
    #[schemars(extend("examples" = [{"flow.a.cc": "cdg"}, {"path.rtt": ["180 ms", "240 ms"]}]))]
    pub when: Option<At<WhenFile>>,
    /// The printed values by column: a number in the figure's unit or text with its unit, a range `10 to 21 %` or a bound
    /// `< 50 %`. Needed.
    #[schemars(with = "std::collections::BTreeMap<String, Any>")]
    #[schemars(extend("examples" = [{"mean": 16.28, "utilisation": "99.9 %"}]))]
    pub values: At<Any>,
}

/// A column with a tolerance of its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a figure such as \"flow.a.share\", or {that = \"…\", tolerance = \"…\"}")]
#[schemars(rename = "published_column")]
pub(crate) struct ColumnFile {
    /// The figure. Needed.
    #[schemars(extend("examples" = ["link.bottleneck.queue_ms.mean"]))]
    pub that: At<Q<Metric>>,
    /// Tolerance of this column. Default: the table's.
    #[schemars(extend("examples" = ["35 %"]))]
    pub tolerance: Opt<Tolerance>,
}

/// A column in the JSON schema: its figure alone, or that and its tolerance.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is used: `Column` reads files")]
enum ColumnSchema {
    Figure(Q<Metric>),
    Own(ColumnFile),
}

/// One table or several, in the JSON schema.
pub(crate) struct PublishedFile;

impl JsonSchema for PublishedFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "published_tables".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<TableFile>();
        json_schema!({ "anyOf": [table, { "type": "array", "items": table }] })
    }
}
