package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"mina-sequencer/api/codes"
	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
)

// Answers are appended field by field rather than marshalled: payloads pass
// through with their tokens unchanged, which an encoder that checks, compacts
// and escapes them again would cost most of a request for.

// An object appends the fields of one JSON object. Its methods take the name of
// the field first; absent values are null.
type object struct{ b []byte }

func (o *object) name(name string) {
	if last := o.b[len(o.b)-1]; last != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) open()  { o.b = append(o.b, '{') }
func (o *object) close() { o.b = append(o.b, '}') }
func (o *object) null()  { o.b = append(o.b, "null"...) }

func (o *object) text(name, v string) {
	o.name(name)
	o.b = appendString(o.b, v)
}

func (o *object) optional(name, v string) {
	o.name(name)
	if v == "" {
		o.null()
		return
	}
	o.b = appendString(o.b, v)
}

func (o *object) texts(name string, vs []string) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, v := range vs {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(o.b, v)
	}
	o.b = append(o.b, ']')
}

func (o *object) number(name string, v int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

// count is a number where 0 means that there is none.
func (o *object) count(name string, v uint32) {
	if v == 0 {
		o.name(name)
		o.null()
		return
	}
	o.number(name, int64(v))
}

func (o *object) bool(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

// nanomina is a string, for amounts do not fit in a float64.
func (o *object) nanomina(name string, v uint64) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = strconv.AppendUint(o.b, v, 10)
	o.b = append(o.b, '"')
}

// amount is nanomina where 0 means that there is none.
func (o *object) amount(name string, v uint64) {
	if v == 0 {
		o.name(name)
		o.null()
		return
	}
	o.nanomina(name, v)
}

// price is the place and the fee of an attempt; a slot of a ledger has neither.
func (o *object) price(a *tx.Attempt) {
	if senders.LedgerOf(a.Sender) != "" {
		for _, name := range []string{"nonce", "fee"} {
			o.name(name)
			o.null()
		}
		return
	}
	o.number("nonce", int64(a.Nonce))
	o.nanomina("fee", a.Fee)
}

func (o *object) time(name string, t time.Time) {
	o.name(name)
	if t.IsZero() {
		o.null()
		return
	}
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, "2006-01-02T15:04:05.000Z07:00")
	o.b = append(o.b, '"')
}

// base64 is bytes as text where there are any.
func (o *object) base64(name string, v []byte) {
	o.optional(name, base64.StdEncoding.EncodeToString(v))
}

func (o *object) raw(name string, doc json.RawMessage) {
	o.name(name)
	o.b = appendRaw(o.b, doc)
}

func (o *object) fault(name string, e *tx.Error) {
	o.name(name)
	if e == nil {
		o.null()
		return
	}
	o.open()
	o.text("code", e.Code)
	o.text("message", e.Message)
	o.optional("exception", e.Exception)
	o.close()
}

// appendRaw appends valid JSON on one line. A line break in it can only be
// white space between two tokens: inside a string it would be escaped.
func appendRaw(b []byte, doc json.RawMessage) []byte {
	if len(doc) == 0 {
		return append(b, "null"...)
	}
	start := 0
	for i, c := range doc {
		if c == '\n' || c == '\r' {
			b = append(b, doc[start:i]...)
			start = i + 1
		}
	}
	return append(b, doc[start:]...)
}

// appendString appends s as JSON, escaped as encoding/json does without HTML
// escapes.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size, escape := 1, ""
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				escape = `\ufffd`
			case r == '\u2028':
				escape = `\u2028`
			case r == '\u2029':
				escape = `\u2029`
			default:
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		switch {
		case escape != "":
			b = append(b, escape...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendTransaction(b []byte, t *tx.Transaction) []byte {
	o := object{b}
	o.open()
	o.text("uid", t.UID)
	o.text("queue", t.Queue)
	o.number("sequence", t.Sequence)
	o.text("type", t.Type)
	o.raw("data", t.ShownData())
	o.name("posted")
	if bytes.Equal(t.ShownData(), t.Data) {
		o.null()
	} else {
		o.b = appendRaw(o.b, t.Data)
	}
	o.text("state", string(t.State()))
	o.optional("hash", t.Hash())
	o.number("retries", int64(t.Retries))
	o.optional("sender", t.Sender)
	o.raw("done", t.Done)
	o.fault("error", t.Error)
	o.name("attempts")
	o.b = appendList(o.b, t.Attempts, func(b []byte, a tx.Attempt) []byte { return appendAttempt(b, &a) })
	o.time("notBefore", t.NotBefore)
	o.time("expiresAt", t.ExpiresAt)
	o.amount("maxFee", t.MaxFee)
	o.time("receivedAt", t.ReceivedAt)
	o.time("submittedAt", t.SubmittedAt)
	o.time("retriedAt", t.RetriedAt)
	o.time("doneAt", t.DoneAt)
	o.time("finalAt", t.FinalAt)
	o.bool("reopened", t.Reopened)
	o.bool("cancelRequested", t.CancelRequested)
	o.callback(t)
	o.claim(t.Held())
	o.submission(submissionOf(t))
	o.close()
	return o.b
}

// claim is who drives it, null if nobody does.
func (o *object) claim(c tx.Claim) {
	o.name("claim")
	if c.Process == "" {
		o.null()
		return
	}
	o.open()
	o.text("process", c.Process)
	o.time("since", c.Since)
	o.time("expires", c.Expires)
	o.close()
}

// callback is what became of telling a worker how t ended: of the one that is due, or else of the last.
func (o *object) callback(t *tx.Transaction) {
	o.name("callback")
	said := t.Told
	switch {
	case t.Callback != "" && (t.CallbackTries == 0 || said.Callback != t.Callback):
		said = tx.Told{Callback: t.Callback}
	case t.Callback == "" && !said.Done: // none was due, or it is to be told no more
		o.null()
		return
	}
	o.open()
	o.text("name", string(said.Callback))
	o.bool("told", t.Callback == "")
	o.number("tries", int64(said.Tries))
	o.raw("answer", said.Answer)
	o.optional("error", said.Error)
	o.time("at", said.At)
	o.close()
}

// appendAttempt never shows signed bytes: whoever has them can send them.
func appendAttempt(b []byte, a *tx.Attempt) []byte {
	o := object{b}
	o.open()
	o.number("number", int64(a.Number))
	o.optional("sender", a.Sender)
	o.price(a)
	o.count("weight", uint32(max(a.Weight, 0)))
	o.estimate(&a.Quote)
	o.count("validUntil", a.ValidUntil)
	o.optional("hash", a.KnownHash())
	o.text("outcome", string(a.Outcome()))
	o.count("blockHeight", a.Height)
	o.optional("stateHash", a.StateHash)
	o.number("confirmations", int64(a.Confirmations))
	o.name("touched")
	o.b = appendList(o.b, a.Touched, func(b []byte, t tx.Account) []byte {
		o := object{b}
		o.open()
		o.text("publicKey", t.Key)
		o.text("tokenId", t.Token)
		o.close()
		return o.b
	})
	o.fault("error", a.Error)
	o.time("startedAt", a.StartedAt)
	o.time("endedAt", a.EndedAt)
	o.close()
	return o.b
}

func appendExplanation(b []byte, e *explain.Explanation) []byte {
	o := object{b}
	o.open()
	o.text("state", string(e.State))
	o.time("since", e.Since)
	o.text("summary", e.Summary)
	o.name("waitingFor")
	o.open()
	o.text("code", string(e.Wait.Code))
	o.time("until", e.Wait.Until)
	o.optional("detail", e.Wait.Detail)
	o.close()
	o.name("attempts")
	o.b = appendList(o.b, e.Attempts, func(b []byte, a explain.Seen) []byte {
		o := object{b}
		o.open()
		o.number("number", int64(a.Number))
		o.optional("sender", a.Sender)
		o.price(&a.Attempt)
		o.count("weight", uint32(max(a.Weight, 0)))
		o.estimate(&a.Quote)
		o.optional("hash", a.KnownHash())
		o.text("outcome", string(a.Outcome()))
		o.bool("open", a.Open)
		o.text("place", a.Place)
		o.bool("agreed", a.Agreed)
		o.count("blockHeight", a.Height)
		o.optional("stateHash", a.StateHash)
		o.count("depth", uint32(max(a.Depth, 0)))
		o.optional("detail", a.Detail)
		o.time("startedAt", a.StartedAt)
		o.time("endedAt", a.EndedAt)
		o.close()
		return o.b
	})
	o.name("next")
	o.open()
	o.text("action", e.Next.Action)
	o.time("at", e.Next.At)
	o.close()
	o.close()
	return o.b
}

func (a *api) appendQueue(b []byte, q *queues.Queue) []byte {
	o := object{b}
	o.open()
	o.text("name", q.Name)
	o.text("state", string(q.State()))
	o.optional("sender", q.Sender)
	o.optional("running", q.Running)
	o.texts("inFlight", q.InFlight)
	o.number("width", int64(cmp.Or(q.Width, a.Width, 1)))
	o.number("retries", int64(q.Retries))
	o.name("counts")
	o.open()
	for _, s := range tx.States {
		o.number(string(s), q.Counts[s])
	}
	o.close()
	o.bool("paused", q.Paused != "")
	o.optional("reason", q.Paused)
	o.time("pausedUntil", q.PausedUntil)
	o.time("nextAt", q.NextAt)
	o.time("oldestWaitingAt", q.OldestWaiting)
	o.close()
	return o.b
}

func appendSender(b []byte, s *senders.Sender) []byte {
	o := object{b}
	o.open()
	o.text("accountId", s.AccountID)
	o.optional("workerUrl", publicURL(s.WorkerURL))
	o.text("state", string(s.State()))
	o.optional("queue", s.Queue)
	o.number("retries", int64(s.Retries))
	o.name("nonce")
	if s.Nonce == nil {
		o.null()
	} else {
		o.b = strconv.AppendUint(o.b, uint64(*s.Nonce), 10)
	}
	if s.Balance == nil {
		o.name("balance")
		o.null()
	} else {
		o.nanomina("balance", *s.Balance)
	}
	o.bool("available", s.Available())
	o.optional("reason", string(s.Reason))
	o.optional("detail", s.Detail)
	o.time("since", s.Since)
	o.time("until", s.Until)
	remedy, command := s.Remedy()
	o.optional("remedy", remedy)
	o.optional("command", command)
	o.claim(s.Claim)
	o.close()
	return o.b
}

// publicURL is the address without what may be a credential in it, "" for what
// is no address.
func publicURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

func appendProblem(b []byte, p *problem) []byte {
	o := object{b}
	o.open()
	o.text("code", p.Code)
	o.text("type", codes.Problems.Entry(p.Code))
	o.text("title", p.Title)
	o.number("status", int64(p.Status))
	o.text("detail", p.Detail)
	if len(p.Errors) > 0 {
		o.name("errors")
		o.b = appendList(o.b, p.Errors, func(b []byte, e dispatcher.FieldError) []byte {
			o := object{b}
			o.open()
			o.text("field", e.Field)
			o.text("message", e.Message)
			o.close()
			return o.b
		})
	}
	o.close()
	return o.b
}

func appendList[T any](b []byte, items []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, item)
	}
	return append(b, ']')
}

// appendPage appends what every list answers.
func appendPage[T any](b []byte, items []T, next string, one func([]byte, T) []byte) []byte {
	o := object{b}
	o.open()
	o.name("items")
	o.b = appendList(o.b, items, one)
	o.optional("nextCursor", next)
	o.close()
	return o.b
}
