// Tracepicture draws traces: it reads them from its standard input, as OTLP in JSON or as
// Jaeger's GET /api/v3/traces answers, and writes an SVG with a bar for each span. What
// belongs together stands together: each trace from its root on, in the order of time.
//
//	go run ./scripts/tracepicture <spans.json >docs/traces/trace.svg
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	spans, err := read(os.Stdin)
	if err == nil {
		_, err = io.WriteString(os.Stdout, draw(spans))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A span is what is drawn of one.
type span struct {
	ID     string `json:"spanId"`
	Parent string `json:"parentSpanId"`
	Trace  string `json:"traceId"`
	Name   string `json:"name"`
	Begin  stamp  `json:"startTimeUnixNano"`
	End    stamp  `json:"endTimeUnixNano"`
	Status struct {
		Code    any    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
	Links []struct {
		ID string `json:"spanId"`
	} `json:"links"`
	service string
	depth   int
}

func (s span) failed() bool { return s.Status.Code == "STATUS_CODE_ERROR" || s.Status.Code == 2.0 }

// A stamp is a time, which JSON has as a number or as a text.
type stamp int64

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*s = stamp(n)
	return err
}

type resourceSpans struct {
	Resource struct {
		Attributes []struct {
			Key   string `json:"key"`
			Value struct {
				Text string `json:"stringValue"`
			} `json:"value"`
		} `json:"attributes"`
	} `json:"resource"`
	Scopes []struct {
		Spans []span `json:"spans"`
	} `json:"scopeSpans"`
}

// read reads all spans, in the order in which they are drawn.
func read(from io.Reader) ([]span, error) {
	var all []span
	for d := json.NewDecoder(from); ; {
		var doc struct {
			Spans  []resourceSpans `json:"resourceSpans"`
			Result struct {
				Spans []resourceSpans `json:"resourceSpans"`
			} `json:"result"`
		}
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading spans: %w", err)
		}
		for _, of := range append(doc.Spans, doc.Result.Spans...) {
			service := ""
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.name" {
					service = a.Value.Text
				}
			}
			for _, scope := range of.Scopes {
				for _, s := range scope.Spans {
					s.service = service
					all = append(all, s)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no spans")
	}
	return inOrder(all), nil
}

// inOrder puts each span behind its parent, and the earlier one first.
func inOrder(all []span) []span {
	slices.SortStableFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.End, a.End))
	})
	known := map[string]bool{}
	for _, s := range all {
		known[s.ID] = true
	}
	out := make([]span, 0, len(all))
	var below func(parent string, depth int)
	below = func(parent string, depth int) {
		for _, s := range all {
			if s.Parent == parent || parent == "" && !known[s.Parent] {
				s.depth = depth
				out = append(out, s)
				below(s.ID, depth+1)
			}
		}
	}
	below("", 0)
	return out
}

const (
	left, width, right   = 250, 560, 110 // of the names, the bars, the durations
	top, line, gap, foot = 16, 26, 14, 34
)

var colours = []string{"#4f6bed", "#2f855a", "#b7791f", "#805ad5"}

// draw writes the picture.
func draw(spans []span) string {
	begin, end := spans[0].Begin, spans[0].End
	for _, s := range spans {
		begin, end = min(begin, s.Begin), max(end, s.End)
	}
	whole := max(float64(end-begin), 1)
	at := func(t stamp) float64 { return left + float64(t-begin)/whole*width }
	var services []string
	var bars strings.Builder
	y := float64(top)
	for i, s := range spans {
		if i > 0 && s.Trace != spans[i-1].Trace {
			y += gap
			fmt.Fprintf(&bars, `<path d="M12 %.1fH%d" stroke="#cbd5e0" stroke-dasharray="3 3"/>`+"\n",
				y-gap/2, left+width+right-12)
		}
		if !slices.Contains(services, s.service) {
			services = append(services, s.service)
		}
		colour := colours[slices.Index(services, s.service)%len(colours)]
		name, style := s.Name, ""
		if len(s.Links) > 0 {
			name += " ↩ linked to the post"
		}
		if s.failed() {
			style = ` stroke="#c53030" stroke-width="2" fill-opacity=".35"`
		}
		fmt.Fprintf(&bars, `<text x="%d" y="%.1f">%s</text>`+"\n", 12+16*s.depth, y+17, html.EscapeString(name))
		fmt.Fprintf(&bars, `<rect x="%.1f" y="%.1f" width="%.1f" height="14" rx="2" fill="%s"%s/>`+"\n",
			at(s.Begin), y+6, max(at(s.End)-at(s.Begin), 2), colour, style)
		took := time.Duration(s.End - s.Begin).Round(100 * time.Microsecond)
		note := took.String()
		if s.failed() {
			note += " ✗"
		}
		fmt.Fprintf(&bars, `<text x="%d" y="%.1f" class="q">%s</text>`+"\n", left+width+10, y+17, note)
		y += line
	}
	return frame(bars.String(), services, time.Duration(whole), y)
}

// frame puts a scale and the names of the services around the bars.
func frame(bars string, services []string, whole time.Duration, y float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" `+
		`font-family="sans-serif" font-size="13">`+"\n",
		left+width+right, y+foot)
	out.WriteString(`<style>text{fill:#1a202c}.q{fill:#4a5568;font-size:12px}</style>` + "\n")
	out.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i := range 5 {
		x := left + width*i/4
		fmt.Fprintf(&out, `<path d="M%d %dV%.1f" stroke="#edf2f7"/>`+"\n", x, top, y)
		fmt.Fprintf(&out, `<text x="%d" y="%.1f" class="q" text-anchor="middle">%s</text>`+"\n",
			x, y+20, (whole * time.Duration(i) / 4).Round(time.Millisecond))
	}
	out.WriteString(bars)
	for i, s := range services {
		fmt.Fprintf(&out, `<rect x="%d" y="%.1f" width="10" height="10" fill="%s"/>`+
			`<text x="%d" y="%.1f" class="q">%s</text>`+"\n",
			12+76*i, y+11, colours[i%len(colours)], 26+76*i, y+20, html.EscapeString(s))
	}
	out.WriteString("</svg>\n")
	return out.String()
}
