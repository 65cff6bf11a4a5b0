# Checks the #include lines of source files against layers.txt.
#
#   awk -f check_includes.awk layers.txt FILE...      FILE is <anything>/src/<folder>/<name>.[ch]
#
# Prints one line a violation; exit 1 if there was one, or if no include was seen at all.

function complain(text)
{
    print FILENAME ":" FNR ": " text
    n_violations++
}

function folder_of(path,    parts, n)
{
    sub(/^.*src\//, "", path)
    n = split(path, parts, "/")
    return n == 1 ? "main" : parts[1]
}

FNR == NR {
    sub(/#.*/, "")
    if (NF == 0) {
        next
    }
    if ($1 == "public" || $1 == "library") {
        name = $2
        sub(/:$/, "", name)
        owner[$1, name] = $3
        if ($1 == "library") {
            libraries[name] = 1
        }
        next
    }
    folder = $1
    sub(/:$/, "", folder)
    known[folder] = 1
    allowed[folder, folder] = 1
    allowed[folder, "base"] = 1
    for (i = 2; i <= NF; i++) {
        allowed[folder, $i] = 1
    }
    next
}

FNR == 1 {
    here = folder_of(FILENAME)
    if (!(here in known)) {
        complain("folder '" here "' has no line in layers.txt")
    }
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    n_includes++
    split($0, quoted, "\"")
    n = split(quoted[2], parts, "/")
    if (n != 2) {
        complain("include \"" quoted[2] "\" is not \"folder/file.h\"")
        next
    }
    target = parts[1]
    if (target == "nightjar") {
        sub(/\.h$/, "", parts[2])
        target = owner["public", parts[2]]
        if (target == "") {
            complain("public header nightjar/" parts[2] ".h has no owner in layers.txt")
            next
        }
    }
    if (!((here, target) in allowed)) {
        complain(here " may not include " target " (" quoted[2] ")")
    }
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    n_includes++
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*$/, "", header)
    for (library in libraries) {
        if (index(header, library) == 1 && owner["library", library] != here) {
            complain("<" header "> belongs to " owner["library", library] " alone")
        }
    }
}

END {
    if (n_includes == 0) {
        print "no #include was seen: nothing was checked"
        exit 1
    }
    exit n_violations > 0
}
