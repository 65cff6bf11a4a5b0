#!/bin/sh
# Installs into a staging folder and builds a program against it that knows nothing of the source
# tree: only pkg-config, the headers and the library.
#
#   external_program.sh BUILD_FOLDER PREFIX MAKE_TINY_MODEL
set -eu
build=$1
prefix=$2
make_tiny_model=$3
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

DESTDIR="$folder/stage" cmake --install "$build" >"$folder/install.log"
stage="$folder/stage$prefix"
for file in bin/nightjar include/nightjar/run.h share/man/man1/nightjar.1; do
    [ -f "$stage/$file" ] || {
        echo "not installed: $file"
        exit 1
    }
done

PKG_CONFIG_PATH=$(dirname "$(find "$stage" -name nightjar.pc)")
PKG_CONFIG_LIBDIR="$PKG_CONFIG_PATH:$(pkg-config --variable pc_path pkg-config)"
export PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
flags=$(pkg-config --define-variable=prefix="$stage" --cflags --libs nightjar)
sanitize=${NJ_SANITIZE:+-fsanitize=$NJ_SANITIZE}
cp "$here/external_program.c" "$folder/program.c"
cd "$folder"
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror $sanitize program.c $flags -o program

"$make_tiny_model" t5 model
cat >job.yaml <<'YAML'
nightjar: 1
name: outside
ids: [1, 2, 3]
sampling: {temperature: 0, max_tokens: 6}
YAML
./program model job.yaml
# The installed program finds the same run finished.
"$stage/bin/nightjar" run job.yaml --model model --out out 2>err
grep -q "nothing to do" err
