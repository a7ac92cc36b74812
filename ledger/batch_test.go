package ledger_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"mina-sequencer/ledger"
)

// where are the fields of the faults.
func where(faults []ledger.Fault) (at []string) {
	for _, f := range faults {
		at = append(at, f.Field)
	}
	return at
}

// parseVector parses a vector's list as it would be posted.
func parseVector(t *testing.T, list, id string, trace any) (ledger.Payload, []ledger.Fault) {
	t.Helper()
	encoded, err := json.Marshal(map[string]any{
		"ledger": "grid", "batchId": id, "batchList": list, "trace": trace, "dataChangeId": "change-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Parse(encoded, []string{"grid"})
}

func TestVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	taken := 0
	for _, vector := range v.Vectors {
		first := vector.Batches[0]
		p, faults := parseVector(t, vector.BatchList, first.HeaderSignature, first.Trace)
		if len(vector.Batches) != 1 {
			if want := []string{"data.batchList"}; !cmp.Equal(where(faults), want) {
				t.Errorf("%s: %v", vector.Name, faults)
			}
			continue
		}
		taken++
		list, err := base64.StdEncoding.DecodeString(vector.BatchList)
		if err != nil {
			t.Fatal(err)
		}
		want := ledger.Payload{
			Ledger: "grid", BatchID: first.HeaderSignature, BatchList: list, DataChangeID: "change-1",
		}
		if diff := cmp.Diff(want, p); diff != "" || faults != nil {
			t.Errorf("%s: %v %s", vector.Name, faults, diff)
		}
		_, faults = parseVector(t, vector.BatchList, first.HeaderSignature, !first.Trace)
		if !cmp.Equal(where(faults), []string{"data.trace"}) {
			t.Errorf("%s with another trace: %v", vector.Name, faults)
		}
	}
	for _, vector := range v.Accept {
		taken++
		if _, faults := parseVector(t, vector.BatchList, vector.BatchID, nil); faults != nil {
			t.Errorf("%s: %v", vector.Name, faults)
		}
	}
	if taken != 3 {
		t.Errorf("%d vectors taken", taken)
	}
}

func TestVectorsRefused(t *testing.T) {
	t.Parallel()
	wants := map[string][]string{
		"truncated":           {"data.batchList"},
		"empty-list":          {"data.batchList"},
		"wrong-id":            {"data.batchId"},
		"no-header":           {b + ".header"},
		"header-not-protobuf": {b + ".header"},
		"ids-differ":          {b + ".transactions[0].header_signature"},
		"extra-transaction":   {b + ".header.transaction_ids"},
	}
	refused := readVectors(t).Refuse
	for _, vector := range refused {
		_, faults := parseVector(t, vector.BatchList, vector.BatchID, nil)
		if !cmp.Equal(where(faults), wants[vector.Name]) {
			t.Errorf("%s: %v, want faults at %v", vector.Name, faults, wants[vector.Name])
		}
	}
	if len(refused) != len(wants) {
		t.Errorf("%d vectors refused", len(refused))
	}
}

// b is where the only batch of a list is.
const b = "data.batchList.batches[0]"

var zero = strings.Repeat("0", 128)

// changes break a good batch in one place after the other.
var changes = []struct {
	name   string
	change func(*batch)
	want   []string
}{
	{"good", func(*batch) {}, nil},
	{"unknown field", func(x *batch) { x.extra = [][]byte{varint(9, 7), text(8, "x")} }, nil},
	{"unknown field in a header", func(x *batch) {
		x.txns[0].extra = [][]byte{varint(8, 7), text(11, "\xff")}
	}, nil},
	{"unknown fields of all wire types", func(x *batch) {
		x.extra = [][]byte{
			append(protowire.AppendTag(nil, 9, protowire.Fixed32Type), 1, 2, 3, 4),
			append(protowire.AppendTag(nil, 9, protowire.Fixed64Type), 1, 2, 3, 4, 5, 6, 7, 8),
			{9<<3 | 3, 1 << 3, 7, 9<<3 | 4}, // a group
		}
	}, nil},
	{"no transactions", func(x *batch) { x.txns = nil }, nil},
	{"id of a transaction in upper case", func(x *batch) { x.txns[0].upper = true }, nil},
	{"more than are verified", func(x *batch) {
		x.txns = slices.Repeat(x.txns[:1], 300)
		for i := range x.txns {
			x.txns[i].payload = []byte(strconv.Itoa(i))
		}
		x.txns[299].signs = bob
	}, nil},
	{"the first that is not verified", func(x *batch) {
		x.txns = slices.Repeat(x.txns[:1], 257)
		for i := range x.txns {
			x.txns[i].payload = []byte(strconv.Itoa(i))
		}
		x.txns[256].signs = bob
	}, nil},
	{"the last that is verified", func(x *batch) {
		x.txns = slices.Repeat(x.txns[:1], 256)
		for i := range x.txns {
			x.txns[i].payload = []byte(strconv.Itoa(i))
		}
		x.txns[255].signs = bob
	}, []string{b + ".transactions[255].header_signature"}},
	{"signed by another", func(x *batch) { x.signs = bob }, []string{b + ".header_signature"}},
	{"transactions signed by others", func(x *batch) { x.txns[0].signs, x.txns[1].signs = bob, alice },
		[]string{b + ".transactions[0].header_signature", b + ".transactions[1].header_signature"}},
	{"s in the upper half", func(x *batch) { x.highS = true }, []string{b + ".header_signature"}},
	{"s of a transaction in the upper half", func(x *batch) { x.txns[1].highS = true },
		[]string{b + ".transactions[1].header_signature"}},
	{"key too short", func(x *batch) { x.key = public(alice)[:64] }, []string{b + ".header.signer_public_key"}},
	{"key not hex", func(x *batch) { x.key = strings.Repeat("g", 66) }, []string{b + ".header.signer_public_key"}},
	{"key no point", func(x *batch) {
		x.key = "02" + strings.Repeat("f", 64)
		x.txns[0].batcher, x.txns[1].batcher = x.key, x.key
	}, []string{b + ".header.signer_public_key"}},
	{"key without a y", func(x *batch) {
		x.key = "05" + public(alice)[2:]
		x.txns[0].batcher, x.txns[1].batcher = x.key, x.key
	}, []string{b + ".header.signer_public_key"}},
	{"ids in another order", func(x *batch) { x.txns, x.ids = []txn{x.txns[1], x.txns[0]}, x.transactionIDs() },
		[]string{b + ".transactions[0].header_signature", b + ".transactions[1].header_signature"}},
	{"an id too much", func(x *batch) { x.ids = append(x.transactionIDs(), zero) },
		[]string{b + ".header.transaction_ids"}},
	{"an id too few", func(x *batch) { x.ids = x.transactionIDs()[:1] }, []string{b + ".header.transaction_ids"}},
	{"an id that is none", func(x *batch) { x.ids = []string{x.transactionIDs()[0], zero + "0"} },
		[]string{b + ".header.transaction_ids[1]"}},
	{"ids that are none beside one", func(x *batch) { x.ids = []string{zero + "0", x.transactionIDs()[0], ""} },
		[]string{b + ".header.transaction_ids[0]", b + ".header.transaction_ids[2]"}},
	{"a transaction twice", func(x *batch) { x.txns[1] = x.txns[0] }, []string{b + ".header.transaction_ids[1]"}},
	{"for another batcher", func(x *batch) { x.txns[1].batcher = public(bob) },
		[]string{b + ".transactions[1].header.batcher_public_key"}},
	{"hash of another payload", func(x *batch) { x.txns[0].hash = zero },
		[]string{b + ".transactions[0].header.payload_sha512"}},
	{"key of a transaction no hex", func(x *batch) { x.txns[0].key = "x" },
		[]string{b + ".transactions[0].header.signer_public_key"}},
	{"key of a transaction no point", func(x *batch) { x.txns[0].key = "02" + strings.Repeat("f", 64) },
		[]string{b + ".transactions[0].header.signer_public_key"}},
	{"nonce not UTF-8", func(x *batch) { x.txns[1].extra = [][]byte{text(6, "\xff")} },
		[]string{b + ".transactions[1].header.nonce"}},
	{"inputs a number", func(x *batch) { x.txns[1].extra = [][]byte{varint(5, 1)} },
		[]string{b + ".transactions[1].header.inputs"}},
	{"a short transaction", func(x *batch) { x.extra = [][]byte{field(3, nil)} }, []string{b + ".transactions[2]"}},
	{"a transaction cut off", func(x *batch) { x.txns[0].tail = []byte{0x0a} }, []string{b + ".transactions[0]"}},
	{"a transaction cut off, with more wrong in it", func(x *batch) {
		x.txns[0].tail, x.txns[0].batcher = []byte{0x0a}, public(bob)
	}, []string{b + ".transactions[0]"}},
	{"a header that cannot be read, with more wrong in it", func(x *batch) {
		x.txns[0].batcher, x.txns[0].extra = public(bob), [][]byte{text(6, "\xff")}
	}, []string{b + ".transactions[0].header.nonce"}},
	{"the header of a transaction cut off", func(x *batch) { x.txns[1].extra = [][]byte{{0x0a}} },
		[]string{b + ".transactions[1].header"}},
	{"many faults", func(x *batch) {
		x.txns = slices.Repeat(x.txns[:1], 20)
		for i := range x.txns {
			x.txns[i].payload = []byte(strconv.Itoa(i))
			x.txns[i].batcher, x.txns[i].key, x.txns[i].hash = public(bob), "x", zero
			x.txns[i].extra = [][]byte{text(6, strconv.Itoa(i))}
		}
	}, manyFaults()},
	{"trace a text", func(x *batch) { x.extra = [][]byte{text(4, "yes")} }, []string{b + ".trace"}},
	{"a signature that is none", func(x *batch) { x.extra = [][]byte{text(2, "no")} },
		[]string{b + ".header_signature"}},
	{"everything at once", func(x *batch) {
		x.txns[0].batcher, x.txns[0].hash, x.txns[1].key = "", zero, "x"
	}, []string{b + ".transactions[0].header.batcher_public_key", b + ".transactions[0].header.payload_sha512",
		b + ".transactions[1].header.signer_public_key"}},
}

// TestBatch signs what was changed anew.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := newBatch()
			tt.change(x)
			list, id := x.encode()
			_, faults := ledger.Parse(data(t, list, id, nil), nil)
			if diff := cmp.Diff(tt.want, where(faults)); diff != "" {
				t.Errorf("%s\n%v", diff, faults)
			}
		})
	}
}

// TestFaults shows what is said of a fault, once, and nothing of what follows from it.
func TestFaults(t *testing.T) {
	t.Parallel()
	_, good := newBatch().encode()
	for _, tt := range []struct {
		change  func(*batch)
		id      string // "": that of the batch
		more    map[string]any
		field   string
		message string
	}{
		{func(x *batch) { x.extra = [][]byte{text(2, "no")} }, good, nil,
			b + ".header_signature", "must be 128 hex digits"},
		{func(x *batch) { x.extra = [][]byte{text(2, good+"0")} }, good, nil,
			b + ".header_signature", "must be 128 hex digits"},
		// An r that is no number of the curve's group.
		{func(x *batch) { x.extra = [][]byte{text(2, strings.Repeat("f", 64)+good[64:])} },
			strings.Repeat("f", 64) + good[64:], nil, b + ".header_signature",
			"must be the signer's ECDSA signature (secp256k1, lower s) of the SHA-256 of the header"},
		{func(x *batch) { x.signs = bob }, "", nil, b + ".header_signature",
			"must be the signer's ECDSA signature (secp256k1, lower s) of the SHA-256 of the header"},
		{func(x *batch) { x.highS = true }, "", nil, b + ".header_signature",
			"must be the signer's ECDSA signature (secp256k1, lower s) of the SHA-256 of the header"},
		{func(*batch) {}, zero, nil, "data.batchId", "must be the header_signature of the batch"},
		{func(*batch) {}, good[1:], nil,
			"data.batchId", "must be 128 lower-case hex digits, the header_signature of the batch"},
		{func(x *batch) { x.ids = x.transactionIDs()[:1] }, "", nil,
			b + ".header.transaction_ids", "must be one for each transaction: they are 1, of 2"},
		{func(x *batch) { x.txns[1] = x.txns[0] }, "", nil,
			b + ".header.transaction_ids[1]", "must not be there twice"},
		{func(x *batch) { x.ids = []string{x.transactionIDs()[0], zero + "0"} }, "", nil,
			b + ".header.transaction_ids[1]", "must be 128 hex digits"},
		{func(x *batch) { x.key = public(alice) + "0" }, "", nil,
			b + ".header.signer_public_key", "must be 66 hex digits, a compressed secp256k1 key"},
		{func(x *batch) { x.extra = [][]byte{varint(2, 1)} }, "", nil,
			b + ".header_signature", "must have the wire type 2"},
		{func(x *batch) { x.extra = [][]byte{text(4, "x")} }, "", nil, b + ".trace", "must have the wire type 0"},
		{func(x *batch) { x.extra = [][]byte{text(4, "x")} }, zero, nil, b + ".trace", "must have the wire type 0"},
		{func(*batch) {}, "", map[string]any{"trace": true},
			"data.trace", "must be that of the batch, false, or absent"},
		{func(x *batch) { x.extra = [][]byte{varint(4, 1)} }, "", map[string]any{"trace": false},
			"data.trace", "must be that of the batch, true, or absent"},
		{func(x *batch) { x.extra = [][]byte{field(3, make([]byte, 127))} }, "", nil,
			b + ".transactions[2]", "must be a transaction; it is too short to be one"},
		{func(x *batch) {
			x.extra, x.ids = [][]byte{field(3, make([]byte, 128))}, append(x.transactionIDs(), zero)
		}, "",
			nil, b + ".transactions[2]", "must be protobuf: it is cut off or has a malformed field"},
		{func(*batch) {}, "", map[string]any{"ledger": "a b"},
			"data.ledger", "must be 1 to 64 of A-Z a-z 0-9 . _ -"},
		{func(*batch) {}, "", map[string]any{"batchId": ""}, "data.batchId", "must be present, and not empty"},
		{func(*batch) {}, "", map[string]any{"dataChangeId": 1}, "data.dataChangeId", "must be a string"},
		{func(*batch) {}, "", map[string]any{"dataChangeId": strings.Repeat("x", 257)},
			"data.dataChangeId", "must not be longer than 256 bytes"},
		{func(*batch) {}, "", map[string]any{"trace": 1}, "data.trace", "must be true or false, or absent"},
		{func(*batch) {}, "", map[string]any{"batchList": "AAA"},
			"data.batchList", "must be base64 with padding and without line breaks (RFC 4648, section 4)"},
	} {
		x := newBatch()
		tt.change(x)
		list, id := x.encode()
		if tt.id != "" {
			id = tt.id
		}
		p, faults := ledger.Parse(data(t, list, id, tt.more), nil)
		want := []ledger.Fault{{Field: tt.field, Message: tt.message}}
		if diff := cmp.Diff(want, faults); diff != "" || p.BatchList != nil {
			t.Errorf("%s: %s", tt.message, diff)
		}
	}
	// Of two batches none is looked at.
	list, id := newBatch().encode()
	want := []ledger.Fault{
		{Field: "data.ledger", Message: "must be one of the configured ledgers: a, b"},
		{Field: "data.batchList", Message: "must hold exactly one batch; it holds 2"},
	}
	_, faults := ledger.Parse(data(t, slices.Concat(list, list), id, nil), []string{"a", "b"})
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Error(diff)
	}
}

// manyFaults are as many as are named.
func manyFaults() (many []string) {
	for i := range 6 {
		at := b + ".transactions[" + strconv.Itoa(i) + "].header."
		many = append(many, at+"batcher_public_key", at+"signer_public_key", at+"payload_sha512")
	}
	return many[:16]
}

func (b *batch) transactionIDs() (ids []string) {
	for _, x := range b.txns {
		_, id := x.encode()
		ids = append(ids, id)
	}
	return ids
}

// TestPayload breaks what is around a good batch.
func TestPayload(t *testing.T) {
	t.Parallel()
	list, id := newBatch().encode()
	inBase64 := base64.StdEncoding.EncodeToString(list)
	upper := strings.ToUpper(id)
	with := func(name string, value any) []byte { return data(t, list, id, map[string]any{name: value}) }
	holds := func(list []byte) []byte { return with("batchList", base64.StdEncoding.EncodeToString(list)) }
	tests := []struct {
		name string
		data []byte
		want []string
	}{
		{"good", with("anything", 7), nil},
		{"nothing", nil, []string{"data"}},
		{"null", []byte("null"), []string{"data"}},
		{"a list", []byte("[]"), []string{"data"}},
		{"empty", []byte("{}"), []string{"data.ledger", "data.batchId", "data.batchList"}},
		{"other names", []byte(`{"LEDGER":"grid","BatchId":"1","batchlist":""}`),
			[]string{"data.ledger", "data.batchId", "data.batchList"}},
		{"numbers", []byte(`{"ledger":1,"batchId":2,"batchList":3,"trace":4,"dataChangeId":5}`),
			[]string{"data.ledger", "data.batchId", "data.dataChangeId", "data.trace", "data.batchList"}},
		{"unknown ledger", with("ledger", "other"), []string{"data.ledger"}},
		{"id in upper case", with("batchId", upper), []string{"data.batchId"}},
		{"id too long", with("batchId", id+"0"), []string{"data.batchId"}},
		{"id of another", with("batchId", strings.Repeat("0", 128)), []string{"data.batchId"}},
		{"null trace", with("trace", nil), nil},
		{"no trace", with("trace", false), nil},
		{"trace", with("trace", true), []string{"data.trace"}},
		{"null change", with("dataChangeId", nil), nil},
		{"longest change", with("dataChangeId", strings.Repeat("x", 256)), nil},
		{"change too long", with("dataChangeId", strings.Repeat("x", 257)), []string{"data.dataChangeId"}},
		{"not base64", with("batchList", "no!"), []string{"data.batchList"}},
		{"line break", with("batchList", inBase64[:8]+"\n"+inBase64[8:]), []string{"data.batchList"}},
		{"without padding", with("batchList", "AAA"), []string{"data.batchList"}},
		{"nothing in it", holds(varint(9, 1)), []string{"data.batchList"}},
		{"twice in it", holds(slices.Concat(list, list)), []string{"data.batchList"}},
		{"a group that never ends", holds([]byte{0x13}), []string{"data.batchList"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, faults := ledger.Parse(tt.data, []string{"grid"})
			if diff := cmp.Diff(tt.want, where(faults)); diff != "" {
				t.Errorf("%s\n%v", diff, faults)
			}
			if (faults == nil) != (p.BatchID == id && bytes.Equal(p.BatchList, list)) {
				t.Errorf("payload %+v beside faults %v", p, faults)
			}
		})
	}
}

// TestAnyLedger checks without knowing what ledgers there are.
func TestAnyLedger(t *testing.T) {
	t.Parallel()
	list, id := newBatch().encode()
	for name, want := range map[string][]string{
		"other": nil, "a b": {"data.ledger"}, strings.Repeat("x", 65): {"data.ledger"},
	} {
		_, faults := ledger.Parse(data(t, list, id, map[string]any{"ledger": name}), nil)
		if !cmp.Equal(where(faults), want) {
			t.Errorf("%s: %v", name, faults)
		}
	}
	if _, faults := ledger.Parse(data(t, list, id, nil), []string{}); !cmp.Equal(where(faults), []string{"data.ledger"}) {
		t.Errorf("no ledgers: %v", faults)
	}
}

// TestLongest gives the longest list that is decoded, and one longer.
func TestLongest(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("A", base64.StdEncoding.EncodedLen(ledger.MaxBatchList)-4)
	longest := most + "AA=="
	for list, want := range map[string]string{
		longest:          "must be protobuf: it is cut off or has a malformed field",
		most + "AAA=":    "must not be longer than 10485760 bytes, in base64",
		"AAAA" + longest: "must not be longer than 10485760 bytes, in base64",
	} {
		_, faults := ledger.Parse([]byte(`{"ledger": "grid", "batchId": "`+zero+`", "batchList": "`+list+`"}`), nil)
		if diff := cmp.Diff([]ledger.Fault{{Field: "data.batchList", Message: want}}, faults); diff != "" {
			t.Errorf("%d bytes: %s", base64.StdEncoding.DecodedLen(len(list))-2, diff)
		}
	}
}

// TestKept shows what is read again of a payload that was taken, and that one
// which can not have been taken gives nothing.
func TestKept(t *testing.T) {
	t.Parallel()
	list, id := newBatch().encode()
	for _, tt := range []struct {
		data       []byte
		ledger, id string
		list       []byte
	}{
		{data(t, list, id, map[string]any{"trace": false}), "grid", id, list},
		{[]byte(`{"batchId": "x"}`), "", "x", nil},
		{[]byte(`{"ledger": "x", "batchId": 7, "batchList": "AA=!"}`), "x", "", nil},
		{[]byte(`{"ledger": 7, "batchList": [1, 2, "x"]}`), "", "", nil},
		{[]byte(`[]`), "", "", nil},
		{[]byte(`{"ledger": "x"`), "", "", nil},
		{nil, "", "", nil},
	} {
		name, batchID := ledger.Names(tt.data)
		if got := ledger.Bytes(tt.data); name != tt.ledger || batchID != tt.id || !bytes.Equal(got, tt.list) ||
			(got == nil) != (tt.list == nil) {
			t.Errorf("%.80s: %q, %q, %d bytes", tt.data, name, batchID, len(got))
		}
	}
}

// TestHostile gives lists that cost the most to look at: few faults are named,
// and little is allocated beyond what the payload itself takes.
func TestHostile(t *testing.T) {
	_, id := newBatch().encode()
	fill := func(part []byte, n int) []byte { return bytes.Repeat(part, n/len(part)) }
	const n = 128 << 10
	ids := text(1, public(alice))
	for i := range n / 262 {
		ids = append(ids, text(2, idOf(i))...)
	}
	for name, list := range map[string][]byte{
		"batches":          fill(field(1, nil), n),
		"empty txns":       field(1, fill(field(3, nil), n)),
		"txns":             field(1, fill(field(3, make([]byte, 128)), n)),
		"txns with ids":    field(1, slices.Concat(text(2, id), field(1, ids), fill(field(3, make([]byte, 128)), n/2))),
		"signatures":       field(1, fill(text(2, id), n)),
		"headers":          field(1, slices.Concat(text(2, id), field(1, fill(text(1, public(alice)), n-200)))),
		"empty ids":        field(1, slices.Concat(text(2, id), field(1, fill(text(2, ""), n-200)))),
		"equal ids":        field(1, slices.Concat(text(2, id), field(1, fill(text(2, id), n-200)))),
		"unknown":          fill(varint(9, 1), n),
		"groups":           fill([]byte{0x7b}, n),
		"one long id":      field(1, slices.Concat(text(2, id), field(1, text(2, string(make([]byte, n-200)))))),
		"endless varint":   fill([]byte{0x80}, n),
		"one long unknown": field(9, make([]byte, n)),
		"one long payload": field(1, field(3, field(3, make([]byte, n-200)))),
		"cut off":          field(1, make([]byte, n))[:10],
	} {
		payload := data(t, list, id, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, faults := ledger.Parse(payload, nil)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %v, %d KiB", name, took, allocated>>10)
		if len(faults) == 0 || len(faults) > 16 {
			t.Errorf("%s: %d faults", name, len(faults))
		}
		if allocated > 6*n {
			t.Errorf("%s: allocated %d bytes", name, allocated)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	x := newBatch()
	for _, n := range []int{1, 2, 300} {
		x.txns = slices.Repeat(x.txns[:1], n)
		for i := range x.txns {
			x.txns[i].payload = []byte(strconv.Itoa(i))
		}
		list, id := x.encode()
		payload := data(b, list, id, nil)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(len(list)))
			for b.Loop() {
				if _, faults := ledger.Parse(payload, nil); faults != nil {
					b.Fatal(faults)
				}
			}
		})
	}
}
