// Size measures how much of the core somebody has to know, and how dense it is: lines,
// branches, and how far each capability reaches. It prints one Markdown table.
//
//	cd scripts/tools && go run ./size ../.. [older checkout]
//
// With an older checkout beside it, what has left the core since for a folder that does not
// count is counted all the same.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 1 && len(args) != 2 {
		return fmt.Errorf("wants the path of a checkout, and may have that of an older one, not %q", args)
	}
	now, err := read(args[0])
	if err != nil {
		return err
	}
	moved := ""
	var out []function
	if len(args) == 2 {
		before, err := read(args[1])
		if err != nil {
			return err
		}
		out = now.movedOut(before)
		moved = fmt.Sprintf(", %d of them outside it by now", sum(out, lines))
	}
	fmt.Fprint(w, "| what | is |\n|---|---|\n")
	row := func(what, format string, is ...any) {
		fmt.Fprintf(w, "| %s | %s |\n", what, fmt.Sprintf(format, is...))
	}
	row("lines of the core, Go and Lua", "%d%s", now.lines(file.core)+sum(out, lines), moved)
	row("of it what a newcomer has to keep in mind", "%d", now.lines(file.heart))
	in := now.functions(file.decides)
	all, bare := sum(in, branches), now.bare(file.decides)
	row("branches of the decisions, in sum (per line of code)", "%d (%.2f)", all, float64(all)/float64(max(bare, 1)))
	dense := slices.DeleteFunc(slices.Clone(in), func(f function) bool { return f.branches <= many })
	row(fmt.Sprintf("functions above %d branches there", many), "%d of %d", len(dense), len(in))
	for _, c := range capabilities {
		row("files that name "+c.name, "%d of %d", now.naming(c.words), len(now.chosen(file.core)))
	}
	row("predicates over what is in flight of a queue", "%d", now.predicates())
	list(w, fmt.Sprintf("Above %d branches", many), dense, branches)
	list(w, "Moved out, in lines", out, lines)
	return nil
}

func lines(f function) int    { return f.lines }
func branches(f function) int { return f.branches }

func sum(all []function, of func(function) int) (n int) {
	for _, f := range all {
		n += of(f)
	}
	return n
}

// list prints the functions by what is counted of them, the most first.
func list(w io.Writer, title string, all []function, of func(function) int) {
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b function) int { return of(b) - of(a) })
	fmt.Fprintf(w, "\n%s:", title)
	for i, f := range all {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " `%s` %d", f.name, of(f))
	}
	fmt.Fprintln(w, ".")
}
