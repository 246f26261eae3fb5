#!/bin/sh
# Stands in for Alpine's package manager: the same words and lines, packages that are one script each.
say() { echo "$*" >&2; }
repositories=/etc/apk/repositories
index=/var/cache/apk/INDEX
installed=/lib/apk/db/installed
command=$1; shift
words=
for word; do case $word in --no-progress|--installed|-v|--) ;; *) words="$words $word" ;; esac; done
from() { head -n 1 $repositories; }
fetch() { wget -q -O "$2" "$(from)/x86_64/$1" 2>/dev/null || { say "ERROR: fetching $(from)/x86_64/$1: unable"; rm -f "$2"; return 1; }; }
case $command in
update)
  fetch INDEX $index || { say "1 unavailable, 0 stale; 0 distinct packages available"; exit 1; }
  echo "OK: $(wc -l < $index) distinct packages available" ;;
list)
  touch $installed
  while read -r name version; do echo "$name-$version x86_64 {$name} (MIT) [installed]"; done < $installed ;;
search)
  grep -- "$(echo $words)" $index ;;
add)
  # As the real one: everything is looked for before anything is done.
  for name in $words; do
    grep -q "^$name-[0-9]" $index || { say "ERROR: unable to select packages:"; say "  $name (no such package):"; exit 1; }
  done
  for name in $words; do
    fetch "$name" "/usr/bin/.apk.$name" || exit 1
    # Files of others, modes and roots are what a package manager deals in.
    chown 33:33 "/usr/bin/.apk.$name" || { say "ERROR: $name: failed to set ownership"; exit 1; }
    chmod 755 "/usr/bin/.apk.$name" && mv "/usr/bin/.apk.$name" "/usr/bin/$name"
    chroot . /bin/sh -c true || { say "ERROR: $name.post-install: script exited with error 127"; exit 1; }
    line=$(grep "^$name-[0-9]" $index); line=${line%% - *}
    echo "$name ${line#$name-}" >> $installed
    echo "(1/1) Installing $name (${line#$name-})"
  done ;;
del)
  for name in $words; do
    grep -q "^$name " $installed || { say "World updated, but the following packages are not removed"; exit 1; }
    rm -f "/usr/bin/$name"; grep -v "^$name " $installed > $installed.new; mv $installed.new $installed
  done ;;
*) say "ERROR: '$command' is not an apk command"; exit 1 ;;
esac
