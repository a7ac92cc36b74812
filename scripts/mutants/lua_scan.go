package main

import (
	"fmt"
	"strings"
)

// A word of Lua 5.1: kind is "name", "number", "string", "end of file", or the keyword
// or operator itself.
type word struct {
	kind     string
	from, to int
}

const luaEnd = "end of file"

var luaKeywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true,
	"return": true, "then": true, "true": true, "until": true, "while": true,
}

// The longest first.
var luaOperators = []string{
	"...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#", "<", ">", "=",
	"(", ")", "{", "}", "[", "]", ";", ":", ",", ".",
}

// scanLua takes a script apart. gopher-lua does so too, and tells no columns.
func scanLua(text string) ([]word, error) {
	var words []word
	for at := 0; ; {
		at = skipBlank(text, at)
		if at >= len(text) {
			return append(words, word{luaEnd, len(text), len(text)}), nil
		}
		w, err := nextWord(text, at)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
		at = w.to
	}
}

// skipBlank goes over white space and comments.
func skipBlank(text string, at int) int {
	for at < len(text) {
		switch rest := text[at:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		case strings.HasPrefix(rest, "--"):
			if n := longString(rest[2:]); n > 0 {
				at += 2 + n
			} else if n := strings.IndexByte(rest, '\n'); n >= 0 {
				at += n
			} else {
				return len(text)
			}
		default:
			return at
		}
	}
	return at
}

// longString is the length of the long bracket with which text begins, 0 if there is none.
func longString(text string) int {
	if !strings.HasPrefix(text, "[") {
		return 0
	}
	level := len(text[1:]) - len(strings.TrimLeft(text[1:], "="))
	if !strings.HasPrefix(text[1+level:], "[") {
		return 0
	}
	closing := "]" + strings.Repeat("=", level) + "]"
	if n := strings.Index(text, closing); n >= 0 {
		return n + len(closing)
	}
	return 0
}

func nextWord(text string, at int) (word, error) {
	rest := text[at:]
	switch c := rest[0]; {
	case isLetter(c):
		n := span(rest, func(c byte) bool { return isLetter(c) || isDigit(c) })
		if luaKeywords[rest[:n]] {
			return word{rest[:n], at, at + n}, nil
		}
		return word{"name", at, at + n}, nil
	case isDigit(c), c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return word{"number", at, at + numberLength(rest)}, nil
	case c == '"' || c == '\'':
		for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
			switch rest[i] {
			case '\\':
				i++
			case c:
				return word{"string", at, at + i + 1}, nil
			}
		}
		return word{}, fmt.Errorf("a string without an end: %s", flat(rest))
	}
	if n := longString(rest); n > 0 {
		return word{"string", at, at + n}, nil
	}
	for _, o := range luaOperators {
		if strings.HasPrefix(rest, o) {
			return word{o, at, at + len(o)}, nil
		}
	}
	return word{}, fmt.Errorf("this is not Lua: %s", flat(rest))
}

// numberLength counts in the sign of an exponent.
func numberLength(text string) int {
	hex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	i := 0
	for i < len(text) {
		c := text[i]
		sign := i > 0 && !hex && (c == '+' || c == '-') && (text[i-1] == 'e' || text[i-1] == 'E')
		if !isLetter(c) && !isDigit(c) && c != '.' && !sign {
			break
		}
		if strings.HasPrefix(text[i:], "..") {
			break
		}
		i++
	}
	return i
}

func span(text string, fits func(byte) bool) int {
	n := 0
	for n < len(text) && fits(text[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
