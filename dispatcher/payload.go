package dispatcher

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// VotingTypes returns the five types of a voting round. They settle at depth 1, for no value
// that one of them requires comes back once it has taken effect: an account is new once,
// nullifiers and shares are never taken out of their trees, and a plan is open once.
func VotingTypes(client *Client, rules *Rules) []Dispatcher {
	return []Dispatcher{
		CreateClaimVotingAccount(client, rules),
		SendClaimVote(client, rules),
		CreateVotingBatchesAccount(client, rules),
		ReceiveVotesBatch(client, rules),
		CommitAllVotingBatches(client, rules),
	}
}

// CheckObject takes any JSON object as a payload, which is valid JSON.
func CheckObject(data json.RawMessage) []FieldError {
	if !opens(data) {
		return []FieldError{{Field: "data", Message: "must be a JSON object"}}
	}
	return nil
}

// Rules check payloads that are described by a struct with "json" and
// "validate" tags, see [Payload]. Besides validator's own tags there are
//
//	uid          a string of 1 to 64 characters
//	hex32        a string of 32 hexadecimal digits
//	text         a string that is not empty
//	key          a string that holds a public key
//	vote         1, -1 or 0, as a number or as "1", "+1", "-1" or "0"
//	count=N      an integer of any size, N or more (N has one digit)
//	atmost=Name  no more than the count in the field Name beside it
//	element      a field element: an integer, or a string that is not empty
//	list         an array, or a string that holds one in JSON
//
// vote, count, atmost, element and list are for fields of json.RawMessage,
// which hold numbers as they were written; the others are for strings.
//
// Rules may be used concurrently.
type Rules struct{ validate *validator.Validate }

// NewRules returns the rules; validKey says whether a string is a public key.
func NewRules(validKey func(string) error) *Rules {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(jsonName)
	for tag, ok := range map[string]validator.Func{
		"uid": func(f validator.FieldLevel) bool {
			n := utf8.RuneCountInString(f.Field().String())
			return n >= 1 && n <= 64
		},
		"text":    func(f validator.FieldLevel) bool { return f.Field().String() != "" },
		"hex32":   func(f validator.FieldLevel) bool { return isHex32(f.Field().String()) },
		"key":     func(f validator.FieldLevel) bool { return validKey(f.Field().String()) == nil },
		"vote":    func(f validator.FieldLevel) bool { return isVote(f.Field().Bytes()) },
		"count":   func(f validator.FieldLevel) bool { return isCount(f.Field().Bytes(), f.Param()) },
		"atmost":  isAtMost,
		"element": func(f validator.FieldLevel) bool { return isElement(f.Field().Bytes()) },
		"list":    func(f validator.FieldLevel) bool { return isList(f.Field().Bytes()) },
	} {
		// It fails for an empty name or function only.
		if err := v.RegisterValidation(tag, ok); err != nil {
			panic(err)
		}
	}
	return &Rules{validate: v}
}

// wants says what a rule asks for.
func wants(tag, param string) string {
	switch tag {
	case "uid":
		return "must be a string of 1 to 64 characters"
	case "text":
		return "must be a string that is not empty"
	case "hex32":
		return "must be a string of 32 hexadecimal digits"
	case "key":
		return "must be a public key (B62…)"
	case "vote":
		return `must be 1, -1 or 0, as a number or as "1", "+1", "-1" or "0"`
	case "count":
		return "must be an integer, " + param + " or more"
	case "atmost":
		return "must be at most " + strings.ToLower(param[:1]) + param[1:]
	case "element":
		return "must be an integer or a string that is not empty"
	case "list":
		return "must be an array, or a string that holds one in JSON"
	case "required":
		return "must be present"
	}
	return strings.TrimSuffix("must satisfy "+tag+"="+param, "=")
}

// Payload returns the check of a payload that is described by the struct T:
// each field by its exact "json" name, and what it has to be by its "validate"
// tag. All bad fields are found at once; fields that T does not have may be
// anything.
func Payload[T any](rules *Rules) func(data json.RawMessage) []FieldError {
	shape := shapeOf(reflect.TypeFor[T]())
	return func(data json.RawMessage) []FieldError {
		var payload T
		misfits := shape.decode("data", data, reflect.ValueOf(&payload).Elem())
		var bad []FieldError
		var fails validator.ValidationErrors
		if errors.As(rules.validate.Struct(&payload), &fails) {
			for _, f := range fails {
				_, path, _ := strings.Cut(f.Namespace(), ".")
				path = "data." + path
				typed := f.Tag() == "required" && has(misfits, path)
				if !typed && !within(path, misfits) {
					bad = append(bad, FieldError{Field: path, Message: wants(f.Tag(), f.Param())})
				}
			}
		}
		for _, m := range misfits {
			if !has(bad, m.Field) {
				bad = append(bad, m)
			}
		}
		return bad
	}
}

// A shape is what is to be known of a struct to fill it: for each field its name
// in JSON, "" if it has none, and the shape of a struct within.
type shape []struct {
	name   string
	within shape
}

func shapeOf(t reflect.Type) shape {
	s := make(shape, t.NumField())
	for i := range s {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		s[i].name = jsonName(f)
		if _, leaf := reflect.New(f.Type).Interface().(json.Unmarshaler); f.Type.Kind() == reflect.Struct && !leaf {
			s[i].within = shapeOf(f.Type)
		}
	}
	return s
}

// decode fills the struct into from a valid JSON object and returns the fields
// whose JSON has another type. Unlike encoding/json it tells "uid" from "UID",
// as the workers do, and does not stop at the first misfit.
func (s shape) decode(path string, object json.RawMessage, into reflect.Value) (misfits []FieldError) {
	object = bytes.TrimLeft(object, " \t\r\n")
	if len(object) == 0 || object[0] != '{' {
		return []FieldError{{Field: path, Message: "must be a JSON object"}}
	}
	given := make([]json.RawMessage, len(s))
	for name, value := range Members(object) {
		for i := range s {
			if name != "" && s[i].name == name {
				given[i] = value
			}
		}
	}
	for i, raw := range given {
		field := into.Field(i)
		if s[i].name == "" {
			continue
		}
		if s[i].within != nil {
			misfits = append(misfits, s[i].within.decode(path+"."+s[i].name, raw, field)...)
			continue
		}
		switch value := field.Addr().Interface().(type) {
		case *json.RawMessage:
			*value = raw
		case *string:
			if raw == nil || isNull(raw) {
				continue
			}
			text, ok := Unquote(raw)
			if !ok {
				misfits = append(misfits, FieldError{Field: path + "." + s[i].name, Message: "must be a JSON string"})
			}
			*value = text
		default:
			misfits = append(misfits, misfit(path+"."+s[i].name, raw, field)...)
		}
	}
	return misfits
}

// misfit decodes a field by the library.
func misfit(path string, raw json.RawMessage, field reflect.Value) []FieldError {
	if raw == nil || json.Unmarshal(raw, field.Addr().Interface()) == nil {
		return nil
	}
	field.SetZero()
	return []FieldError{{Field: path, Message: "must be a JSON " + field.Kind().String()}}
}

// jsonName returns the name that a field has in JSON, or nothing.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// within says whether path lies inside an object that is none.
func within(path string, misfits []FieldError) bool {
	for _, m := range misfits {
		if strings.HasPrefix(path, m.Field+".") {
			return true
		}
	}
	return false
}

func has(bad []FieldError, field string) bool {
	for _, b := range bad {
		if b.Field == field {
			return true
		}
	}
	return false
}

// Written out, for every payload is checked while its client waits.

func isHex32(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return len(s) == 32
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isInteger takes any digits; a count has no sign and no zeros before it.
func isInteger(raw []byte) bool {
	raw = bytes.TrimPrefix(raw, []byte("-"))
	for _, c := range raw {
		if !isDigit(c) {
			return false
		}
	}
	return len(raw) > 0
}

func isPlainCount(raw []byte) bool {
	return isInteger(raw) && raw[0] != '-' && (raw[0] != '0' || len(raw) == 1)
}

func isNull(raw []byte) bool { return bytes.Equal(raw, []byte("null")) }

func isVote(raw []byte) bool {
	switch string(raw) {
	case "1", "-1", "0":
		return true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	return s == "1" || s == "+1" || s == "-1" || s == "0"
}

// isList takes what wallets sign as a text, too.
func isList(raw []byte) bool {
	if s, is := Unquote(raw); is {
		raw = []byte(s)
	}
	i := SkipSpace(raw, 0)
	return i < len(raw) && raw[i] == '[' && json.Valid(raw)
}

func isCount(raw []byte, least string) bool {
	return isPlainCount(raw) && compareCounts(string(raw), least) >= 0
}

// compareCounts compares numbers that may be larger than any Go type, by their
// digits.
func compareCounts(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// isAtMost passes where the other field is no count: that one has its own error.
func isAtMost(f validator.FieldLevel) bool {
	other := f.Parent().FieldByName(f.Param())
	if !other.IsValid() || !isPlainCount(other.Bytes()) {
		return true
	}
	return compareCounts(string(f.Field().Bytes()), string(other.Bytes())) <= 0
}

func isElement(raw []byte) bool {
	if isInteger(raw) {
		return true
	}
	var s string
	return json.Unmarshal(raw, &s) == nil && s != ""
}
