//! Proofs of the interface: throwaway versions of algorithms that ask for something unusual of a host. They compile
//! against the public names only and run in the small host; they are in no registry and claim no faithfulness.

mod bbr3;
mod ledbat;
mod nice;
mod quinn;
mod rapid;
