package queues

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/tx"
)

// fill gives every field under v a value of its own.
func fill(v reflect.Value, n *int64) {
	*n++
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.UnixMilli(1_700_000_000_000 + *n).UTC()
		return
	case *json.RawMessage:
		*at = json.RawMessage(`{"n":1}`)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(*n)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.String:
		v.SetString("text")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a field of a kind that no record has had: " + v.Type().String())
	}
}

// TestTimesOfRecords: no time that a transaction may have makes a record that cannot be read, or
// stands for none: what is before all times of Redis is the first of them.
func TestTimesOfRecords(t *testing.T) {
	t.Parallel()
	first := time.UnixMilli(1).UTC()
	for _, test := range []struct{ given, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Unix(0, 0), first},
		{time.UnixMicro(900), first},
		{time.Unix(-3600, 0), first},
		{time.Time{}.Add(1), first},
		{time.UnixMilli(1), first},
		{time.UnixMilli(2), time.UnixMilli(2).UTC()},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		terms := tx.Terms{NotBefore: test.given, ExpiresAt: test.given, MaxFee: 1}
		got, err := stored{posted: "7 1 T q" + postedWith(&terms, "", "", "") + "\n{}"}.decode("u")
		want := tx.Terms{NotBefore: test.want, ExpiresAt: test.want, MaxFee: 1}
		if err != nil || got.Terms != want {
			t.Errorf("%s: %+v, %v", test.given, got, err)
		}
	}
}

// TestNestedData: what a worker may give with its answer can be read where it is stored.
func TestNestedData(t *testing.T) {
	t.Parallel()
	const depth = 1000 // dispatcher.MaxDepth
	data := json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	was := &tx.Transaction{Attempts: []tx.Attempt{{Number: 1, State: tx.Included, Data: data}}}
	got := &tx.Transaction{}
	err := decodeRecord(got, encodeRecord(was))
	if err != nil || len(got.Attempts) != 1 || string(got.Attempts[0].Data) != string(data) {
		t.Errorf("%d attempts, %v", len(got.Attempts), err)
	}
}

// TestBlockOf: what a node calls a block is JSON, whatever it is.
func TestBlockOf(t *testing.T) {
	t.Parallel()
	const hash = "3N\x7f\a\"\u2028"
	landed := &tx.Transaction{Landed: 1, Attempts: []tx.Attempt{
		{Number: 1, State: tx.Included, Height: 7, StateHash: hash},
	}}
	var got struct{ StateHash string }
	if err := json.Unmarshal(blockOf(landed), &got); err != nil || got.StateHash != hash {
		t.Errorf("%s: %v", blockOf(landed), err)
	}
}

// TestBoundedErrors: what a worker or a node says is stored whole up to 4096 bytes, and of more
// as many, with a mark.
func TestBoundedErrors(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 0, 4095: 4095, 4096: 4096, 4097: 4096 + len("…"), 9000: 4096 + len("…")} {
		text := strings.Repeat("x", n)
		for _, e := range []tx.Error{{Code: text}, {Message: text}, {Exception: text}} {
			got := bounded(&e)
			if s := got.Code + got.Message + got.Exception; len(s) != want || strings.HasSuffix(s, "…") != (n > 4096) {
				t.Errorf("of %d bytes %d are stored: %.20q", n, len(s), s)
			}
		}
	}
	if got := shorten(strings.Repeat("é", 9), 5); got != "éé…" {
		t.Errorf("a letter is cut: %q", got)
	}
	if got := shorten("éé", 4); got != "éé" {
		t.Errorf("nothing is too long: %q", got)
	}
}

// TestStateDamaged: an error says which words of a record are none of ours.
func TestStateDamaged(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"1   nonsense         ": `"nonsense" is no phase`,
		"1   waiting        ":   `"1   waiting        " are not the words of a state`,
		"x   waiting         ":  `strconv.ParseInt: parsing "x": invalid syntax`,
		"1   waiting        x ": `strconv.ParseUint: parsing "x": invalid syntax`,
		"1   waiting         ":  "",
	} {
		var e numbers
		e.state(&tx.Transaction{}, words)
		if got := fmt.Sprint(e.err); got != cmp.Or(want, "<nil>") {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

// TestWordsMissing: what has not as many words as it is to have is told as that.
func TestWordsMissing(t *testing.T) {
	t.Parallel()
	var e numbers
	if w := e.words("1 2 3", 8); fmt.Sprint(e.err) != `"1 2 3" has not 8 words` || len(w) != 8 {
		t.Errorf("three words: %v, %q", e.err, w)
	}
}

// TestRecordOfResult: the result is stored where the block of what landed does not tell it, none at
// all too.
func TestRecordOfResult(t *testing.T) {
	t.Parallel()
	block := json.RawMessage(`{"blockHeight":7,"stateHash":"3N"}`)
	for result, stored := range map[string]bool{"": true, string(block): false, `{"n":1}`: true} {
		txn := tx.Transaction{Landed: 1, Attempts: []tx.Attempt{
			{Number: 1, State: tx.Included, Height: 7, StateHash: "3N"},
		}}
		if result != "" {
			txn.Done = json.RawMessage(result)
		}
		text := encodeRecord(&txn)
		var got tx.Transaction
		if err := decodeRecord(&got, text); err != nil || string(got.Done) != result {
			t.Errorf("%q came back as %q, %v", result, got.Done, err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil || (fields["done"] != nil) != stored {
			t.Errorf("%q is stored as %s", result, text)
		}
	}
}

// TestRecordOfAttempt: all that an attempt is comes back as it was stored.
func TestRecordOfAttempt(t *testing.T) {
	t.Parallel()
	var a tx.Attempt
	fill(reflect.ValueOf(&a).Elem(), new(int64))
	a.Number, a.State = 1, tx.Unplaced
	again := a // signed again
	again.Number = 2
	all := []tx.Attempt{a, again, {Number: 3, Sender: "S", State: tx.Planned}, {
		Number: 4, Sender: "S", State: tx.Signed,
		Touched: []tx.Account{{Key: "A", Token: tx.MinaToken}, {Key: "text", Token: "text"}},
	}}
	var got tx.Transaction
	text := encodeRecord(&tx.Transaction{Attempts: all})
	if err := decodeRecord(&got, text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "text text"); n != 2 || strings.Contains(text, tx.MinaToken) {
		t.Errorf("what it touches is stored anew, or MINA by its id: %s", text)
	}
	if diff := gocmp.Diff(all, got.Attempts); diff != "" {
		t.Error(diff)
	}
}
