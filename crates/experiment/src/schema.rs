//! The JSON schema of the file, for editors and forms.

use serde_json::Value as Json;

/// The JSON schema (2020-12) of an experiment file as users write it, with the documentation of every key.
pub fn schema() -> Json {
    let schema =
        schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<crate::raw::File>();
    let mut json = schema.to_value();
    json["title"] = "Sojourn experiment".into();
    json
}
