package queues

import (
	"bytes"
	"encoding/json"
	"mina-sequencer/sequencer/tx"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode reads records as if somebody else had written them: whatever they
// hold, decoding ends, with an error or with a transaction in a known phase
// whose attempts survive being stored again.
func FuzzDecode(f *testing.F) {
	const state = "3 OP p:1 sent B62x 1700000000000 0 1   1 5:20000:5 "
	const attempts = `{"retries":1,"attempts":[{"sender":"B62x","nonce":12,"fee":100000000,` +
		`"outcome":"sent","hash":"5J","started":1700000000000}]}`
	f.Add("1 1700000000000 SEND_CLAIM_VOTE claim-1\n{\"n\":1}", state, attempts, "1 B62x 12 nodeHash\x005Jx")
	f.Add("7 1 T q\n", "1   done  1 0 0 on-success 2   1",
		`{"landed":1,"attempts":[{"height":77,"stateHash":"3Nx"}],"more":{"than":"known"}}`, "")
	f.Add("8 1 T q\n{}", "9   done  1 0 0     1   ", `{"told":{"at":1700000000000,"tries":2,"callback":"on-success",`+
		`"done":true,"said":{"answer":{"n":1},"error":"why"}}`+"\n"+`,"retries":1}`, "")
	f.Add("", "", "", "")
	f.Add("a b c d\n{}", "1   nowhere         ", "{", "")
	f.Add("1 2 T q\n", state, `{"attempts":[{"nonce":-1}]}`, "") // would wrap around
	f.Add("1 2 T q\n{}", "99999999999999999999   waiting         ", `{"done":null,"error":{}}`, "")
	f.Fuzz(func(t *testing.T, posted, state, record, facts string) {
		txn, err := stored{posted: posted, text: state + "\n" + record, facts: pairs(facts)}.decode("uid")
		if err != nil {
			if txn != nil {
				t.Fatalf("an error and a transaction: %v, %+v", err, txn)
			}
			return
		}
		if !txn.Phase.Valid() {
			t.Errorf("phase %q", txn.Phase)
		}
		if _, data, _ := strings.Cut(posted, "\n"); string(txn.Data) != data {
			t.Errorf("data %q of %q", txn.Data, posted)
		}
		for i := range txn.Attempts {
			if txn.Attempts[i].Number != i+1 {
				t.Errorf("attempt %d has number %d", i+1, txn.Attempts[i].Number)
			}
		}
		once := encodeRecord(txn)
		again, err := stored{posted: posted, text: state + "\n" + once}.decode("uid")
		if err != nil {
			t.Fatalf("stored again as %q: %v", once, err)
		}
		if twice := encodeRecord(again); twice != once {
			t.Errorf("stored again:\n%s\n%s", once, twice)
		}
		_, _, _ = txn.Hash(), txn.Open(), txn.ShownData()
	})
}

func pairs(s string) map[string]string {
	w := strings.Split(s, "\x00")
	m := map[string]string{}
	for i := 0; i+1 < len(w); i += 2 {
		m[w[i]] = w[i+1]
	}
	return m
}

// FuzzCursor opens cursors that clients made up.
func FuzzCursor(f *testing.F) {
	f.Add("", "", "", int64(0))
	f.Add(sealCursor(512, Filter{Queue: "q"}), "q", "", int64(512))
	f.Add("MSAw", "q", "DONE", int64(1<<53))
	f.Add("LTEgMA", "", "WAITING", int64(-1))
	f.Fuzz(func(t *testing.T, cursor, queue, state string, at int64) {
		filter := Filter{Queue: queue, State: tx.State(state)}
		if after, err := openCursor(cursor, filter); err == nil && after < 0 {
			t.Errorf("cursor %q opens at %d", cursor, after)
		}
		if at < 0 {
			return
		}
		if after, err := openCursor(sealCursor(at, filter), filter); err != nil || after != at {
			t.Errorf("sealed at %d, opened at %d: %v", at, after, err)
		}
		if _, err := openCursor(sealCursor(at, filter),
			Filter{Queue: queue, State: tx.State(state), Type: "T"}); err == nil {
			t.Error("a cursor opens the list of another filter")
		}
	})
}

// FuzzSameJSON holds SameJSON to what makes it an equality, and to what it
// promises to look over.
func FuzzSameJSON(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":1,"b":[1.0,"x"]}`, `{"b":[1.0,"\u0078"],"a":1}`}, {`1.0`, `1.00`}, {`{"a":1} x`, `{"a":1} y`},
		{`{"a":1}{}`, `{"a":1}`}, {`[1,2]`, `[12]`}, {`["a","b"]`, `["a,b"]`}, {`"#1#"`, `1`}, {`null`, ``},
		{`{"a":{"b":1}}`, `{"a":{},"b":1}`},
		{`28948022309329048855892746252171976963363056481941560715954676764349967630337`,
			`28948022309329048855892746252171976963363056481941560715954676764349967630336`},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		same := SameJSON(a, b)
		if SameJSON(b, a) != same {
			t.Error("not symmetric")
		}
		if !SameJSON(a, a) || !SameJSON(b, bytes.Clone(b)) {
			t.Error("not reflexive")
		}
		if same && !bytes.Equal(a, b) && (!json.Valid(a) || !json.Valid(b)) {
			t.Errorf("%q and %q cannot be read and are the same", a, b)
		}
		if !json.Valid(a) {
			return
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, a, " ", "\t"); err == nil && !SameJSON(a, spaced.Bytes()) {
			t.Errorf("white space counts: %q", a)
		}
		if same && json.Valid(b) {
			if x, y := numbersOf(t, a), numbersOf(t, b); !cmp.Equal(x, y) {
				t.Errorf("%q and %q are the same with numbers %v and %v", a, b, x, y)
			}
		}
	})
}

// numbersOf counts the numbers of a document by their text, where no name
// stands twice in an object.
func numbersOf(t *testing.T, doc []byte) map[string]int {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case json.Number:
			count[v.String()]++
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return count
}

// TestCursorOfAnother: a cursor is of one list, and of none whose filter reads alike.
func TestCursorOfAnother(t *testing.T) {
	t.Parallel()
	for _, p := range [][2]Filter{
		{{Queue: "q1", Type: "T"}, {Queue: "q", Type: "1T"}},
		{{Queue: "q1"}, {Type: "q1"}},
		{{Queue: "q", Sender: "S"}, {Queue: "q", Type: "S"}},
		{{Sender: "S"}, {State: "S"}},
		{{Since: time.UnixMilli(12), Until: time.UnixMilli(3)}, {Since: time.UnixMilli(1), Until: time.UnixMilli(23)}},
		{{Newest: true}, {}},
	} {
		for _, of := range [][2]Filter{p, {p[1], p[0]}} {
			if _, err := openCursor(sealCursor(7, of[0]), of[1]); err == nil {
				t.Errorf("the cursor of %+v is good for %+v", of[0], of[1])
			}
		}
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, ` {"b" : 2 , "a":1}`, true},
		{`{"a":{"x":[],"y":null}}`, `{"a":{"y":null,"x":[]}}`, true},
		{`"A\/"`, `"\u0041/"`, true},
		{`1.0`, `1`, false},
		{`1e2`, `100`, false},
		{`-0`, `0`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1,23]`, `[12,3]`, false},
		{`[1,2]`, `[12]`, false},
		{`[[1],2]`, `[[1,2]]`, false},
		{`["a","b"]`, `["ab"]`, false},
		{`{"a":1,"b":2}`, `{"a":12,"b":""}`, false},
		{`{"a":{"b":1}}`, `{"a":{},"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`"1"`, `1`, false},
		{`{"a":1} x`, `{"a":1} y`, false},
		{`{"a":1}{}`, `{"a":1}{} `, false},
		{`{bad`, `{bad`, true},
		{``, ``, true},
	} {
		if got := SameJSON([]byte(tc.a), []byte(tc.b)); got != tc.want {
			t.Errorf("%s and %s: %v", tc.a, tc.b, got)
		}
	}
}

func TestUnpackDamaged(t *testing.T) {
	t.Parallel()
	good := pack(3, []byte("command"))
	if n, b, err := unpack(good); n != 3 || string(b) != "command" || err != nil {
		t.Errorf("unpacked %d %q, %v", n, b, err)
	}
	for _, bad := range [][]byte{nil, []byte("x"), good[:len(good)-1], {0xff, 0xff, 0xff, 0xff, 0x7f}, pack(1, nil)[1:]} {
		if n, b, err := unpack(bad); err == nil {
			t.Errorf("%x was unpacked as %d %q", bad, n, b)
		}
	}
}
