package terminal

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	t.Parallel()
	l := Line{Green.Of("ab"), Plain.Of("c\x1b[2J\u009b\n\xff"), Plain.Of("  ")}
	for _, tc := range []struct {
		width  int
		colour bool
		want   string
	}{
		{0, false, "abc?[2J???"}, {0, true, "\x1b[32mab\x1b[0mc?[2J???  "}, {3, false, "ab…"}, {2, true, "\x1b[32ma\x1b[0m…"}, {1, false, "…"},
	} {
		if got := l.Render(tc.width, tc.colour); got != tc.want {
			t.Errorf("width %d, colour %v: %q, want %q", tc.width, tc.colour, got, tc.want)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcdefg": "abcdefg", "abcdefgh": "abcd…gh", "äöüäöüäö": "äöüä…äö"} {
		if got := Shorten(text, 7); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &Screen{w: &out, Live: true}
	steps := []func() error{
		func() error { return s.Draw([]Line{{Plain.Of("one")}, {Plain.Of("two")}}) },
		func() error { return s.Draw([]Line{{Plain.Of("three")}}) },
		func() error { return s.Print(Line{Plain.Of("stays")}) },
		func() error { return s.Draw([]Line{{Plain.Of("four")}}) },
		s.Close,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	want := "\x1b[?25lone\x1b[K\ntwo\x1b[K\n\x1b[J" +
		"\x1b[?25l\x1b[2Athree\x1b[K\n\x1b[J" +
		"\x1b[1A\x1b[Jstays\n" +
		"\x1b[?25lfour\x1b[K\n\x1b[J\x1b[?25h"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	plainScreen := NewScreen(&out, nil)
	_ = plainScreen.Draw([]Line{{Red.Of("x")}})
	_ = plainScreen.Close()
	if out.String() != "x\n" {
		t.Errorf("no terminal, but %q", out.String())
	}
}
