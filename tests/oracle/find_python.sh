# Sourced: sets $python to an interpreter that has numpy, or exits with 77.
python=
for candidate in "${PYTHON:-}" python3 /usr/bin/python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import numpy' 2> /dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || { echo "no python3 with numpy (Debian: python3-numpy)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
