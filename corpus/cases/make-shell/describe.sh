# Says which version this is, as "git describe" would do it.
tag=$(sed -n 's/^version=//p' release)
build=$(cut -d= -f2 release | tail -n 1)
echo "$tag-$build"
