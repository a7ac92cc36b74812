package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mina-sequencer/cmd/sequencer/terminal"
)

// byteSize is a number of bytes, written with a binary unit: 512, 64KiB, 1MiB.
type byteSize int64

// EnvDecode reads a size.
func (s *byteSize) EnvDecode(text string) error {
	digits := strings.TrimRight(text, "KMGiB")
	shift, ok := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[text[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return refusal("is not a size in bytes, KiB, MiB or GiB")
	}
	*s = byteSize(n << shift)
	return nil
}

func (s byteSize) String() string {
	for shift, unit := range map[uint]string{30: "GiB", 20: "MiB", 10: "KiB"} {
		if s >= 1<<shift && s%(1<<shift) == 0 && s>>shift < 1024 {
			return strconv.FormatInt(int64(s>>shift), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// splitList splits at commas and drops blanks and empty items.
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// isName reports whether text is 1 to most of A-Z a-z 0-9 . _ : -.
func isName(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-") == ""
}

// CheckToken refuses what cannot travel in a header as a bearer token.
func CheckToken(text string) error {
	if !isToken(text) {
		return refusal("holds characters that no HTTP header can carry, or is too long")
	}
	return nil
}

// isToken reports whether text can travel in a header as a bearer token.
func isToken(text string) bool {
	return text != "" && len(text) <= 4096 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// logFormat is text, json, or empty for whichever suits the output.
type logFormat string

// EnvDecode reads text or json.
func (f *logFormat) EnvDecode(text string) error {
	if text != "" && text != "text" && text != "json" {
		return refusal("is no log format")
	}
	*f = logFormat(text)
	return nil
}

// decodeList reads a file that holds a list in JSON, each entry with the fields of T and no
// others. No value is shown: some are secret.
func decodeList[T any](content []byte, what string) ([]T, error) {
	var written []json.RawMessage
	if json.Unmarshal(content, &written) != nil {
		return nil, refusal("is a file that holds no JSON list of " + what)
	}
	entries := make([]T, len(written))
	for i, entry := range written {
		decoder := json.NewDecoder(bytes.NewReader(entry))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&entries[i]); err != nil {
			return nil, refusal(fmt.Sprintf("has entry %d, which %s", i+1, misfit(err)))
		}
	}
	return entries, nil
}

// misfit says why JSON does not fit the fields that it is for.
func misfit(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has the field " + terminal.Shorten(name, 70) + ", which is not known"
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return "has a field " + terminal.Shorten(wrong.Field, 70) + " that is of another kind"
	}
	return "is no JSON object"
}
