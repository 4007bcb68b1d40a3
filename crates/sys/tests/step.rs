//! Exact counts of programs with known counts, and that stepping does not change their behaviour.

use dwell_sys::spawn::{Command, HeldProgram};
use dwell_sys::step::{FunctionRanges, Limits, Scope, StepCounts, StopReason, count};
use model::recording::Ending;
use object::{Object, ObjectSection, ObjectSymbol};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A C program, compiled, in a temporary directory.
struct Program {
    dir: tempfile::TempDir,
    path: PathBuf,
    one_cpu: bool,
}

/// Keeps this thread, and what it starts, on one CPU.
struct OneCpu(CpuSet);

impl OneCpu {
    fn new() -> Self {
        let before = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap());
        sched_setaffinity(None, &one).unwrap();
        Self(before)
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        sched_setaffinity(None, &self.0).unwrap();
    }
}

impl Program {
    fn new(source: &str) -> Self {
        Self::with(source, &["-O1", "-pthread"])
    }

    /// For counts of the whole program: the loader alone would be a hundred thousand steps.
    fn fixed(source: &str) -> Self {
        Self::with(source, &["-O1", "-pthread", "-static"])
    }

    fn with(source: &str, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("program");
        fs::write(dir.path().join("program.c"), source).unwrap();
        let status = std::process::Command::new("cc")
            .args(options)
            .arg("-o")
            .arg(&path)
            .arg(dir.path().join("program.c"))
            .status();
        assert!(status.unwrap().success());
        Program { dir, path, one_cpu: false }
    }

    /// For programs of one thread and many steps. At each step the program and its tracer take
    /// turns; on two CPUs, each time one of them wakes an idle CPU, which takes much longer than
    /// the step.
    fn on_one_cpu(self) -> Self {
        Self { one_cpu: true, ..self }
    }

    fn counted(&self, scope: &Scope, limits: Limits, args: &[&str]) -> StepCounts {
        let command = Command {
            program: self.path.clone().into(),
            args: args.iter().map(Into::into).collect(),
            user: None,
        };
        let _one_cpu = self.one_cpu.then(OneCpu::new);
        count(HeldProgram::spawn(&command).unwrap(), scope, limits, None).unwrap()
    }

    fn function(&self, name: &str) -> FunctionRanges {
        function(&self.path, name)
    }

    /// Executions of a function's instructions, by their offsets from its beginning.
    fn of(&self, name: &str) -> (BTreeMap<u64, u64>, StepCounts) {
        let code = self.function(name);
        let counted = self.counted(&Scope::Function(code.clone()), Limits::default(), &[]);
        (executions(&counted, &code), counted)
    }
}

fn function(file: &Path, name: &str) -> FunctionRanges {
    let data = fs::read(file).unwrap();
    let file_of = object::File::parse(&*data).unwrap();
    let mut symbols = file_of.symbols().chain(file_of.dynamic_symbols());
    let symbol = symbols.find(|symbol| symbol.name() == Ok(name)).unwrap();
    let section = file_of.section_by_index(symbol.section_index().unwrap()).unwrap();
    let entry = symbol.address() - section.address() + section.file_range().unwrap().0;
    FunctionRanges {
        file: file.to_owned(),
        entry,
        parts: std::iter::once(entry..entry + symbol.size()).collect(),
    }
}

fn executions(counted: &StepCounts, code: &FunctionRanges) -> BTreeMap<u64, u64> {
    let none = BTreeMap::new();
    let module = counted.modules.get(code.file.to_str().unwrap()).unwrap_or(&none);
    let inside = module.iter().filter(|(offset, _)| code.parts[0].contains(offset));
    inside.map(|(offset, executions)| (offset - code.entry, *executions)).collect()
}

/// How many of a function's instructions were executed this often.
fn spread(executions: &BTreeMap<u64, u64>) -> BTreeMap<u64, usize> {
    executions.values().fold(BTreeMap::new(), |mut spread, executions| {
        *spread.entry(*executions).or_default() += 1;
        spread
    })
}

const LOOP: &str = "
    volatile long sink;
    __attribute__((noinline)) void called(int i) { sink += i; }
    __attribute__((noinline)) int loop(int n) {
        int third = 0;
        for (int i = 0; i < n; i++) { if (i % 3 == 0) { third++; sink += 3; } else sink ^= i; }
        for (int i = 0; i < 7; i++) called(i);
        return third;
    }
    __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    int main() { return loop(1000) == 334 && fib(10) == 55 ? 0 : 1; }";

#[test]
fn a_loop_with_known_trip_counts_is_counted_exactly() {
    let program = Program::new(LOOP).on_one_cpu();
    let (executions, counted) = program.of("loop");
    assert_eq!(counted.ending.unwrap(), Ending::Code(0));
    assert_eq!((counted.stopped, counted.found), (StopReason::Ended, true));
    let spread = spread(&executions);
    assert_eq!(spread.keys().copied().collect::<Vec<_>>(), [1, 7, 334, 666, 1000], "{executions:#?}");
    assert_eq!(executions[&0], 1);
    assert_eq!(executions.values().sum::<u64>(), counted.steps);
    assert_eq!(program.of("called").0.into_values().max(), Some(7));
}

#[test]
fn recursion_is_counted_at_every_depth() {
    let (executions, _) = Program::new(LOOP).on_one_cpu().of("fib");
    assert_eq!(executions[&0], 177);
    assert_eq!(spread(&executions).keys().copied().collect::<Vec<_>>(), [88, 177]);
}

#[test]
fn a_whole_program_gives_the_same_counts_as_its_functions() {
    let program = Program::fixed(LOOP).on_one_cpu();
    let whole = program.counted(&Scope::Program, Limits::default(), &[]);
    assert_eq!(whole.ending.unwrap(), Ending::Code(0));
    for name in ["loop", "fib", "called"] {
        let code = program.function(name);
        assert_eq!(executions(&whole, &code), program.of(name).0, "{name}");
    }
    assert_eq!(whole.modules.values().flat_map(BTreeMap::values).sum::<u64>(), whole.steps);
}

/// `_start` of this one is all there is: 2 + 100 * 2 + 3 instructions, and one string instruction
/// of 50 rounds.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_first_instruction_the_last_one_and_string_instructions_count_once() {
    let source = r#"
        char from[50], to[50];
        __asm__(".text\n.globl _start\n_start: nop\n mov $100, %ecx\n1: dec %ecx\n jnz 1b\n"
                "lea from(%rip), %rsi\n lea to(%rip), %rdi\n mov $50, %ecx\n rep movsb\n"
                "pushf\n pop %rax\n"
                "mov $60, %eax\n xor %edi, %edi\n syscall\n");"#;
    let program = Program::with(source, &["-nostdlib", "-static"]);
    let counted = program.counted(&Scope::Program, Limits::default(), &[]);
    assert_eq!(counted.ending.unwrap(), Ending::Code(0));
    assert_eq!(counted.steps, 2 + 200 + 3 + 1 + 2 + 3);
}

#[test]
fn what_a_function_calls_may_call_it_again() {
    let (executions, _) = Program::new(
        "int f(int n);
         __attribute__((noinline)) int g(int n) { volatile int there = n; return f(there - 1); }
         __attribute__((noinline)) int f(int n) { volatile int here = n; return n <= 0 ? here : g(n) + here; }
         int main() { return f(40) == 820 ? 0 : 1; }",
    )
    .of("f");
    assert_eq!(executions[&0], 41);
    assert_eq!(spread(&executions).keys().copied().collect::<Vec<_>>(), [1, 40, 41]);
}

#[test]
fn threads_that_meet_in_a_function_are_all_counted() {
    let (executions, counted) = Program::new(
        "#include <pthread.h>
         int total;
         __attribute__((noinline)) void meet(void) { __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST); }
         void *thread(void *unused) { for (int i = 0; i < 150; i++) meet(); return 0; }
         int main() {
             pthread_t threads[4];
             for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, thread, 0);
             for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
             return total == 600 ? 0 : 1;
         }",
    )
    .of("meet");
    assert_eq!(counted.ending.unwrap(), Ending::Code(0));
    assert_eq!(spread(&executions).keys().copied().collect::<Vec<_>>(), [600], "{executions:?}");
}

#[test]
fn handlers_of_signals_do_not_disturb_the_counts() {
    let source = "
        #include <signal.h>
        #include <unistd.h>
        #include <sys/time.h>
        volatile long sink; volatile int hits;
        void handler(int signal) { hits++; }
        __attribute__((noinline)) void work(void) { for (int i = 0; i < 2000; i++) sink += i; }
        int main() {
            signal(SIGALRM, handler);
            struct itimerval often = {{0, 2000}, {0, 2000}};
            setitimer(ITIMER_REAL, &often, 0);
            work();
            often = (struct itimerval){0};
            setitimer(ITIMER_REAL, &often, 0);
            raise(SIGALRM);
            return hits > 1 ? 0 : 1;
        }";
    let program = Program::fixed(source).on_one_cpu();
    let (executions, counted) = program.of("work");
    assert_eq!(counted.ending.unwrap(), Ending::Code(0), "handled while it was stepped");
    assert_eq!(spread(&executions).into_keys().collect::<Vec<_>>(), [1, 2000], "{executions:?}");
    let whole = program.counted(&Scope::Program, Limits::default(), &[]);
    assert_eq!(dwell_executions(&whole, &program, "work"), executions);
}

fn dwell_executions(counted: &StepCounts, program: &Program, name: &str) -> BTreeMap<u64, u64> {
    executions(counted, &program.function(name))
}

#[test]
fn children_run_uncounted_and_unharmed() {
    let program = Program::fixed(
        "#include <spawn.h>
         #include <stdlib.h>
         #include <sys/wait.h>
         #include <unistd.h>
         extern char **environ;
         volatile int sink;
         __attribute__((noinline)) void both(void) { sink++; }
         int main() {
             int status, sum = 0; pid_t pid;
             for (int i = 0; i < 10; i++) both();
             if ((pid = fork()) == 0) { for (int i = 0; i < 1000; i++) both(); _exit(3); }
             waitpid(pid, &status, 0); sum += WEXITSTATUS(status);
             char *words[] = {\"sh\", \"-c\", \"exit 4\", 0};
             if (posix_spawnp(&pid, \"sh\", 0, 0, words, environ)) return 1;
             waitpid(pid, &status, 0); sum += WEXITSTATUS(status);
             if ((pid = vfork()) == 0) { execlp(\"true\", \"true\", (char *)0); _exit(9); }
             waitpid(pid, &status, 0); sum += WEXITSTATUS(status);
             sum += WEXITSTATUS(system(\"exit 5\"));
             both();
             return sum;
         }",
    );
    let (executions, counted) = program.of("both");
    assert_eq!(counted.ending.unwrap(), Ending::Code(3 + 4 + 5));
    assert_eq!(spread(&executions).into_keys().collect::<Vec<_>>(), [11], "{executions:?}");
    assert_eq!(counted.children, 4);
    let whole = program.counted(&Scope::Program, Limits::default(), &[]);
    assert_eq!(whole.ending.unwrap(), Ending::Code(3 + 4 + 5));
    assert_eq!((dwell_executions(&whole, &program, "both"), whole.children), (executions, 4));
}

#[test]
fn a_program_that_executes_another_is_followed_into_it() {
    let program = Program::new(
        "#include <unistd.h>
         volatile int sink;
         __attribute__((noinline)) void again(void) { sink++; }
         int main(int count, char **words) {
             again();
             if (count < 3) execl(words[0], words[0], \"x\", count > 1 ? \"y\" : (char *)0, (char *)0);
             return 0;
         }",
    );
    let (executions, _) = program.of("again");
    assert_eq!(spread(&executions).into_keys().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_function_of_a_library_is_found_once_it_is_loaded() {
    let program = Program::new(
        "#include <stdlib.h>
         int main() { int sum = 0; for (int i = 0; i < 12; i++) sum += div(i, 3).rem; return sum; }",
    );
    // The path of the C library, found by this machine's loader; the tests themselves are static.
    let maps = std::process::Command::new("cat").arg("/proc/self/maps").output().unwrap().stdout;
    let maps = String::from_utf8(maps).unwrap();
    let mut files = maps.lines().filter_map(|line| line.split_whitespace().last());
    let libc = files.find(|path| path.contains("libc.so")).expect("cat has the shared C library");
    let code = function(Path::new(libc), "div");
    let counted = program.counted(&Scope::Function(code.clone()), Limits::default(), &[]);
    assert_eq!((counted.ending.unwrap(), counted.found), (Ending::Code(12), true));
    assert_eq!(executions(&counted, &code)[&0], 12);
}

#[test]
fn a_file_that_is_never_loaded_is_said_to_be_missing() {
    let code = FunctionRanges { file: "/nowhere/lib.so".into(), entry: 0x1000, parts: Vec::new() };
    let counted =
        Program::new("int main() { return 6; }").counted(&Scope::Function(code), Limits::default(), &[]);
    assert_eq!((counted.found, counted.steps, counted.ending.unwrap()), (false, 0, Ending::Code(6)));
}

#[test]
fn after_the_limit_of_steps_the_program_goes_on_as_if_nothing_were() {
    let source = "
        #include <pthread.h>
        int total;
        __attribute__((noinline)) void meet(void) { __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST); }
        void *thread(void *unused) { for (int i = 0; i < 100000; i++) meet(); return 0; }
        int main() {
            pthread_t threads[3];
            for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, thread, 0);
            for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
            return total == 300000 ? 0 : 1;
        }";
    let program = Program::new(source);
    let limits = Limits { steps: Some(200), time: None };
    // Often: whether a thread has just hit a breakpoint when counting ends is chance.
    let function = std::iter::repeat_n(Scope::Function(program.function("meet")), 20);
    for scope in function.chain([Scope::Program]) {
        let counted = program.counted(&scope, limits, &[]);
        assert_eq!(
            (counted.ending.unwrap(), counted.stopped),
            (Ending::Code(0), StopReason::Steps),
            "{scope:?}"
        );
        assert_eq!(counted.steps, 200);
    }
}

#[test]
fn after_the_limit_of_time_a_sleeping_program_is_let_go_too() {
    let program = Program::new(
        "#include <unistd.h>
         volatile int sink;
         __attribute__((noinline)) void nap(void) { sink++; usleep(400000); sink++; }
         int main() { for (int i = 0; i < 2; i++) nap(); return sink; }",
    );
    let limits = Limits { steps: None, time: Some(Duration::from_millis(200)) };
    for scope in [Scope::Function(program.function("nap")), Scope::Program] {
        let counted = program.counted(&scope, limits, &[]);
        assert_eq!(
            (counted.ending.unwrap(), counted.stopped),
            (Ending::Code(4), StopReason::Time),
            "{scope:?}"
        );
        assert!(counted.steps > 0);
    }
}

#[test]
fn a_program_that_is_killed_or_cannot_start_leaves_nothing() {
    // The loader's steps are among them.
    let program = Program::new("#include <signal.h>\nint main() { raise(SIGKILL); }").on_one_cpu();
    let counted = program.counted(&Scope::Program, Limits::default(), &[]);
    assert_eq!(counted.ending.unwrap(), Ending::Signal(9));
    let broken = program.dir.path().join("broken");
    fs::write(&broken, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let command = Command { program: broken.into(), args: Vec::new(), user: None };
    let error =
        count(HeldProgram::spawn(&command).unwrap(), &Scope::Program, Limits::default(), None).unwrap_err();
    assert!(error.to_string().contains("interpreter"), "{error}");
}

#[test]
fn the_end_of_threads_is_taken_also_while_one_waits_for_the_first() {
    // Of two signals at once the first ends all threads, while the tracer acts on the second.
    let program = Program::new(
        "#include <pthread.h>
         #include <signal.h>
         #include <stdlib.h>
         #include <unistd.h>
         volatile int sink;
         __attribute__((noinline)) void meet(void) { sink++; usleep(100); sink++; }
         void *thread(void *unused) { for (;;) meet(); return unused; }
         int main(int count, char **words) {
             pthread_t one;
             pid_t own = getpid();
             alarm(60);
             for (int i = 0; i < atoi(words[2]); i++) pthread_create(&one, 0, thread, 0);
             if (!fork()) {
                 usleep(atoi(words[1]));
                 kill(own, SIGHUP);
                 return kill(own, SIGTERM);
             }
             for (;;) usleep(1000);
         }",
    );
    let (_done, waits) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(120)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    });
    let meet = Scope::Function(program.function("meet"));
    for turn in 0..20 {
        let threads = if turn % 2 == 0 { "1" } else { "3" };
        let after_us = (3_000 + turn * 371).to_string();
        let counted = program.counted(&meet, Limits::default(), &[&after_us, threads]);
        let ending = counted.ending.unwrap();
        assert!([Ending::Signal(1), Ending::Signal(15)].contains(&ending), "{ending:?}");
    }
}

#[test]
fn a_trap_of_the_programs_own_stays_its_own() {
    let program = Program::fixed(
        "#include <signal.h>
         volatile int traps;
         void handler(int signal) { traps++; }
         __attribute__((noinline)) void work(void) { raise(SIGTRAP); traps += 10; }
         int main() { signal(SIGTRAP, handler); work(); return traps; }",
    )
    .on_one_cpu();
    let (executions, counted) = program.of("work");
    assert_eq!(counted.ending.unwrap(), Ending::Code(11));
    assert_eq!(spread(&executions).into_keys().collect::<Vec<_>>(), [1]);
    assert_eq!(program.counted(&Scope::Program, Limits::default(), &[]).ending.unwrap(), Ending::Code(11));
}

/// Children made by one thread while another executes the program again, which then waits for all
/// of them: it ends with 1 if one did not end by itself.
const FORK_AND_EXEC: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int sum;
__attribute__((noinline)) void counted(void) { sum += 1; }
static void *forks(void *unused) {
    for (;;)
        if (fork() == 0) {
            counted();
            _exit(0);
        }
    return unused;
}
int main(int count, char **words) {
    int left = atoi(words[1]), status, bad = 0;
    counted();
    while (wait(&status) > 0)
        bad |= status != 0;
    if (bad)
        return 1;
    if (left == 0)
        return 0;
    pthread_t thread;
    pthread_create(&thread, 0, forks, 0);
    usleep(3000);
    char next[2] = {'0' + left - 1, 0};
    execl("/proc/self/exe", words[0], next, (char *)0);
    return 2;
}
"#;

#[test]
fn children_whose_maker_is_executed_over_are_not_harmed() {
    let program = Program::new(FORK_AND_EXEC);
    let scope = Scope::Function(program.function("counted"));
    for _ in 0..3 {
        let counted = program.counted(&scope, Limits::default(), &["6"]);
        assert_eq!(counted.ending.unwrap(), Ending::Code(0));
    }
}

/// Forks in the counted function until another thread executes the program anew, a few times.
const EXEC_FROM_ANOTHER_THREAD: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char next[2];
static char **words;
static void *executes(void *unused) {
    usleep(2000);
    execl("/proc/self/exe", words[0], next, (char *)0);
    return unused;
}
__attribute__((noinline)) void counted(void) {
    for (;;) {
        if (fork() == 0)
            _exit(0);
        wait(0);
    }
}
int main(int count, char **given) {
    words = given;
    if (given[1][0] == '0')
        return 7;
    next[0] = given[1][0] - 1;
    pthread_t thread;
    pthread_create(&thread, 0, executes, 0);
    counted();
}
"#;

#[test]
fn a_thread_that_executes_the_program_while_another_is_stepped_is_not_harmed() {
    let program = Program::new(EXEC_FROM_ANOTHER_THREAD);
    let scope = Scope::Function(program.function("counted"));
    for _ in 0..4 {
        let counted = program.counted(&scope, Limits::default(), &["6"]);
        assert_eq!(counted.ending.unwrap(), Ending::Code(7));
    }
}
