package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func spanOf(trace, id, parent, name string, begin, end int, more string) string {
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":%d%s}`,
		trace, id, parent, name, begin, end, more)
}

// TestDraw: each span stands behind its parent, by time, whichever document and form it came
// in; what it is called cannot become markup.
func TestDraw(t *testing.T) {
	t.Parallel()
	doc := func(service string, spans ...string) string {
		return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]},"scopeSpans":[{"spans":[%s]}]}]}`,
			service, strings.Join(spans, ","))
	}
	text := doc("shop", spanOf("t1", "c", "b", "prove", 30, 40, `,"status":{"code":2}`), spanOf("t1", "b", "a", "accepted", 20, 50, "")) +
		`{"result":` + doc("client", spanOf("t1", "a", "elsewhere", "POST <x>", 10, 60, "")) + `}` +
		doc("shop", spanOf("t2", "e", "d", "send", 90, 95, ""), spanOf("t2", "d", "", "retry", 80, 80, `,"links":[{"spanId":"b"}]`))
	spans, err := read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range spans {
		got = append(got, fmt.Sprint(s.depth, s.Name))
	}
	if want := "[0POST <x> 1accepted 2prove 0retry 1send]"; fmt.Sprint(got) != want {
		t.Errorf("drawn %s, want %s", got, want)
	}
	picture := draw(spans)
	bars := 0
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "x" {
			t.Error("a name became markup")
		} else if ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if want := 5 + 2 + 1; bars != want { // spans, services, the ground
		t.Errorf("%d bars, want %d", bars, want)
	}
	if n := strings.Count(picture, "✗"); n != 1 {
		t.Errorf("%d failed", n)
	}
	for _, bad := range []string{"", "{}", "nonsense", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"x"}]}]}]}`} {
		if _, err := read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
