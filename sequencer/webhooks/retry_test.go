package webhooks

import (
	"testing"
	"time"
)

// TestSchedule holds the delays against the table of the standard, with a tenth of jitter.
func TestSchedule(t *testing.T) {
	t.Parallel()
	want := []string{"5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"}
	sum := time.Duration(0)
	for i, text := range want {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		sum += d
		for r, factor := range map[float64]float64{0: 0.9, 0.5: 1, 1: 1.1} {
			if got := after(i+1, r); got != time.Duration(float64(d)*factor) {
				t.Errorf("after %d tries, jitter %v: %v, want %v of %v", i+1, r, got, factor, d)
			}
		}
	}
	if sum != 75*time.Hour+35*time.Minute+5*time.Second {
		t.Errorf("in all %v", sum)
	}
	for _, tries := range []int{-1, 0, len(want) + 1, 1000} {
		if got := after(tries, 0.5); got != never {
			t.Errorf("after %d tries: %v, want never", tries, got)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, tt := range []struct {
		name string
		in   Answer
		want verdict
	}{
		{"200", Answer{Status: 200}, verdict{delivered: true}},
		{"299", Answer{Status: 299}, verdict{delivered: true}},
		{"204 with Retry-After", Answer{Status: 204, RetryAfter: hour}, verdict{delivered: true}},
		{"199", Answer{Status: 199}, verdict{counted: true}},
		{"300", Answer{Status: 300}, verdict{counted: true}},
		{"a redirect", Answer{Status: 307}, verdict{counted: true}},
		{"400", Answer{Status: 400}, verdict{counted: true}},
		{"409", Answer{Status: 409}, verdict{counted: true}},
		{"gone", Answer{Status: 410}, verdict{gone: true}},
		{"411", Answer{Status: 411}, verdict{counted: true}},
		{"429", Answer{Status: 429}, verdict{rest: 5 * time.Second}},
		{"429 for an hour", Answer{Status: 429, RetryAfter: hour}, verdict{rest: hour}},
		{"429 for no time", Answer{Status: 429, RetryAfter: time.Millisecond}, verdict{rest: time.Second}},
		{"429 for a year", Answer{Status: 429, RetryAfter: 8760 * hour}, verdict{rest: 24 * hour}},
		{"500", Answer{Status: 500}, verdict{counted: true}},
		{"502", Answer{Status: 502}, verdict{counted: true, rest: time.Second}},
		{"504", Answer{Status: 504}, verdict{counted: true, rest: time.Second}},
		{"505", Answer{Status: 505}, verdict{counted: true}},
		{"504 for an hour", Answer{Status: 504, RetryAfter: hour}, verdict{counted: true, rest: hour}},
		{"503 for an hour", Answer{Status: 503, RetryAfter: hour}, verdict{counted: true, rest: hour}},
		{"503 for a year", Answer{Status: 503, RetryAfter: 8760 * hour}, verdict{counted: true, rest: 24 * hour}},
		{"no answer", Answer{Failure: Timeout}, verdict{counted: true}},
	} {
		if got := judge(tt.in); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 0, 7: 0, 8: time.Second, 9: 2 * time.Second, 13: 32 * time.Second, 14: time.Minute, 18: time.Minute,
		1 << 40: time.Minute,
	} {
		if got := pause(failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
}
