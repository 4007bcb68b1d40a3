# 80 libraries, each in its own folder, and a program with all folders in its RPATH.
set -e
n=80 libs= path=
i=1
while [ $i -le $n ]; do
    mkdir -p store/p$i/lib
    echo "int f$i(void) { return $i; }" > x.c
    cc -shared -fPIC -o store/p$i/lib/libq$i.so x.c
    libs="$libs -Lstore/p$i/lib -lq$i" path="$path:\$ORIGIN/store/p$i/lib"
    i=$((i + 1))
done
{
    i=1; while [ $i -le $n ]; do echo "int f$i(void);"; i=$((i + 1)); done
    echo "int main(void) { return (0"
    i=1; while [ $i -le $n ]; do echo "+ f$i()"; i=$((i + 1)); done
    echo ") < 0; }"
} > app.c
cc -o app app.c $libs -Wl,--disable-new-dtags "-Wl,-rpath,${path#:}"
mkdir -p store/all
cp store/p*/lib/*.so store/all/
cc -o app-flat app.c $libs -Wl,--disable-new-dtags '-Wl,-rpath,$ORIGIN/store/all'
