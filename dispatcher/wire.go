package dispatcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type txData struct {
	UID       string          `json:"uid"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`
	ExpiresAt *time.Time      `json:"expiresAt,omitempty"`
}

type sender struct {
	AccountID string `json:"accountId"`
	Queue     string `json:"queue"`
	Retries   int    `json:"retries"`
}

type attempt struct {
	Number     int        `json:"number"`
	Nonce      uint32     `json:"nonce"`
	Fee        string     `json:"fee"`
	ValidUntil *uint32    `json:"validUntil"`
	Memo       string     `json:"memo"`
	Previous   []previous `json:"previous"`
	Base       string     `json:"base,omitempty"`
}

type previous struct {
	Number int    `json:"number"`
	Hash   string `json:"hash"`
	Nonce  uint32 `json:"nonce"`
	Fee    string `json:"fee"`
}

// A building is an attempt of which fee, nonce and validUntil are not known yet.
type building struct {
	Number   int        `json:"number"`
	Memo     string     `json:"memo"`
	Previous []previous `json:"previous"`
	Base     string     `json:"base,omitempty"`
}

type buildBody struct {
	TxData  txData   `json:"txData"`
	Sender  sender   `json:"sender"`
	Attempt building `json:"attempt"`
	Ahead   []ahead  `json:"ahead,omitempty"`
}

type callBody struct {
	TxData  txData  `json:"txData"`
	Sender  sender  `json:"sender"`
	Attempt attempt `json:"attempt"`
	Ahead   []ahead `json:"ahead,omitempty"`
	Signed  string  `json:"signed,omitempty"`
	Token   string  `json:"token,omitempty"`
}

// signBody has nothing of the payload: a signer judges the command.
type signBody struct {
	TxData struct {
		UID  string `json:"uid"`
		Type string `json:"type"`
	} `json:"txData"`
	Sender  sender  `json:"sender"`
	Attempt attempt `json:"attempt"`
	Proved  string  `json:"proved,omitempty"`
}

type outcomeBody struct {
	TxData txData    `json:"txData"`
	Result txnResult `json:"result"`
	Sender sender    `json:"sender"`
	// Answered is what the callback before was answered, left out where there was none.
	Answered json.RawMessage `json:"answered,omitempty"`
}

type txnResult struct {
	Hash  string          `json:"hash"`
	Done  json.RawMessage `json:"done"`
	Error *txnError       `json:"error"`
	Data  json.RawMessage `json:"data"`
}

type txnError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Exception *string `json:"exception"`
}

func txDataOf(t Txn) txData {
	d := txData{UID: t.UID, Type: t.Type, Data: t.Data}
	if !t.ExpiresAt.IsZero() {
		d.ExpiresAt = new(t.ExpiresAt.UTC())
	}
	return d
}

func senderOf(t Txn, accountID string) sender {
	return sender{AccountID: accountID, Queue: t.Queue, Retries: t.Retries}
}

func attemptOf(a Attempt) attempt {
	out := attempt{
		Number:   a.Number,
		Nonce:    a.Nonce,
		Fee:      strconv.FormatUint(a.Fee, 10),
		Memo:     a.Memo,
		Base:     a.Base,
		Previous: previousOf(a),
	}
	if a.ValidUntil != 0 {
		out.ValidUntil = &a.ValidUntil
	}
	return out
}

func previousOf(a Attempt) []previous {
	out := make([]previous, len(a.Previous))
	for i, p := range a.Previous {
		out[i] = previous{Number: p.Number, Hash: p.Hash, Nonce: p.Nonce, Fee: strconv.FormatUint(p.Fee, 10)}
	}
	return out
}

// bodyOf is what a worker is asked to make.
func bodyOf(path string, accountID string, call Call, signed []byte) any {
	if path == pathBuild {
		return buildBody{
			TxData: txDataOf(call.Txn), Sender: senderOf(call.Txn, accountID), Ahead: aheadOf(call.Ahead),
			Attempt: building{Number: call.Attempt.Number, Memo: call.Attempt.Memo, Base: call.Attempt.Base,
				Previous: previousOf(call.Attempt)},
		}
	}
	return callBody{
		TxData: txDataOf(call.Txn), Sender: senderOf(call.Txn, accountID), Attempt: attemptOf(call.Attempt),
		Ahead: aheadOf(call.Ahead), Signed: string(signed), Token: call.Token,
	}
}

func resultOf(r Result, e *WorkerError) txnResult {
	out := txnResult{Hash: r.Hash, Done: r.Done, Data: r.Data}
	if e != nil {
		out.Error = &txnError{Code: e.Code, Message: e.Message}
		if e.Exception != "" {
			out.Error.Exception = &e.Exception
		}
	}
	return out
}

// encode leaves every token of raw JSON as it is: field elements are larger
// than a float64, and a payload may be signed.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// validHash takes what can be a transaction's hash, of whatever network.
var validHash = regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`)

// parseResult reads a TxnResult in the forms that workers give it. failed is
// the worker's error, and result then holds at most a hash and on. err says that
// there is no TxnResult; nothing else is returned then.
func parseResult(body []byte) (result Result, failed *WorkerError, err error) {
	var in struct {
		Hash      *string
		On        *string
		Done      json.RawMessage
		Data      json.RawMessage
		Signed    json.RawMessage
		Proved    json.RawMessage
		Built     json.RawMessage
		Token     json.RawMessage
		Error     json.RawMessage
		Code      json.RawMessage
		Message   json.RawMessage
		Exception json.RawMessage
	}
	err = json.Unmarshal(body, &in)
	if _, damaged := errors.AsType[*json.SyntaxError](err); damaged || !opens(body) {
		return Result{}, nil, errors.New("the answer is not a JSON object")
	}
	if err != nil {
		return Result{}, nil, errors.New("the answer's hash or on is not a string")
	}
	if in.Hash != nil && *in.Hash != "" {
		if !validHash.MatchString(*in.Hash) {
			return Result{}, nil, errors.New("the answer's hash is none")
		}
		result.Hash = *in.Hash
	}
	if in.On != nil && *in.On != "" {
		if !validHash.MatchString(*in.On) {
			return Result{}, nil, errors.New("the answer's on is no digest")
		}
		result.On = *in.On
	}
	if !isEmpty(in.Error) {
		var e struct{ Code, Message, Exception json.RawMessage }
		if err := json.Unmarshal(in.Error, &e); err != nil {
			return Result{}, nil, errors.New("the answer's error is not an object: " + clip(text(in.Error), maxMessage))
		}
		return result, workerError(e.Code, e.Message, e.Exception), nil
	}
	if result.Hash == "" && !isEmpty(in.Code) && !isEmpty(in.Message) {
		return result, workerError(in.Code, in.Message, in.Exception), nil
	}
	if !isEmpty(in.Signed) {
		if result.Signed, err = command(in.Signed); err != nil {
			return result, mismatch(err.Error()), nil
		}
	}
	if !isEmpty(in.Proved) && result.Signed == nil {
		if result.Proved, err = command(in.Proved); err != nil {
			return result, mismatch("of proved: " + err.Error()), nil
		}
	}
	if !isEmpty(in.Built) {
		if result.Built, err = command(in.Built); err != nil {
			return result, mismatch("built is not a zkappCommand in JSON"), nil
		}
		result.Token = text(in.Token)
	}
	made := result.Signed != nil || result.Proved != nil || result.Built != nil
	if result.Hash == "" && !made && !isEmpty(in.Done) && isObject(in.Done) {
		result.Done = in.Done
	}
	if Depth(in.Data) > MaxDepth || Depth(result.Done) > MaxDepth {
		return Result{Hash: result.Hash}, mismatch("its data or done is nested more than " + strconv.Itoa(MaxDepth) + " deep"), nil
	}
	if !isEmpty(in.Data) {
		result.Data = in.Data
	}
	return result, nil, nil
}

// command reads a zkappCommand, which comes as a text of JSON or as JSON. Whether the
// text is JSON is for CheckSigned to say.
func command(raw json.RawMessage) (json.RawMessage, error) {
	if raw[0] == '"' {
		raw = json.RawMessage(text(raw))
	}
	if !opens(raw) {
		return nil, errors.New("signed is not a zkappCommand in JSON")
	}
	return raw, nil
}

func workerError(code, message, exception json.RawMessage) *WorkerError {
	e := &WorkerError{Code: text(code), Message: text(message), Exception: text(exception)}
	e.Kind = kindOf(e.Code)
	if e.Code == "" {
		e.Code = CodeUnnamed
	}
	return e
}

// The longest texts that are kept of a worker's error, in bytes.
const (
	maxCode      = 64
	maxMessage   = 2 << 10
	maxException = 16 << 10
	maxWords     = 500 // of an answer that is none
)

// clipped returns e with its texts cut to what is worth keeping.
func (e *WorkerError) clipped() *WorkerError {
	e.Code = clip(e.Code, maxCode)
	e.Message = clip(e.Message, maxMessage)
	e.Exception = clip(e.Exception, maxException)
	return e
}

// clip returns at most n bytes of s, in valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// isWorking reports whether an answer says that the worker is at work on what it was asked for.
func isWorking(body []byte) bool {
	var in struct{ Working json.RawMessage }
	return json.Unmarshal(body, &in) == nil && !isEmpty(in.Working)
}

var markup = regexp.MustCompile(`(?s)<(script|style)[ >].*?</(script|style)>|<[^>]*>`)

// words are what an answer that is no TxnResult says, as text on one line: what a JSON object
// calls its message or error, else all of it, without the markup of a page.
func words(body []byte) string {
	var in struct{ Message, Error json.RawMessage }
	said := ""
	if json.Unmarshal(body, &in) == nil {
		if said = text(in.Message); said == "" {
			said = text(in.Error)
		}
	}
	if said == "" {
		said = html.UnescapeString(markup.ReplaceAllString(string(body), " "))
	}
	return clip(strings.Join(strings.Fields(said), " "), maxWords)
}

// excerpt is what an error shows of a worker's or a person's text.
func excerpt(s string) string { return clip(s, 80) }

// isObject says whether raw is one JSON object.
func isObject(raw []byte) bool { return opens(raw) && json.Valid(raw) }

// opens says whether raw is an object, if it is JSON.
func opens(raw []byte) bool {
	i := SkipSpace(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// isEmpty says whether a JSON value holds nothing, by what JavaScript programs
// send for it.
func isEmpty(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true
	}
	switch last := len(raw) - 1; raw[0] {
	case '{', '[':
		return SkipSpace(raw, 1) == last
	case '"':
		return last == 1
	}
	return string(raw) == "null"
}

// text returns a JSON string's text, nothing for what is empty, and any other
// value as its JSON.
func text(raw json.RawMessage) string {
	var s string
	if isEmpty(raw) {
		return ""
	}
	if s, is := Unquote(raw); is && utf8.ValidString(s) {
		return s
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
