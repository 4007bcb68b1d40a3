//! Programs from Maven Central, in the versions of `sources/others/pom.xml`.

use super::super::needs::{JAVAC, MVN};
use super::super::program::{Class, PLAIN, Program, Ready, Server, Watch};
use super::packages::FROM_MAVEN;

const FETCH: &str = "test -e {inputs}/jars/done || (mvn -q -B -f {sources}/others/pom.xml \
     dependency:copy-dependencies -DoutputDirectory={inputs}/jars; touch {inputs}/jars/done)";

/// A class of 500 methods, badly laid out.
const JAVA: &str = "(echo 'class Big {'; i=0; while [ $i -lt 500 ]; do echo \"int f$i(int a,String b){if(a>$i){return \
     b.length()+f$i(a-1,b+\\\"x\\\");}else{for(int i=0;i<a;i++){a+=i*$i;}return a;}}\"; i=$((i + 1)); done; \
     echo '}') > Big.java";

const H2_SERVER: Server = Server {
    command: &[
        "java",
        "-cp",
        "{inputs}/maven/h2-2.2.224.jar",
        "org.h2.tools.Server",
        "-tcp",
        "-tcpPort",
        "{port}",
        "-baseDir",
        "{dir}",
        "-ifNotExists",
    ],
    ready: Ready::Port,
};

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "google-java-format",
        needs: &[&JAVAC, &MVN],
        prepare: &[FETCH, JAVA],
        watch: Watch::Run(&[
            "java",
            "--add-exports=jdk.compiler/com.sun.tools.javac.api=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.code=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.parser=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.tree=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.util=ALL-UNNAMED",
            "-cp",
            "{inputs}/jars/*",
            "com.google.googlejavaformat.java.Main",
            "{dir}/Big.java",
        ]),
        class: &[Class::Cpu],
        why: "parses and lays out one file, beside the threads that compile it",
        ..PLAIN
    },
    Program {
        name: "derby-ij",
        needs: &[&JAVAC, &MVN],
        prepare: &[
            FETCH,
            "rm -rf db; (echo \"connect 'jdbc:derby:db;create=true';\"; \
             echo 'create table t (id int primary key, name varchar(20));'; i=0; while [ $i -lt 6000 ]; do \
             echo \"insert into t values ($i, 'name $i');\"; i=$((i + 1)); done; echo 'exit;') > inserts.sql",
        ],
        watch: Watch::Run(&[
            "java",
            "-cp",
            "{inputs}/jars/*",
            "org.apache.derby.tools.ij",
            "{dir}/inserts.sql",
        ]),
        class: &[Class::Io, Class::Mixed, Class::Cpu],
        why: "each row is a transaction that waits for Derby's log; until it is compiled, Java takes as long",
        ..PLAIN
    },
    Program {
        name: "h2-over-tcp",
        needs: &[&JAVAC, &MVN],
        prepare: &[
            FROM_MAVEN,
            "(echo 'create table t (id int primary key, name varchar(20));'; i=0; while [ $i -lt 10000 ]; do \
             echo \"insert into t values ($i, 'name $i');\"; i=$((i + 1)); done) > inserts.sql",
        ],
        servers: &[H2_SERVER],
        watch: Watch::Run(&[
            "java",
            "-cp",
            "{inputs}/maven/h2-2.2.224.jar",
            "org.h2.tools.RunScript",
            "-url",
            "jdbc:h2:tcp://127.0.0.1:{port}/mem:truth",
            "-script",
            "{dir}/inserts.sql",
        ]),
        class: &[Class::Io, Class::Mixed, Class::Cpu],
        why: "two questions to the server for each row, one after the other, between which the client computes \
              about as long as the server",
        ..PLAIN
    },
];
