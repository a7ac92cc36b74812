package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

const (
	// A batch is posted in parts of this many lines and bytes, so that its progress
	// shows.
	partItems = 1000
	partBytes = 8 << 20
	// partPause is how long a line that has been read waits for others: what comes
	// through a pipe may come slowly.
	partPause = 200 * time.Millisecond
)

// A batchRun posts a file and counts what came of its lines.
type batchRun struct {
	s     *session
	batch *client.Batch
	run   string
	same  map[[16]byte]uint32 // lines without a uid so far, by what they hold
	bar   progress
	lines []int // of the file, one per item of the part being filled
	items []client.Item
	size  int // bytes of the part

	accepted, present, refused int
	made                       bool // a uid was made for a line that is there already
}

// A textLine is one line of the file, without blanks around it.
type textLine struct {
	number int
	text   []byte
	end    int64 // bytes of the file up to its end
}

func postBatch(ctx context.Context, s *session, source, run string) error {
	in, total := s.app.Stdin, int64(0)
	if source != "-" {
		file, err := os.Open(source)
		if err != nil {
			return command.Usagef("--batch: %w", err)
		}
		defer func() { _ = file.Close() }()
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			total = info.Size()
		}
		in = file
	}
	b := &batchRun{s: s, batch: s.NewBatch(), run: run, same: map[[16]byte]uint32{}, bar: progress{screen: terminal.NewScreen(s.app.Stderr, s.app.Env), total: total}}
	s.OnRetry = func(err error) { b.bar.note = "trying again: " + err.Error(); b.bar.draw(b, true) }
	failure := b.post(ctx, in)
	b.bar.close()
	if err := b.report(failure); err != nil {
		return err
	}
	switch {
	case failure != nil:
		return fmt.Errorf("posting the batch: %w; the same command again repeats nothing", failure)
	case b.refused > 0:
		return command.ExitWith(command.ExitRefused, fmt.Sprintf("%d of %d were refused", b.refused, b.accepted+b.present+b.refused))
	}
	return nil
}

// readLines sends the lines of in that hold anything, and at its end the error of
// reading.
func readLines(ctx context.Context, in io.Reader) (<-chan textLine, <-chan error) {
	lines, failed := make(chan textLine, partItems), make(chan error, 1)
	go func() {
		defer close(lines)
		reader := bufio.NewScanner(in)
		reader.Buffer(make([]byte, 64<<10), lineBytes)
		end := int64(0)
		for number := 1; reader.Scan(); number++ {
			end += int64(len(reader.Bytes())) + 1
			text := bytes.TrimSpace(reader.Bytes())
			if len(text) == 0 {
				continue
			}
			select {
			case lines <- textLine{number, bytes.Clone(text), end}:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
		err := reader.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = errors.New("a line is longer than 64MiB")
		}
		failed <- err
	}()
	return lines, failed
}

// post posts what in holds, part by part.
func (b *batchRun) post(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, failed := readLines(ctx, in)
	idle := time.NewTimer(partPause)
	defer idle.Stop()
	for {
		idle.Reset(partPause)
		var err error
		select {
		case l, more := <-lines:
			if !more {
				if err := b.flush(ctx); err != nil {
					return err
				}
				return <-failed
			}
			if err = b.add(l); err == nil && (len(b.items) == partItems || b.size >= partBytes) {
				err = b.flush(ctx)
			}
		case <-idle.C:
			err = b.flush(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// add takes a line into the part. One that is no transaction is refused here.
func (b *batchRun) add(l textLine) error {
	b.bar.read = l.end
	doc, err := readItem(l.text)
	if err != nil {
		return b.refuse(l.number, doc.UID, &client.Error{
			Status: 400, Code: client.BadRequest, Title: "The line is no transaction", Detail: `It must be {"queue","type","data","uid"}: ` + err.Error(),
		})
	}
	if doc.UID == "" {
		doc.UID = b.uidOf(l.text)
	}
	b.lines = append(b.lines, l.number)
	b.items = append(b.items, doc)
	b.size += len(l.text)
	return nil
}

// readItem reads a line strictly: a field that is not known is likely to be a
// typing error.
func readItem(text []byte) (client.Item, error) {
	doc := struct {
		Queue string          `json:"queue"`
		Type  string          `json:"type"`
		Data  json.RawMessage `json:"data"`
		UID   string          `json:"uid"`

		NotBefore time.Time `json:"notBefore"`
		ExpiresAt time.Time `json:"expiresAt"`
		MaxFee    uint64    `json:"maxFee,string"`
	}{Data: json.RawMessage("null")}
	if text[0] != '{' {
		return client.Item{}, errors.New("it is no JSON object")
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	err := strict.Decode(&doc)
	if _, end := strict.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("something follows the object")
	}
	return client.Item{Queue: doc.Queue, Type: doc.Type, Data: doc.Data, UID: doc.UID,
		NotBefore: doc.NotBefore, ExpiresAt: doc.ExpiresAt, MaxFee: doc.MaxFee}, err
}

// uidOf makes the uid of a line that has none: of what it holds, how many such
// lines there were before, and the name of the run.
func (b *batchRun) uidOf(text []byte) string {
	var key [16]byte
	sum := sha256.Sum256(text)
	copy(key[:], sum[:])
	b.same[key]++
	sum = sha256.Sum256(fmt.Appendf(nil, "%q %d %x", b.run, b.same[key], sum))
	return madeUID + base64.RawURLEncoding.EncodeToString(sum[:16])
}

const madeUID = "line:"

// flush posts the part.
func (b *batchRun) flush(ctx context.Context) error {
	lines, items := b.lines, b.items
	b.lines, b.items, b.size = nil, nil, 0
	answered := 0
	for r, err := range b.batch.Post(ctx, items) {
		if err != nil {
			return fmt.Errorf("lines %d to %d: %w", lines[min(answered, len(lines)-1)], lines[len(lines)-1], err)
		}
		answered++
		if err := b.count(lines[r.Index], r); err != nil {
			return err
		}
	}
	return nil
}

// count takes in the answer to one line.
func (b *batchRun) count(number int, r client.Result) error {
	if r.Err != nil {
		return b.refuse(number, r.UID, r.Err)
	}
	if r.Existed {
		b.present++
		b.made = b.made || strings.HasPrefix(r.UID, madeUID)
	} else {
		b.accepted++
	}
	b.bar.draw(b, false)
	if !b.s.asJSON {
		return nil
	}
	return b.tell(map[string]any{"line": number, "uid": r.UID, "existed": r.Existed, "transaction": r.Transaction.Raw})
}

func (b *batchRun) refuse(number int, uid string, why *client.Error) error {
	b.refused++
	if b.s.asJSON {
		problem := json.RawMessage(why.Raw)
		if problem == nil {
			problem, _ = json.Marshal(map[string]any{"code": why.Code, "title": why.Title, "status": why.Status, "detail": why.Detail})
		}
		return b.tell(map[string]any{"line": number, "uid": uid, "problem": problem})
	}
	b.bar.clear()
	_, err := fmt.Fprintf(b.s.app.Stderr, "line %d: %s\n", number, terminal.CleanLines(why.Error()+terminal.Prefixed("\n  → ", advice(why.Code))))
	return err
}

// tell prints one object, the service's JSON in it unchanged.
func (b *batchRun) tell(doc map[string]any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return b.s.raw(out.Bytes())
}

func (b *batchRun) report(failure error) error {
	if b.s.asJSON {
		return nil
	}
	refused := terminal.Plain.Of(fmt.Sprintf("  %d refused", b.refused))
	if b.refused > 0 {
		refused.Style = terminal.Red
	}
	lines := []terminal.Line{{terminal.Green.Of(fmt.Sprintf("%d accepted", b.accepted)), terminal.Plain.Of(fmt.Sprintf("  %d already there", b.present)), refused}}
	if b.made && b.accepted == 0 && failure == nil {
		lines = append(lines, terminal.Line{terminal.Dim.Of("posted before: to post the same work once more, name it with --run")})
	}
	return b.s.print(lines...)
}

// progress is a bar that shows how far a batch has come, on a terminal only.
type progress struct {
	screen      *terminal.Screen
	read, total int64 // bytes of the file; total is 0 where it is not known
	note        string
	drawn       time.Time
}

func (p *progress) draw(b *batchRun, now bool) {
	const often = 100 * time.Millisecond
	if !p.screen.Live || !now && time.Since(p.drawn) < often {
		return
	}
	p.drawn = time.Now()
	var l terminal.Line
	if p.total > 0 {
		width, _ := p.screen.Size()
		l = append(terminal.Bar(int(p.read>>10), int(max(p.total>>10, 1)), min(40, width/3), terminal.Green), terminal.Bold.Of(fmt.Sprintf("  %3d%%", min(100, 100*p.read/p.total))))
	}
	l = append(l, terminal.Plain.Of(fmt.Sprintf("  %d posted", b.accepted+b.present)))
	if b.refused > 0 {
		l = append(l, terminal.Red.Of(fmt.Sprintf("  %d refused", b.refused)))
	}
	if p.note != "" {
		l = append(l, terminal.Magenta.Of("  "+p.note))
		p.note = ""
	}
	_ = p.screen.Draw([]terminal.Line{l}) // it is only to look at
}

// clear makes room for a line that stays.
func (p *progress) clear() {
	if p.screen.Live {
		_ = p.screen.Print()
	}
}

func (p *progress) close() {
	p.clear()
	_ = p.screen.Close()
}
