#!/bin/sh
# Writes docs/first-minutes.md: the first minutes with the released files on a Debian that has nothing but its
# essential packages, as root and as an ordinary user. Needs root, unshare and, without ROOT, debootstrap.
# Usage: bench/first-minutes.sh DIST [ROOT] > docs/first-minutes.md
#   DIST: what `cargo xtask dist` leaves; ROOT: a minimal Debian, made in a temporary directory by default.
set -eu
dist=$(realpath "$1")
root=${2:-}
if [ -z "$root" ]; then
	root=$(mktemp -d)
	# mktemp lets only root in, and an ordinary user is to work there too.
	chmod 755 "$root"
	trap 'rm -rf --one-file-system "$root"' EXIT
	debootstrap --variant=minbase bookworm "$root" > "$root.log" 2>&1
fi
packages=$(chroot "$root" dpkg-query -f '.\n' -W | wc -l)
rm -rf "$root/root/dist" && mkdir -p "$root/root/dist"
cp "$dist"/dwell-*-x86_64-linux.tar.gz "$dist"/dwell_*_amd64.deb "$dist/SHA256SUMS" "$root/root/dist"
chroot "$root" dpkg --purge dwell > /dev/null 2>&1 || true
rm -rf "$root/usr/local/bin/dwell" "$root"/home/* "$root"/root/*.dwell
chroot "$root" userdel ada > /dev/null 2>&1 || true
chroot "$root" useradd --create-home ada

# Prints each line of its input after a prompt, then runs it.
typing='while IFS= read -r line; do
	printf "%s %s\n" "$PROMPT" "$line"
	status=0
	timeout 120 sh -c "$line" < /dev/null 2>&1 || status=$?
	[ $status = 0 ] || echo "(exit status $status)"
done'

# Types the lines of its input in the root, as a user with this prompt.
types() { # prompt, user
	echo '```'
	unshare --mount --pid --fork --ipc --uts --kill-child chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
		LANG=C.UTF-8 TERM=dumb COLUMNS=80 PROMPT="$1" TYPING="$typing" WHO="$2" sh -c '
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tracefs none /sys/kernel/tracing
for directory in /tmp /run /dev/shm; do mount -t tmpfs -o mode=1777 none $directory; done
[ "$WHO" = root ] || become="setpriv --reuid $WHO --regid $WHO --init-groups"
HOME=$(getent passwd "$WHO" | cut -d: -f6)
export HOME
cd "$HOME"
exec $become sh -c "$TYPING"'
	echo '```'
	echo
}

cat << END
# The first minutes

This is what \`bench/first-minutes.sh\` printed on $(date -u +%F). It ran the released files for x86_64 on
a Debian with nothing but its $packages essential packages (debootstrap's minbase: no Python, no compiler,
no procps), in separate namespaces. Root typed the lines after \`#\`, an ordinary user those after
\`\$\`. Nothing was left out or changed.

## Root: unpack, look, run

END
types '#' root << 'END'
cd dist && sha256sum --check --ignore-missing SHA256SUMS
cd dist && tar -xzf dwell-*-x86_64-linux.tar.gz && install dwell-*-x86_64-linux/dwell /usr/local/bin/
dwell --version
dwell
dwell doctor
dwell run -- ls -lR /usr > /dev/null
dwell run -- sh -c 'for i in 1 2 3; do gzip -9 < /usr/bin/perl > /dev/null; sleep 0.1; done'
END
cat << END
## Root: a running program, a comparison, a machine

END
types '#' root << 'END'
perl -e 'while (1) { select undef, undef, undef, 0.01; $x++ for 1..9999 }' & sleep 0.3; dwell attach perl --for 2s; kill $!
dwell compare --pairs 10 'gzip -1 -c /usr/bin/perl' 'gzip -9 -c /usr/bin/perl'
dwell run -q --keep first.dwell -- find / -xdev -name '*.deb' > /dev/null; dwell show first.dwell
dwell ladder --quick
dwell wake --for 2s --deadline 1ms
dwell explain
END
cat << END
## Root: the Debian package

END
types '#' root << 'END'
rm /usr/local/bin/dwell && dpkg --install dist/dwell_*_amd64.deb
dwell --version; ls /usr/share/bash-completion/completions/dwell /usr/share/doc/dwell
dwell atach perl
dwell run --lines
END
cat << END
## An ordinary user

END
types '$' ada << 'END'
dwell doctor
dwell run -- sh -c 'for i in 1 2 3; do gzip -9 < /usr/bin/perl > /dev/null; sleep 0.1; done'
perl -e 'while (1) { select undef, undef, undef, 0.01; $x++ for 1..9999 }' & sleep 0.3; dwell attach perl --for 2s; kill $!
dwell compare --pairs 10 'gzip -1 -c /usr/bin/perl' 'gzip -9 -c /usr/bin/perl'
dwell wake --for 2s
END
