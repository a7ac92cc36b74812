package webhooks

import "time"

// schedule is that of Standard Webhooks: how long after a failure an event is tried again.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// never is the delay of what only a person has tried again.
const never = time.Duration(-1)

// after returns how long an event waits that was tried in vain so many times, never if the
// schedule is used up. r, from 0 to 1, is its jitter: a tenth either way.
func after(tries int, r float64) time.Duration {
	if tries < 1 || tries > len(schedule) {
		return never
	}
	d := schedule[tries-1]
	return d - d/10 + time.Duration(r*float64(d/5))
}

// An Answer is what came of one request. What the endpoint wrote is no part of it.
type Answer struct {
	Status     int           // 0 if there was no answer
	Failure    string        // why there was none: TIMEOUT, REFUSED_ADDRESS or UNREACHABLE
	RetryAfter time.Duration // 0 if it named none
	Took       time.Duration
}

// Reasons why there was no answer.
const (
	Timeout        = "TIMEOUT"
	RefusedAddress = "REFUSED_ADDRESS"
	Unreachable    = "UNREACHABLE"
)

// A verdict is what an answer means.
type verdict struct {
	delivered bool
	gone      bool          // the endpoint wants no more: it is disabled, and the event is kept
	counted   bool          // it was a try in vain
	rest      time.Duration // nothing is sent to the endpoint for this long
}

// What an endpoint may ask for, and what it gets where it asks for no time of its own.
const (
	leastRest    = time.Second
	mostRest     = 24 * time.Hour
	throttleRest = 5 * time.Second
)

// judge reads an answer. Only 2xx is success: a redirect is not followed. Whoever is asked
// to slow down does so, and the event has failed only where something else is wrong, too.
func judge(a Answer) verdict {
	rest := min(a.RetryAfter, mostRest)
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return verdict{delivered: true}
	case a.Status == 410:
		return verdict{gone: true}
	case a.Status == 429:
		if rest == 0 {
			rest = throttleRest
		}
		return verdict{rest: max(rest, leastRest)}
	case a.Status == 502, a.Status == 504:
		return verdict{counted: true, rest: max(rest, leastRest)}
	}
	return verdict{counted: true, rest: rest}
}

// While so many first tries in a row fail, an endpoint is asked with one event at a time.
const (
	suspicious = 8
	mostPause  = time.Minute
)

// pause returns how long the next first try waits after so many failures in a row. An
// endpoint that is down so takes an event a minute, and the log keeps the others for it.
func pause(failures int) time.Duration {
	switch over := failures - suspicious; {
	case over < 0:
		return 0
	case over < 6:
		return time.Second << over
	}
	return mostPause
}
