//! Typed access to the maps of a loaded object.

use super::refusal::BpfRefusal;
use super::wire::Setting;
use aya::maps::{Array, HashMap, Map, MapData, RingBuf};
use aya::{Ebpf, Pod};
use sys::shared::SharedWords;

/// A ring buffer of the loaded object.
pub(super) fn ring(ebpf: &mut Ebpf, name: &'static str) -> Result<RingBuf<MapData>, BpfRefusal> {
    let map = ebpf.take_map(name).ok_or(BpfRefusal::Missing(name))?;
    Ok(RingBuf::try_from(map).map_err(|error| Box::new(error.into()))?)
}

/// An array of the loaded object, as memory shared with the kernel.
pub(crate) fn map(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<SharedWords, BpfRefusal> {
    let Some(Map::Array(map)) = ebpf.map(name) else { return Err(BpfRefusal::Missing(name)) };
    SharedWords::map(map.fd(), words).map_err(|error| BpfRefusal::Map { name, error })
}

/// What a setting of the kernel half is; none where that cannot be read.
pub(super) fn setting(ebpf: &Ebpf, of: Setting) -> Option<u64> {
    Array::<_, u64>::try_from(ebpf.map("settings")?).ok()?.get(&(of as u32), 0).ok()
}

/// Changes a setting of the kernel half, where it can be.
pub(super) fn set(ebpf: &mut Ebpf, of: Setting, value: u64) -> Option<()> {
    Array::<_, u64>::try_from(ebpf.map_mut("settings")?).ok()?.set(of as u32, value, 0).ok()
}

/// Empties a map of counts: what was counted so far is not part of a window that begins. Where an
/// entry stays, its counts are a little too high.
pub(super) fn clear<K: Pod, V: Pod>(ebpf: &mut Ebpf, name: &str) {
    let Some(Ok(mut map)) = ebpf.map_mut(name).map(HashMap::<_, K, V>::try_from) else { return };
    let keys: Vec<K> = map.keys().filter_map(Result::ok).collect();
    for key in keys {
        let _ = map.remove(&key);
    }
}
