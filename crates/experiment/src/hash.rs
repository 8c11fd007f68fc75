//! Names for experiments and cases that stay the same: 16 hexadecimal digits of their canonical text.

use crate::quantity::{Q, SpecOf, Version};
use crate::raw::{File, Opt, RunFile};
use crate::source::Place;
use crate::tree::{Any, At};

/// The experiment as TOML: keys in a fixed order, values with their units spelled one way.
pub(crate) fn canonical(file: &File) -> String {
    // Every value is text, a number, a truth value, a list or a table: TOML has them all.
    toml::to_string(file).unwrap_or_else(|e| unreachable!("an experiment is always valid TOML: {e}"))
}

/// What a hash is taken of: settings in parentheses and swept values are spelled one way, too, the format is there though
/// it was not written, and a `[run]` without keys is left out. Only for hashing. Do not run this text: values are resolved
/// from the text as written.
pub(crate) fn text(mut file: File) -> String {
    file.format = Some(At { value: Q(Version::OURS), place: Place::default() });
    if let Some(path) = &mut file.path {
        spell(&mut path.value.queue);
        spell(&mut path.value.up_queue);
        spell(&mut path.value.clock);
    }
    for link in &mut file.link {
        spell(&mut link.value.queue);
        spell(&mut link.value.clock);
    }
    for flow in &mut file.flow {
        spell(&mut flow.value.cc);
        spell(&mut flow.value.traffic);
    }
    if let Some(sweep) = &mut file.sweep {
        spell_all(&mut sweep.value);
    }
    file.run = file.run.filter(|run| run.value != RunFile::default());
    canonical(&file)
}

fn spell<K>(setting: &mut Opt<SpecOf<K>>) {
    if let Some(at) = setting
        && let Ok(spec) = params::one_spelling(&at.value.0.0.to_string()).parse()
    {
        at.value.0.0 = spec;
    }
}

fn spell_all(values: &mut Any) {
    match values {
        Any::Text(text) => *text = params::one_spelling(text),
        Any::List(list) => list.iter_mut().for_each(|at| spell_all(&mut at.value)),
        Any::Table(table) => table.iter_mut().for_each(|(_, at)| spell_all(&mut at.value)),
        _ => {}
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// FNV-1a with SplitMix64's finaliser: FNV alone spreads short differences badly over the high digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", units::avalanche(fnv(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_gives_its_published_values() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
