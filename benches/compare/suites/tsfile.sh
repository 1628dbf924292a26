#!/bin/sh
# Fetches the Java library and compiles its driver; without Java or the repository the column stays empty.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=$here/.java/tsfile
[ ! -e "$work/classes/TsFileBench.class" ] || exit 0
if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
    echo "skipped: no javac and mvn here; the Java library is not measured" >&2
    exit 0
fi
mkdir -p "$work"
mvn --quiet --batch-mode --file "$here/../../interop/tsfile/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$work/jars" >"$work/mvn.log" 2>&1 || {
    echo "skipped: the Java library cannot be fetched through mvn, see $work/mvn.log" >&2
    exit 0
}
javac -cp "$work/jars/*" -d "$work/classes" "$here/java/TsFileBench.java"
