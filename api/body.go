package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// buffers keeps the memory of bodies and answers for the next request.
type buffers struct{ pool sync.Pool }

// mostKept is the largest buffer that is kept: a rare large body must not hold
// its memory for ever.
const mostKept = 64 << 10

func (p *buffers) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (p *buffers) put(b *bytes.Buffer) {
	if b.Cap() <= mostKept {
		b.Reset()
		p.pool.Put(b)
	}
}

const (
	// leastRate is how many bytes a second a body comes in with at least, when its first
	// rateGrace is over.
	leastRate = 64 << 10
	rateGrace = 10 * time.Second
)

// An upload is a body that is held to leastRate, and comes in until a time at most.
type upload struct {
	io.Reader
	control    *http.ResponseController
	began, end time.Time
	got        int64
	seat       *seat // that it holds, if any: without it nothing more is read
}

func (u *upload) Read(b []byte) (int, error) {
	due := u.began.Add(rateGrace + time.Duration(u.got)*time.Second/leastRate)
	if due.After(u.end) {
		due = u.end
	}
	_ = u.control.SetReadDeadline(due) // not every connection has deadlines
	if u.seat != nil && u.seat.lost() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := u.Reader.Read(b)
	u.got += int64(n)
	return n, err
}

// stop has a read that is under way end.
func (u *upload) stop() { _ = u.control.SetReadDeadline(time.Unix(1, 0)) }

// readBody reads a body of at most limit bytes into b.
func readBody(w http.ResponseWriter, r *http.Request, b *bytes.Buffer, limit int64) error {
	return readUpload(w, r, b, limit, readTimeout, nil)
}

// readUpload is readBody with as long as it may take at all, and with a seat that is lent
// meanwhile.
func readUpload(
	w http.ResponseWriter, r *http.Request, b *bytes.Buffer, limit int64, most time.Duration, s *seat,
) error {
	if r.ContentLength > limit {
		return tooLarge("The body may have at most %d bytes. Send less at once.", limit)
	}
	if r.ContentLength > 0 {
		b.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	var body io.Reader = http.MaxBytesReader(w, r.Body, limit)
	if r.ContentLength != 0 { // a deadline behind the end of a body would end the request
		now := time.Now()
		u := &upload{Reader: body, control: http.NewResponseController(w), began: now, end: now.Add(most), seat: s}
		if s != nil {
			s.lend(u.stop)
		}
		body = u
	}
	_, err := b.ReadFrom(body)
	if s != nil && !s.keep() {
		return &problem{
			Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Others need the place",
			Detail: "As many batches as may be taken in at a time are under way, and with this key more than its share. " +
				"Nothing of this one was accepted. Send it again.", After: 10 * time.Second,
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge("The body may have at most %d bytes. Send less at once.", limit)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &problem{
			Status: http.StatusRequestTimeout, Code: codeTooSlow, Title: "The body came too slowly",
			Detail: fmt.Sprintf("After %s a body has to come with %d bytes a second at least, and all of it within %s. "+
				"Nothing of it was accepted. Send it again, or less at once.", rateGrace, leastRate, most),
		}
	default:
		return badRequest("The body ended early. Send it again.")
	}
}

// checkType refuses a body that says it is something else than what is
// allowed. One that says nothing is tried.
func checkType(r *http.Request, allowed ...string) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &problem{
			Status: http.StatusUnsupportedMediaType, Code: codeBadRequest, Title: "The body is compressed",
			Detail: "Send it as it is, with no Content-Encoding.",
		}
	}
	header := r.Header.Get("Content-Type")
	if header == "" || header == allowed[0] {
		return nil
	}
	media, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	if err != nil || !slices.Contains(allowed, media) || (charset != "" && charset != "utf-8" && charset != "UTF-8") {
		return &problem{
			Status: http.StatusUnsupportedMediaType, Code: codeBadRequest, Title: "The body is of another kind",
			Detail: fmt.Sprintf("Send it as %s in UTF-8.", allowed[0]),
		}
	}
	return nil
}

// checkObject says why doc is not one JSON object in UTF-8.
func checkObject(doc []byte) error {
	if bytes.HasPrefix(doc, []byte("\xef\xbb\xbf")) {
		return badRequest("It begins with a byte order mark, which JSON does not have. Send it without.")
	}
	if !json.Valid(doc) {
		var any json.RawMessage
		err := json.Unmarshal(doc, &any) // for its words
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return badRequest("It is not JSON: %s at byte %d.", syntax, syntax.Offset)
		}
		return badRequest("It is not JSON.")
	}
	if !utf8.Valid(doc) {
		return badRequest("It is not UTF-8.")
	}
	if doc[dispatcher.SkipSpace(doc, 0)] != '{' {
		return badRequest("It must be a JSON object.")
	}
	return nil
}

func isNull(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// A form takes what a request's object says apart and gathers what is wrong
// with it. A field may be given once, or be null, which is to leave it out;
// fields that no one asks for are refused, for they are likely to be typing
// errors.
type form struct {
	names  []string
	values [][]byte // as written, in the order of names; nil if not given
	Errors []dispatcher.FieldError
}

// Foreign text in answers is bounded by these.
const (
	mostErrors = 50
	mostShown  = 64
)

func (f *form) wrong(field, message string) {
	if len(f.Errors) < mostErrors {
		f.Errors = append(f.Errors, dispatcher.FieldError{Field: field, Message: message})
	}
}

func readForm(doc []byte, names ...string) *form {
	f := &form{names: names, values: make([][]byte, len(names))}
	for name, value := range dispatcher.Members(doc) {
		switch i := slices.Index(names, name); {
		case i < 0:
			f.wrong(short(name), "is not known here")
		case f.values[i] != nil:
			f.wrong(name, "must be given once")
		default:
			f.values[i] = value
		}
	}
	return f
}

// value returns a field as written, nil if it was not given.
func (f *form) value(name string) []byte {
	if i := slices.Index(f.names, name); i >= 0 {
		return f.values[i]
	}
	return nil
}

func short(s string) string {
	if len(s) <= mostShown {
		return s
	}
	end := mostShown
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// text returns a string and whether it was given as one.
func (f *form) text(name string) (string, bool) {
	value := f.value(name)
	if isNull(value) {
		return "", false
	}
	s, ok := dispatcher.Unquote(value)
	if !ok {
		f.wrong(name, "must be a string")
	}
	return s, ok
}

// time returns a time, zero if it was not given.
func (f *form) time(name string) time.Time {
	text, ok := f.text(name)
	if !ok {
		return time.Time{}
	}
	t, ok := parseTime(text)
	if !ok {
		f.wrong(name, timeWanted)
	}
	return t
}

// timeWanted is what parseTime takes.
const timeWanted = "must be a time such as 2006-01-02T15:04:05Z, after 1970 began and before 10000 does"

// strictTime is what RFC 3339 asks for; time.Parse takes more.
var strictTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// parseTime reads a time, in UTC. It knows none that would be zero milliseconds or fewer, which
// the store takes for none, or whose year JSON cannot hold.
func parseTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	if err != nil || !strictTime.MatchString(text) || t.UnixMilli() <= 0 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// object reads a small request of the fields named. A body is optional if it
// may be left out.
func (a *api) object(w http.ResponseWriter, r *http.Request, optional bool, names ...string) (*form, error) {
	const limit = 16 << 10
	if err := checkType(r, "application/json"); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := readBody(w, r, &b, limit); err != nil {
		return nil, err
	}
	doc := b.Bytes()
	if optional && dispatcher.SkipSpace(doc, 0) == len(doc) {
		return &form{}, nil
	}
	if err := checkObject(doc); err != nil {
		return nil, err
	}
	return readForm(doc, names...), nil
}

const (
	wantName = "must be 1 to 128 of A-Z a-z 0-9 . _ : -, and not . or .."
	wantUID  = "must be 1 to 128 of A-Z a-z 0-9 . _ : -, or one of a key with queues of its own behind the key's name and ~"

	wantBeginning = "must be 1 to 128 of A-Z a-z 0-9 . _ : -"
)

// parseItem reads one transaction to accept. header is the Idempotency-Key,
// which is the uid by another way; nil if there was none.
func (v view) parseItem(ctx context.Context, doc []byte, header []string) (queues.Item, error) {
	var item queues.Item
	if err := checkObject(doc); err != nil {
		return item, err
	}
	f := readForm(doc, "queue", "type", "data", "uid", "maxFee", "notBefore", "expiresAt")
	if queue, ok := f.text("queue"); ok && !queues.ValidName(queue) || !ok && isNull(f.value("queue")) {
		f.wrong("queue", wantName)
	} else {
		item.Queue = queue
	}
	item.UID = f.uid(header)
	kind, hasKind := f.text("type")
	if !hasKind && isNull(f.value("type")) {
		f.wrong("type", "must be the name of a type")
	}
	rules, known := v.Types.Lookup(kind)
	if hasKind && !known {
		f.wrong("type", "must be a type that this service knows; what only a worker knows is named in SEQUENCER_WORKER_TYPES")
	}
	item.Type, item.Data = kind, f.value("data")
	if known {
		item.Type = rules.Type() // the name posted may be another one of it
	}
	switch {
	case len(item.Data) == 0 || item.Data[0] != '{':
		f.wrong("data", "must be a JSON object")
	case dispatcher.Depth(item.Data) > dispatcher.MaxDepth:
		f.wrong("data", "must be nested at most "+strconv.Itoa(dispatcher.MaxDepth)+" deep")
	case known:
		for _, e := range rules.Check(item.Data) {
			f.wrong(short(e.Field), e.Message)
		}
	}
	item.Terms = f.terms()
	if at := item.ExpiresAt; !at.IsZero() && at.Before(time.Now()) {
		again, err := v.known(ctx, item.UID)
		if err != nil {
			return item, err
		}
		if !again {
			f.wrong("expiresAt", "is over: no block would take it in time")
		}
	}
	if len(f.Errors) == 0 {
		if d, is := rules.(dispatcher.ForLedger); is {
			item.Ledger, item.BatchID = d.Batch(item.Data)
		}
		return item, nil
	}
	p := invalid(f.Errors...)
	if hasKind && !known {
		p.Code, p.Title = codeUnknownType, "The type is not known"
	}
	return item, p
}

// known reports whether there is such a transaction: then it is posted again, which is
// answered as ever.
func (v view) known(ctx context.Context, uid string) (bool, error) {
	if uid == "" {
		return false, nil
	}
	_, err := v.find(ctx, uid)
	if errors.Is(err, queues.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// terms are how it is to be done.
func (f *form) terms() (t tx.Terms) {
	t.NotBefore, t.ExpiresAt = f.time("notBefore"), f.time("expiresAt")
	if !t.NotBefore.IsZero() {
		t.NotBefore = t.NotBefore.Add(time.Millisecond - 1) // milliseconds are stored: none too early
		if t.NotBefore.Year() > 9999 {
			f.wrong("notBefore", timeWanted)
		}
	}
	if !t.ExpiresAt.IsZero() && !t.NotBefore.Before(t.ExpiresAt) {
		f.wrong("expiresAt", "must be after notBefore")
	}
	if text, ok := f.text("maxFee"); ok {
		fee, err := strconv.ParseUint(text, 10, 64)
		switch {
		case err != nil:
			f.wrong("maxFee", "must be an amount of nanomina, as a decimal string")
		case fee < fees.Least:
			f.wrong("maxFee", "must be at least 1000000: it is in nanomina, and no node takes less than 0.001 MINA; 1 MINA is 1000000000")
		}
		t.MaxFee = fee
	}
	return t
}

// uid returns the key that the client chose, "" if it chose none.
func (f *form) uid(header []string) string {
	uid, inBody := f.text("uid")
	key := uid
	for _, h := range header {
		if inBody && h != uid || h != header[0] {
			f.wrong("uid", "must be the same as Idempotency-Key, or be given only once")
			return ""
		}
		key = h
	}
	if (inBody || len(header) > 0) && !queues.ValidName(key) { // . and .. have no path
		f.wrong("uid", wantName)
	}
	return key
}

// unescape returns a path parameter as it was meant: the router matches the
// path as it was sent, and clients may escape what they need not.
func unescape(param string) string {
	s, _ := url.PathUnescape(param) // a broken one is nothing, which names nothing
	return s
}
