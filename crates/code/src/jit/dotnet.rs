//! Names of .NET's methods as people write them.
//!
//! Its perf map has whole signatures: what is returned, the assembly, the namespace, what is
//! passed, and how the code was made. They begin alike, so that a table of them told nothing:
//! `instance void [System.Text.RegularExpressions]
//! System.Text.RegularExpressions.RegexInterpreter::Go()[OptimizedTier1]`.

/// `System.Text.RegularExpressions.RegexInterpreter::Go` of such a signature without what surrounds
/// it; none of a name that is no such signature.
pub(super) fn method(signature: &str) -> Option<&str> {
    let name = &signature[assembly_end(signature)?..];
    let (class, method) = name.split_once("::")?;
    let end = method.find('(')?;
    (!class.is_empty() && end > 0).then(|| &name[..class.len() + "::".len() + end])
}

/// Where ` [Assembly] ` ends. Arrays have brackets too, with nothing in them.
fn assembly_end(signature: &str) -> Option<usize> {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    signature.match_indices("] ").find_map(|(at, end)| {
        let (_, assembly) = signature[..at].rsplit_once(" [")?;
        (!assembly.is_empty() && assembly.chars().all(of_name)).then_some(at + end.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_called_by_its_class_and_name() {
        for (signature, expected) in [
            ("uint32 [work] Work::Compute(uint32,int32)[Optimized]", "Work::Compute"),
            (
                "instance void [System.Text.RegularExpressions] System.Text.RegularExpressions.RegexInterpreter::Go()[OptimizedTier1]",
                "System.Text.RegularExpressions.RegexInterpreter::Go",
            ),
            (
                "instance uint8[] [System.Private.CoreLib] System.IO.File::ReadAllBytes(string)[PreJIT]",
                "System.IO.File::ReadAllBytes",
            ),
            (
                "instance void [work] Work+<Main>c__AnonStorey1::<>m__0(object)[QuickJitted]",
                "Work+<Main>c__AnonStorey1::<>m__0",
            ),
            (
                "instance class [System.Private.CoreLib]System.String [app] A.B`1[System.__Canon]::.ctor(!0)[Tier0]",
                "A.B`1[System.__Canon]::.ctor",
            ),
        ] {
            assert_eq!(method(signature), Some(expected));
        }
    }

    #[test]
    fn other_names_stay() {
        for name in [
            "LazyCompile:~f a.js:1",
            "stub<639> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
            "Ljava/lang/String;::hashCode",
            "a [b] c",
            "[] ::(",
            "x [y] ::z()",
            "x [y] A::()",
            "",
        ] {
            assert_eq!(method(name), None, "{name}");
        }
    }
}
