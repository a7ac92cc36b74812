package queues

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/lifecycle"
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
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a field of a kind that no record has had: " + v.Type().String())
	}
}

// TestRecordOfAttempt: all that an attempt is comes back as it was stored.
func TestRecordOfAttempt(t *testing.T) {
	t.Parallel()
	var a lifecycle.Attempt
	fill(reflect.ValueOf(&a).Elem(), new(int64))
	a.Number = 1
	var got lifecycle.Transaction
	if err := decodeRecord(&got, encodeRecord(&lifecycle.Transaction{Attempts: []lifecycle.Attempt{a}})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]lifecycle.Attempt{a}, got.Attempts); diff != "" {
		t.Error(diff)
	}
}
