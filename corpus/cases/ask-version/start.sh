# Starts three parts of a server, each when the one before is ready.
# Java 18 and later need an option.
start() {
    version=$JAVA_MAJOR
    if [ -z "$version" ]; then
        version=$(java -version 2>&1 | grep version | cut -d '"' -f 2 | cut -d . -f 1)
    fi
    set -- -Dpart="$1" -cp . Part "$1"
    if [ "$version" -ge 18 ]; then
        set -- -Dfile.encoding=COMPAT "$@"
    fi
    java -XX:TieredStopAtLevel=1 "$@"
}
for part in gateway catalog jobs; do
    start $part
done
