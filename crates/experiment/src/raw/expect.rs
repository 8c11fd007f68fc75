//! `[[expect]]` as it is written.

use super::Opt;
use crate::claim::Over;
use crate::condition::Condition;
use crate::metric::Metric;
use crate::quantity::{Q, Word};
use crate::tree::{Any, At};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[[expect]]`: a claim.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as {that = \"flow.a.share\", is = \">= 0.25\"}")]
#[schemars(rename = "expect")]
pub(crate) struct ExpectFile {
    /// What it says, in words. Default: the two keys below.
    #[schemars(extend("examples" = ["HLDG keeps a quarter"]))]
    pub name: Option<String>,
    /// The figure: a path into the summary. Needed.
    #[schemars(extend("examples" = ["flow.a.share", "link.bottleneck.queue_ms.mean"]))]
    pub that: At<Q<Metric>>,
    /// The condition. Needed.
    #[schemars(extend("examples" = [">= 0.25", "97.8 % ± 2 points", "between 1 and 3", "< 0.5 * flow.b.share"]))]
    pub is: At<Q<Condition>>,
    /// Repetitions: their mean, their median, or each of them must fulfil it.
    #[schemars(extend("default" = "mean"))]
    pub over: Opt<Word<Over>>,
    /// Only for the cases of a sweep with these values; a list allows several.
    #[schemars(extend("examples" = [{"path.rtt": "40 ms"}, {"path.rtt": ["10 ms", "40 ms"]}]))]
    pub when: Option<At<WhenFile>>,
    /// Figures on the right side of `is` are those of the case with these values instead, so that cases of a sweep are
    /// compared. One case must fit; where a zip has several, it is the one that has all else in common.
    #[schemars(extend("examples" = [{"flow.a.cc": "cdg"}]))]
    pub against: Option<At<WhenFile>>,
    /// Swept keys: cases that differ in these alone count as repetitions of one.
    #[schemars(extend("examples" = [["path.rtt"]]))]
    pub pool: Option<At<Vec<At<String>>>>,
}

/// Swept keys and the value, or the list of values, that they must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WhenFile(pub Any);

impl JsonSchema for WhenFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "when".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": true })
    }
}
