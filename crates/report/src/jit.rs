//! Code of a JIT that has no name, in words: what it is called, and the command that names it.

use model::recording::Runtime;
use model::run::UnnamedRow;
use model::wait::{FrameKind, StackFrame};

/// What such code is called in place of a function.
pub(crate) fn unnamed(runtime: Runtime) -> String {
    let made_by = match runtime {
        Runtime::Node => "Node.js",
        Runtime::V8 => "V8",
        Runtime::HotSpot => "Java",
        Runtime::DotNet => ".NET",
        Runtime::LuaJit => "LuaJIT",
        Runtime::PyPy => "PyPy",
        Runtime::Other => return "JIT code, not named".to_owned(),
    };
    format!("JIT code, not named ({made_by})")
}

/// A frame of a stack.
pub(crate) fn frame(frame: &StackFrame) -> String {
    match frame.kind {
        FrameKind::Unnamed(runtime) => unnamed(runtime),
        FrameKind::Function | FrameKind::Cut => frame.to_string(),
    }
}

/// What would name it. `lives`: the program was attached to, so it is not started by dwell;
/// `others_named`: other such code has names, so the runtime writes them down.
pub(crate) fn remedy(row: &UnnamedRow, lives: bool, others_named: bool) -> Option<String> {
    let start = if lives { "start it with " } else { "" };
    let of_java = "java -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit ...";
    Some(match (row.runtime, row.pids.as_slice()) {
        (Runtime::Node, _) => format!("{start}node --perf-basic-prof ..."),
        (Runtime::V8, _) => {
            "V8's option --perf-basic-prof (Chromium: --js-flags=, Deno: --v8-flags=)".to_owned()
        }
        (Runtime::HotSpot, [pid]) if lives => format!("dwell attach --jvm-names {pid} (JDK 17 or newer)"),
        (Runtime::HotSpot, _) if lives => "dwell attach --jvm-names ... (JDK 17 or newer)".to_owned(),
        (Runtime::HotSpot, _) => of_java.to_owned(),
        // Code that was compiled ahead of time is in no map.
        (Runtime::DotNet, _) if others_named => {
            format!(
                "{start}DOTNET_ReadyToRun=0 (before .NET 6: COMPlus_ReadyToRun=0) in its environment as well"
            )
        }
        (Runtime::DotNet, _) => format!(
            "{start}DOTNET_PerfMapEnabled=1 (before .NET 6: COMPlus_PerfMapEnabled=1) in its environment"
        ),
        (Runtime::LuaJit, _) => "a LuaJIT that was built with -DLUAJIT_USE_PERFTOOLS".to_owned(),
        (Runtime::PyPy | Runtime::Other, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_java_program_is_asked_where_it_lives_and_told_where_it_is_started() {
        let java = |pids: &[u32]| UnnamedRow { runtime: Runtime::HotSpot, pids: pids.to_vec() };
        let said = |row: &UnnamedRow, lives| remedy(row, lives, false).unwrap();
        assert!(said(&java(&[77]), true).starts_with("dwell attach --jvm-names 77"));
        assert!(said(&java(&[77, 78]), true).starts_with("dwell attach --jvm-names ..."));
        assert!(said(&java(&[77]), false).contains("-XX:+DumpPerfMapAtExit"));
        assert_eq!(remedy(&UnnamedRow { runtime: Runtime::Other, pids: vec![1] }, false, false), None);
    }

    #[test]
    fn code_that_no_map_of_dotnet_has_is_not_named_by_writing_one() {
        let row = UnnamedRow { runtime: Runtime::DotNet, pids: vec![1] };
        assert!(remedy(&row, false, false).unwrap().contains("COMPlus_PerfMapEnabled=1"));
        let more = remedy(&row, true, true).unwrap();
        assert!(more.contains("ReadyToRun=0") && !more.contains("PerfMap"), "{more}");
    }
}
