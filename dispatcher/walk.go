package dispatcher

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The following walk over JSON that is known to be valid, and cut it into its
// parts as they were written. Of what is not valid they make nothing sensible,
// but they end.

// SkipSpace returns where what follows white space at i begins.
func SkipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\n' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i.
func skipValue(doc []byte, i int) int {
	depth := 0
	for i < len(doc) {
		switch doc[i] {
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			for i < len(doc) && strings.IndexByte(" \t\r\n,]}", doc[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			break
		}
	}
	return min(i, len(doc))
}

// MaxDepth is how deep JSON may be nested that others than who has made it are to read: it
// stands within other JSON then, and encoding/json reads 10,000 levels.
const MaxDepth = 1000

// Depth is how deep a valid value is nested, 0 where it is neither an object nor an array.
func Depth(doc []byte) (deepest int) {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// Members yields the fields of a valid object, in order, duplicates included.
func Members(doc []byte) func(yield func(name string, value []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for i := SkipSpace(doc, SkipSpace(doc, 0)+1); i < len(doc) && doc[i] != '}'; {
			end := skipValue(doc, i)
			name, _ := Unquote(doc[i:end])
			i = SkipSpace(doc, min(SkipSpace(doc, end)+1, len(doc))) // past the colon
			end = skipValue(doc, i)
			if !yield(name, doc[i:end]) {
				return
			}
			i = SkipSpace(doc, end)
			if i < len(doc) && doc[i] == ',' {
				i = SkipSpace(doc, i+1)
			}
		}
	}
}

// Elements yields the elements of a valid array.
func Elements(doc []byte) func(yield func(value []byte) bool) {
	return func(yield func([]byte) bool) {
		for i := SkipSpace(doc, SkipSpace(doc, 0)+1); i < len(doc) && doc[i] != ']'; {
			end := skipValue(doc, i)
			if !yield(doc[i:end]) {
				return
			}
			i = SkipSpace(doc, end)
			if i < len(doc) && doc[i] == ',' {
				i = SkipSpace(doc, i+1)
			}
		}
	}
}

// Unquote returns the string that a valid JSON value is, if it is one.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	if s, simple := unescape(value[1 : len(value)-1]); simple {
		return s, true
	}
	var s string
	return s, json.Unmarshal(value, &s) == nil
}

// unescape reads ASCII with no escapes but those of quotes and backslashes, as JSON in
// a text has them; it reports false for any other.
func unescape(inner []byte) (text string, simple bool) {
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' {
			if i++; i == len(inner) || inner[i] != '"' && inner[i] != '\\' {
				return "", false
			}
		} else if inner[i] >= utf8.RuneSelf || inner[i] == '"' {
			return "", false
		}
		out = append(out, inner[i])
	}
	return string(out), true
}
