#!/bin/sh
# Live round trips with the original TsFile libraries: the PyPI package and Java 2.1.0 for version 4, Java 1.0.0 for
# version 3, IoTDB 0.9.3 for version 000001; for deletions and resource files the classes of IoTDB 0.9.3, 1.2.2 and
# 2.0.1. Makes its own environment under target/; what cannot be fetched is skipped with a message. Usage: run.sh [--quick | --cases N] [--seed S]; --quick takes less than a minute once the
# libraries are there. TESS names a binary to test instead of building one; the one that is built has no SQL, which is not tested here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$here/target
mkdir -p "$work"

if [ -z "${TESS:-}" ]; then
    (cd "$root" && cargo build --release --quiet -p tess --no-default-features)
    TESS=${CARGO_TARGET_DIR:-$root/target}/release/tess
fi
options=$*
set -- --tess "$TESS" --work "$work/files" "$@"
old="" tree="" table=""

python=$work/venv/bin/python
[ -x "$python" ] || python3 -m venv "$work/venv"
# Isolated (-I): a folder of the same name where the script is called would pass for the package.
if ! "$python" -I -c 'import pyarrow' 2>/dev/null; then
    "$python" -m pip install --quiet pyarrow || {
        echo "skipped: pyarrow cannot be fetched from the package index"
        exit 0
    }
fi
if ! "$python" -I -c 'import tsfile' 2>/dev/null; then
    "$python" -m pip install --quiet tsfile==2.5.0 || {
        echo "skipped: the tsfile package cannot be fetched"
        set -- "$@" --no-package
    }
fi

# library GROUP ARTIFACT VERSION NAME SOURCE…: fetches one release and compiles the drivers against it; 0 when it is there.
library() {
    group=$1 artifact=$2 version=$3 name=$4
    shift 4
    jars=$work/jars-$name
    if [ ! -e "$jars/$artifact-$version.jar" ]; then
        mvn --quiet --batch-mode --file "$here/pom.xml" dependency:copy-dependencies \
            -Dlibrary.group="$group" -Dlibrary.artifact="$artifact" -Dlibrary.version="$version" \
            -DoutputDirectory="$jars" >"$work/mvn-$name.log" 2>&1 || true
    fi
    if [ ! -e "$jars/$artifact-$version.jar" ]; then
        echo "skipped: $group:$artifact:$version cannot be fetched through mvn, see $work/mvn-$name.log"
        return 1
    fi
    mkdir -p "$work/classes-$name"
    (cd "$here" && javac -cp "$jars/*" -d "$work/classes-$name" "$@")
}

if command -v javac >/dev/null && command -v mvn >/dev/null; then
    if library org.apache.iotdb tsfile 0.9.3 0.9.3 Points.java; then
        set -- "$@" --java "$work/jars-0.9.3/*:$work/classes-0.9.3"
    fi
    if library org.apache.tsfile tsfile 1.0.0 1.0.0 Series.java Rows.java; then
        set -- "$@" --java3 "$work/jars-1.0.0/*:$work/classes-1.0.0"
    fi
    if library org.apache.tsfile tsfile 2.1.0 2.1.0 Series.java Rows.java Tables.java; then
        set -- "$@" --java4 "$work/jars-2.1.0/*:$work/classes-2.1.0"
    fi
    server="library org.apache.iotdb iotdb-server"
    if $server 0.9.3 server-0.9.3 DeletionsOld.java; then old=server-0.9.3; fi
    if $server 1.2.2 server-1.2.2 DeletionsTree.java; then tree=server-1.2.2; fi
    if $server 2.0.1-beta server-2.0.1 Deletions.java; then table=server-2.0.1; fi
else
    echo "skipped: no javac and mvn here; the Java libraries are not tested"
fi

failed=0
"$python" "$here/suite.py" "$@" || failed=1

# The same options; of the class paths only those of the database.
set -- --tess "$TESS" --work "$work/deletions" $options
for pair in "--old $old" "--tree $tree" "--table $table"; do
    name=${pair#* }
    [ -z "$name" ] || set -- "$@" "${pair% *}" "$work/jars-$name/*:$work/classes-$name"
done
"$python" "$here/deletions.py" "$@" || failed=1
exit $failed
