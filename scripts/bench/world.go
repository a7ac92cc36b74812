package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// slotTime is short enough that a block is not what a life cycle waits for, and
// long enough that blocks are not what it costs.
const slotTime = 3 * time.Millisecond

// A world is a chain with one node and a worker for each sender.
type world struct {
	network *devnet.Network
	mux     *http.ServeMux
	// done counts the transactions whose success a worker was told.
	done atomic.Int64
	// proving, if set, is called when a request for a proof has come.
	proving func(http.ResponseWriter)
}

// sender is the account of the ith worker.
func sender(i int) string { return devnet.Key(uint64(i) + 1) }

const senderCount = 64

func newWorld(c devnet.Config) (*world, error) {
	network, err := devnet.New(c)
	if err != nil {
		return nil, err
	}
	w := &world{network: network, mux: http.NewServeMux()}
	w.mux.Handle("/", network)
	w.mux.HandleFunc("GET /done", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, w.done.Load()) })
	for i := range senderCount {
		if err := w.worker(sender(i)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// worker adds the full worker of an account.
func (w *world) worker(account string) error {
	prove, err := newProver(account)
	if err != nil {
		return err
	}
	at := "/workers/" + account
	w.mux.HandleFunc("POST "+at+"/prove/{type}", func(rw http.ResponseWriter, r *http.Request) {
		if w.proving != nil {
			w.proving(rw)
		}
		prove(rw, r)
	})
	w.mux.HandleFunc("POST "+at+"/on-success/{type}", func(http.ResponseWriter, *http.Request) { w.done.Add(1) })
	w.mux.HandleFunc(at+"/", http.NotFound)
	return nil
}

// madeUp stands for a payer's signature, which nobody checks here, and unsigned for there being none.
const (
	madeUp   = `"authorization":"7mXmadeUp"`
	unsigned = `"authorization":""`
)

// newProver returns a worker that answers at once, with the hash, as the kit's workers do: it
// fills a command that was made before. What a proof takes is not what is measured. Without an account it
// proves for any, and signs nothing.
func newProver(account string) (http.HandlerFunc, error) {
	blank := devnet.Plan{
		Payer: cmp.Or(account, sender(0)), Nonce: 4_111_111_111, Fee: 4_222_222_222_222, ValidUntil: 4_033_333_333, Memo: "memo",
	}
	command, err := devnet.Build(blank)
	if err != nil {
		return nil, err
	}
	memo, err := mina.EncodeMemo(blank.Memo)
	if err != nil {
		return nil, err
	}
	authorization, said := madeUp, "signed"
	if account == "" {
		authorization, said = unsigned, "proved"
	}
	command = payersOwn.ReplaceAll(command, []byte("${1}"+authorization))
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	// The command is cut at its blanks once: what a worker costs is not what is measured.
	blanks := []string{number(uint64(blank.Nonce)), number(blank.Fee), number(uint64(blank.ValidUntil)), memo, blank.Payer}
	cuts := regexp.MustCompile(strings.Join(blanks, "|"))
	pieces := cuts.Split(string(command), -1)
	var order []int // which blank stands behind each piece but the last
	for _, found := range cuts.FindAllString(string(command), -1) {
		order = append(order, slices.Index(blanks, found))
	}
	return func(rw http.ResponseWriter, r *http.Request) {
		var ask struct {
			Sender  struct{ AccountID string }
			Attempt struct {
				Nonce      uint32
				Fee        uint64 `json:",string"`
				ValidUntil uint32
				Memo       string
			}
		}
		err := json.NewDecoder(r.Body).Decode(&ask)
		encoded, memoErr := mina.EncodeMemo(ask.Attempt.Memo)
		if err != nil || memoErr != nil {
			http.Error(rw, "what is asked cannot be read", http.StatusBadRequest)
			return
		}
		fill := []string{number(uint64(ask.Attempt.Nonce)), number(ask.Attempt.Fee), number(uint64(ask.Attempt.ValidUntil)), encoded, cmp.Or(account, ask.Sender.AccountID)}
		signed := make([]byte, 0, len(command)+100)
		for i, which := range order {
			signed = append(append(signed, pieces[i]...), fill[which]...)
		}
		signed = append(signed, pieces[len(pieces)-1]...)
		answer(rw, said, string(signed))
	}, nil
}

// payersOwn is the authorization of a command's payer, behind all that comes before it there.
var payersOwn = regexp.MustCompile(`("feePayer":\{)"authorization":"[^"]*"`)

// answer is that of a prover or a signer, with the hash.
func answer(rw http.ResponseWriter, said, command string) {
	hash, err := devnet.Hash([]byte(command))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]string{said: command, "hash": hash})
}

// senderSetting is the value of SEQUENCER_SENDERS for some of the workers at addr.
func senderSetting(addr string, first, last int) string {
	var all []string
	for i := first; i < last; i++ {
		all = append(all, sender(i)+"=http://"+addr+"/workers/"+sender(i))
	}
	return strings.Join(all, ",")
}
