# Sourced by the other scripts: `environment EXTRA` makes .venv ready with jaxtorch[EXTRA], or reuses it,
# and puts it first on PATH. PYTHON=/path/to/python chooses the interpreter of a new .venv.

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "jaxtorch needs Python 3.11 to 3.14; name one with PYTHON=/path/to/python" >&2
    return 1
}

environment() {
    local extra=$1 python
    local sources=(pyproject.toml setup.py jaxtorch/_core/native/*.{h,inc,c,cpp})
    local installed=.venv/installed-$extra  # a copy of what was installed last: requirements, and the sources that are compiled
    if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
        python=$(find_python)
        rm -rf .venv
        "$python" -m venv .venv
    fi
    if ! cat "${sources[@]}" | cmp --silent - "$installed"; then
        if [ "$extra" = test ]; then
            # PyTorch first and pinned, so that pip settles on this build before it resolves anything else.
            .venv/bin/python -m pip install --quiet torch==2.13.0
        fi
        .venv/bin/python -m pip install --quiet --editable ".[$extra]"
        .venv/bin/python -m compileall -q jaxtorch  # as pip does for a package that it copies; without byte code, importing takes 0.35 s more
        cat "${sources[@]}" > "$installed"
    fi
    export PATH="$PWD/.venv/bin:$PATH"
}
