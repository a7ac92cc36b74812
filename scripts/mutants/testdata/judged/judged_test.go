package judged

import (
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func clamp(t *testing.T, n int) int {
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("given", lua.LNumber(n))
	if err := l.DoString(Script("clamp")); err != nil {
		t.Fatal(err)
	}
	return int(l.ToInt(-1))
}

func TestGood(t *testing.T) {
	for _, c := range []struct{ got, want int }{
		{Greatest(1, 2), 2}, {Greatest(2, 1), 2}, {Count(3), 3}, {Count(-1), 0}, {Total(2), 5},
		{clamp(t, -1), 0}, {clamp(t, 1), 1}, {clamp(t, 2), 2},
	} {
		if c.got != c.want {
			t.Errorf("%d, want %d", c.got, c.want)
		}
	}
	for i, want := range []string{"moreless", "one", "two", "moreless"} {
		if got := Phase(i); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWeak(t *testing.T) {
	if Greatest(1, 2) == 0 || Count(1) != 1 {
		t.Error("nothing")
	}
}
