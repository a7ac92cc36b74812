package queues

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
)

// SameJSON reports whether two documents are the same JSON: white space and the
// order of fields do not count, numbers are compared by their text. Documents
// that cannot be read are the same only to the letter.
func SameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(doc []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	var out bytes.Buffer
	if err := writeCanonical(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeCanonical(w *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		w.WriteByte('{')
		for _, name := range names {
			if err := writeCanonical(w, name); err != nil {
				return err
			}
			if err := writeCanonical(w, v[name]); err != nil {
				return err
			}
		}
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for _, e := range v {
			if err := writeCanonical(w, e); err != nil {
				return err
			}
			w.WriteByte(',')
		}
		w.WriteByte(']')
	case json.Number:
		w.WriteString("#" + v.String() + "#")
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		w.Write(b)
	}
	return nil
}
