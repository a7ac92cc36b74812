package devledger_test

import (
	"encoding/json"
	"os"
	"testing"

	. "mina-sequencer/ledger/devledger"
)

// FuzzParseBatchList: whatever comes is read or refused, and two lists one after
// the other are one list of both.
func FuzzParseBatchList(f *testing.F) {
	raw, err := os.ReadFile("testdata/batches.json")
	var file vectorFile
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		f.Fatal(err)
	}
	for _, list := range [][]vector{file.Vectors, file.Refuse, file.Accept} {
		for _, v := range list {
			f.Add(v.BatchList)
		}
	}
	after := batch("after")
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := ParseBatchList(body)
		both, err2 := ParseBatchList(append(append([]byte(nil), body...), after.List...))
		if err != nil {
			return
		}
		if err2 != nil || len(both) != len(list)+1 || both[len(list)].ID != after.ID {
			t.Errorf("%d batches, with one more %d, %v", len(list), len(both), err2)
		}
		for i, b := range list {
			if both[i].ID != b.ID || len(both[i].Transactions) != len(b.Transactions) {
				t.Errorf("batch %d is read as another", i)
			}
		}
	})
}

// FuzzFault: a fault that is taken is written and read again as it is.
func FuzzFault(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"delay":"1m","status":504,"wait":"2s"}`, `{"drop":true,"answer":"cut","times":-1}`, `{"on":"get"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var one, back Fault
		if json.Unmarshal(raw, &one) != nil {
			return
		}
		text, err := json.Marshal(one)
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		again, _ := json.Marshal(back)
		if err != nil || string(again) != string(text) {
			t.Errorf("%q became %s, then %s, %v", raw, text, again, err)
		}
		Script(one) // panics at what must not have been taken
	})
}
