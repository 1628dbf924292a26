#!/bin/sh
# Live round trips with the original TsFile libraries: the PyPI package and Java 2.1.0 for version 4, Java 1.0.0 for
# version 3, IoTDB 0.9.3 for version 000001. Makes its own environment under target/; what cannot be fetched is
# skipped with a message. Usage: run.sh [--quick | --cases N] [--seed S]; --quick takes less than a minute once the
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
set -- --tess "$TESS" --work "$work/files" "$@"

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

# library GROUP VERSION SOURCE…: fetches one release and compiles the drivers against it; 0 when it is there.
library() {
    group=$1 version=$2
    shift 2
    jars=$work/jars-$version
    if [ ! -e "$jars/tsfile-$version.jar" ]; then
        mvn --quiet --batch-mode --file "$here/pom.xml" dependency:copy-dependencies \
            -Dlibrary.group="$group" -Dlibrary.version="$version" \
            -DoutputDirectory="$jars" >"$work/mvn-$version.log" 2>&1 || true
    fi
    if [ ! -e "$jars/tsfile-$version.jar" ]; then
        echo "skipped: $group:tsfile:$version cannot be fetched through mvn, see $work/mvn-$version.log"
        return 1
    fi
    mkdir -p "$work/classes-$version"
    (cd "$here" && javac -cp "$jars/*" -d "$work/classes-$version" "$@")
}

if command -v javac >/dev/null && command -v mvn >/dev/null; then
    if library org.apache.iotdb 0.9.3 Points.java; then
        set -- "$@" --java "$work/jars-0.9.3/*:$work/classes-0.9.3"
    fi
    if library org.apache.tsfile 1.0.0 Series.java Rows.java; then
        set -- "$@" --java3 "$work/jars-1.0.0/*:$work/classes-1.0.0"
    fi
    if library org.apache.tsfile 2.1.0 Series.java Rows.java Tables.java; then
        set -- "$@" --java4 "$work/jars-2.1.0/*:$work/classes-2.1.0"
    fi
else
    echo "skipped: no javac and mvn here; the Java libraries are not tested"
fi

exec "$python" "$here/suite.py" "$@"
