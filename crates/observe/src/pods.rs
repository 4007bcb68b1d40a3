//! Kubernetes pods by name: which UIDs they have on this node, from the directories that the
//! kubelet makes for their logs. It works without the API server and without rights there.

use std::fs;
use std::io;
use std::path::Path;

/// Where the kubelet has them, one a pod: `NAMESPACE_NAME_UID`.
pub const LOGS: &str = "/var/log/pods";

/// Length of a UID: 32 hexadecimal digits, with four hyphens unless it is of a static pod.
const UID_LEN: [usize; 2] = [32, 36];

/// The UIDs of the pods that `pod` names: `NAME`, `NAMESPACE/NAME`, or a UID itself. Directories of
/// pods that are gone stay for a while, so there may be more than run.
///
/// # Errors
/// The directory of logs cannot be read. A UID needs none.
pub fn uids(logs: &Path, pod: &str) -> io::Result<Vec<String>> {
    if is_uid(pod) {
        return Ok(vec![pod.to_ascii_lowercase()]);
    }
    let (namespace, name) = pod.split_once('/').map_or((None, pod), |(space, name)| (Some(space), name));
    let mut uids = Vec::new();
    for entry in fs::read_dir(logs)? {
        let entry = entry?.file_name();
        // No part of it can have an underscore.
        let parts: Vec<&str> = entry.to_str().unwrap_or_default().split('_').collect();
        if let [of_space, of_name, uid] = parts[..]
            && of_name == name
            && namespace.is_none_or(|namespace| namespace == of_space)
            && is_uid(uid)
        {
            uids.push(uid.to_ascii_lowercase());
        }
    }
    Ok(uids)
}

fn is_uid(text: &str) -> bool {
    UID_LEN.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// The UID in the name of a pod's control group: `kubepods-burstable-pod1f_2e.slice` where systemd
/// makes them (it has `_` for `-`), else `pod1f-2e`.
pub(crate) fn uid_of_group(name: &str) -> Option<String> {
    let uid = match name.strip_suffix(".slice") {
        Some(name) => name.rsplit_once("-pod")?.1.replace('_', "-"),
        None => name.strip_prefix("pod")?.to_owned(),
    };
    is_uid(&uid).then(|| uid.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UIDS: [&str; 3] = [
        "0f1e2d3c-aaaa-bbbb-cccc-000000000001",
        "0f1e2d3c-aaaa-bbbb-cccc-000000000002",
        "d41d8cd98f00b204e9800998ecf8427e",
    ];

    #[test]
    fn a_pod_is_found_by_name_with_its_namespace_or_without() {
        let logs = tempfile::tempdir().unwrap();
        for name in [
            format!("shop_web-0_{}", UIDS[0]),
            format!("test_web-0_{}", UIDS[1]),
            format!("kube-system_etcd-node1_{}", UIDS[2]),
            "shop_web-0_x".to_owned(),
            "shop_web-0".to_owned(),
        ] {
            fs::create_dir(logs.path().join(name)).unwrap();
        }
        let found = |pod: &str| {
            let mut uids = uids(logs.path(), pod).unwrap();
            uids.sort();
            uids
        };
        assert_eq!(found("web-0"), UIDS[..2]);
        assert_eq!(found("shop/web-0"), UIDS[..1]);
        assert_eq!(found("etcd-node1"), UIDS[2..]);
        for none in ["web", "", "/", "shop/", "../shop_web-0", "other/web-0"] {
            assert!(found(none).is_empty(), "{none:?}");
        }
        assert!(uids(&logs.path().join("none"), "web-0").is_err());
        assert_eq!(uids(Path::new("/none"), &UIDS[0].to_uppercase()).unwrap(), UIDS[..1]);
    }

    #[test]
    fn a_group_has_its_pods_uid_whoever_made_it() {
        for (name, uid) in [
            ("kubepods-burstable-pod0f1e2d3c_aaaa_bbbb_cccc_000000000001.slice", Some(UIDS[0])),
            ("kubelet-kubepods-pod0f1e2d3c_aaaa_bbbb_cccc_000000000001.slice", Some(UIDS[0])),
            ("pod0f1e2d3c-aaaa-bbbb-cccc-000000000001", Some(UIDS[0])),
            ("kubepods-podd41d8cd98f00b204e9800998ecf8427e.slice", Some(UIDS[2])),
            ("kubepods-burstable.slice", None),
            ("podman.service", None),
            ("pod", None),
        ] {
            assert_eq!(uid_of_group(name).as_deref(), uid, "{name}");
        }
    }
}
