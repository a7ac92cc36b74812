package main

import (
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
	proving func()
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
		prove, err := newProver(sender(i))
		if err != nil {
			return nil, err
		}
		at := "/workers/" + sender(i)
		w.mux.HandleFunc("POST "+at+"/prove/{type}", func(rw http.ResponseWriter, r *http.Request) {
			if w.proving != nil {
				w.proving()
			}
			prove(rw, r)
		})
		w.mux.HandleFunc("POST "+at+"/on-success/{type}", func(http.ResponseWriter, *http.Request) { w.done.Add(1) })
		w.mux.HandleFunc(at+"/", http.NotFound)
	}
	return w, nil
}

// newProver returns a worker that answers at once, with the hash, as the kit's workers do: it
// fills a command that was made before. What a proof takes is not what is measured.
func newProver(account string) (http.HandlerFunc, error) {
	blank := devnet.Plan{Payer: account, Nonce: 4_111_111_111, Fee: 4_222_222_222_222, ValidUntil: 4_033_333_333, Memo: "memo"}
	command, err := devnet.Build(blank)
	if err != nil {
		return nil, err
	}
	memo, err := mina.EncodeMemo(blank.Memo)
	if err != nil {
		return nil, err
	}
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	// The command is cut at its blanks once: what a worker costs is not what is measured.
	blanks := []string{number(uint64(blank.Nonce)), number(blank.Fee), number(uint64(blank.ValidUntil)), memo}
	cuts := regexp.MustCompile(strings.Join(blanks, "|"))
	pieces := cuts.Split(string(command), -1)
	var order []int // which blank stands behind each piece but the last
	for _, found := range cuts.FindAllString(string(command), -1) {
		order = append(order, slices.Index(blanks, found))
	}
	return func(rw http.ResponseWriter, r *http.Request) {
		var ask struct {
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
		fill := []string{number(uint64(ask.Attempt.Nonce)), number(ask.Attempt.Fee), number(uint64(ask.Attempt.ValidUntil)), encoded}
		signed := make([]byte, 0, len(command)+100)
		for i, which := range order {
			signed = append(append(signed, pieces[i]...), fill[which]...)
		}
		signed = append(signed, pieces[len(pieces)-1]...)
		hash, err := devnet.Hash(signed)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]string{"signed": string(signed), "hash": hash})
	}, nil
}

// senderSetting is the value of SEQUENCER_SENDERS for the first workers at addr.
func senderSetting(addr string, count int) string {
	var all []string
	for i := range count {
		all = append(all, sender(i)+"=http://"+addr+"/workers/"+sender(i))
	}
	return strings.Join(all, ",")
}
