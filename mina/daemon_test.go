package mina

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hashOf makes a valid transaction hash of a label.
func hashOf(label string) string {
	digest := sha256.Sum256([]byte(label))
	return EncodeCheck(VersionTransaction, append([]byte{32}, digest[:]...))
}

func memoOf(t *testing.T, text string) string {
	t.Helper()
	b58, err := EncodeMemo(text)
	if err != nil {
		t.Fatal(err)
	}
	return b58
}

// A daemon is a scripted node: it answers from the fields, which a test sets.
type daemon struct {
	mu       sync.Mutex
	sync     string
	network  string
	genesis  string
	slotTime time.Duration
	k        int
	blocks   []Block            // the best chain, oldest first
	orphans  map[string]Block   // found by state hash only
	pool     []Command          // zkApp commands
	accounts map[string]uint32  // nonces
	liquid   any                // of 5 MINA that each holds; nil: it does not say
	refusal  string             // of sendZkapp; "lost" takes the command and gives no answer
	hang     bool               // until the caller gives up
	delay    time.Duration      // of each answer
	status   int                // HTTP, if not 200
	raw      string             // the whole answer, if not empty
	calls    map[string]int     // questions by field, and the blocks that they named
	bodies   []string           // of sendZkapp
	during   func(field string) // called at each question for each of its fields, with mu held
}

func newDaemon(blocks ...Block) *daemon {
	return &daemon{
		sync: "SYNCED", network: "mina:testnet", slotTime: 90 * time.Second, k: 290, blocks: blocks,
		orphans: map[string]Block{}, accounts: map[string]uint32{}, calls: map[string]int{},
	}
}

// chainOf makes n linked empty blocks, the first of height 101 in slot 1001.
func chainOf(n int) []Block {
	blocks := []Block{{Header: Header{StateHash: "3N-101", PreviousStateHash: "3N-100", Height: 101, Slot: 1001}}}
	for len(blocks) < n {
		blocks = grow(blocks, "")
	}
	return blocks
}

// grow returns the chain with one more block, its state hash marked by fork.
func grow(blocks []Block, fork string, commands ...Command) []Block {
	tip := blocks[len(blocks)-1].Header
	h := Header{PreviousStateHash: tip.StateHash, Height: tip.Height + 1, Slot: tip.Slot + 1, EpochSlot: tip.EpochSlot + 1}
	h.StateHash = fmt.Sprintf("3N-%d%s", h.Height, fork)
	return append(slices.Clip(slices.Clone(blocks)), Block{Header: h, Commands: commands})
}

// set replaces the best chain; what it held before stays to be found by hash.
func (d *daemon) set(blocks []Block) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.blocks {
		d.orphans[b.StateHash] = b
	}
	d.blocks = blocks
}

func (d *daemon) do(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *daemon) node(t *testing.T, i int) *Node {
	t.Helper()
	return NewNode(fmt.Sprintf("http://node-%d:3085/graphql?key=secret", i), NodeOptions{Client: &http.Client{Transport: d}})
}

// RoundTrip serves without a network, so that it runs in a synctest bubble.
func (d *daemon) RoundTrip(req *http.Request) (*http.Response, error) {
	d.mu.Lock()
	hang, delay := d.hang, d.delay
	d.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if hang {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, req)
	if rec.Code == http.StatusTeapot {
		return nil, io.ErrUnexpectedEOF
	}
	return rec.Result(), nil
}

var (
	fieldPattern = regexp.MustCompile(`(sendZkapp|bestChain|block|pooledZkappCommands|account|daemonStatus)\b *[({]`)
	aliasPattern = regexp.MustCompile(`(k\d+): \w+\(publicKey: "(\w+)"(?:, token: "\w+")?\)`)
	blockPattern = regexp.MustCompile(`(k\d+): block\(stateHash: \$(k\d+)\)`)
)

func (d *daemon) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var ask struct {
		Query     string
		Variables struct {
			Max    *int
			Hashes []string
			Input  struct{ ZkappCommand json.RawMessage }
		}
	}
	var named struct{ Variables map[string]json.RawMessage }
	if err := errors.Join(json.Unmarshal(body, &ask), json.Unmarshal(body, &named)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var fields []string
	for _, m := range fieldPattern.FindAllStringSubmatch(ask.Query, -1) {
		if field := m[1]; !slices.Contains(fields, field) {
			fields = append(fields, field)
			d.calls[field]++
			if d.during != nil {
				d.during(field)
			}
		}
	}
	switch {
	case d.status != 0:
		w.WriteHeader(d.status)
		return
	case d.raw != "":
		fmt.Fprint(w, d.raw)
		return
	}
	type dict = map[string]any
	data, answer := dict{}, dict{}
	answer["data"] = data
	// fail answers with an error; where a field may be null, the others are told all the same.
	fail := func(message string, nullable bool) {
		answer["errors"] = []dict{{"message": message}}
		if !nullable {
			answer["data"] = nil
		}
	}
	for _, field := range fields {
		switch field {
		case "daemonStatus":
			data["syncStatus"], data["networkID"], data["daemonStatus"] = d.sync, d.network, dict{
				"blockchainLength": nil, "highestBlockLengthReceived": 1, "stateHash": nil, "globalSlotSinceGenesisBestTip": nil,
				"consensusConfiguration": dict{"k": d.k, "slotDuration": d.slotTime.Milliseconds(), "slotsPerEpoch": 7140, "genesisStateTimestamp": d.genesis},
			}
			if d.sync == "SYNCED" {
				tip := d.blocks[len(d.blocks)-1]
				s := data["daemonStatus"].(dict)
				s["blockchainLength"], s["stateHash"], s["globalSlotSinceGenesisBestTip"] = tip.Height, tip.StateHash, tip.Slot
			}
		case "bestChain":
			if *ask.Variables.Max > math.MaxInt32 {
				fail("Argument `maxLength` of type `Int` expected", true)
				break
			}
			if d.sync != "SYNCED" {
				fail("Could not obtain best chain from transition frontier", true)
				break
			}
			list := []dict{}
			for _, b := range d.blocks[max(0, len(d.blocks)-min(*ask.Variables.Max, d.k+1)):] {
				list = append(list, d.header(b))
			}
			data["bestChain"] = list
		case "block":
			for _, m := range blockPattern.FindAllStringSubmatch(ask.Query, -1) {
				d.calls["blocks"]++
				hash := strings.Trim(string(named.Variables[m[2]]), `"`)
				b, found := d.orphans[hash]
				for _, on := range d.blocks {
					if on.StateHash == hash {
						b, found = on, int(d.blocks[len(d.blocks)-1].Height)-int(on.Height) <= d.k
					}
				}
				if !found {
					fail("Could not find block", false)
					break
				}
				zkapps, payments := []dict{}, []dict{}
				for _, c := range b.Commands {
					if !c.Payment {
						zkapps = append(zkapps, d.zkapp(c))
						continue
					}
					payments = append(payments, dict{"hash": c.Hash, "nonce": c.Nonce, "fee": strconv.FormatUint(c.Fee, 10), "feePayer": dict{"publicKey": c.Payer}, "failureReason": nil})
				}
				head := d.header(b)
				head["transactions"] = dict{"zkappCommands": zkapps, "userCommands": payments}
				data[m[1]] = head
			}
		case "pooledZkappCommands":
			list := []dict{}
			for _, c := range d.pool {
				if slices.Contains(ask.Variables.Hashes, c.Hash) {
					list = append(list, d.zkapp(c))
				}
			}
			data["pooledZkappCommands"] = list
			for _, m := range aliasPattern.FindAllStringSubmatch(ask.Query, -1) {
				list := []dict{}
				for _, c := range d.pool {
					if c.Payer == m[2] {
						list = append(list, d.zkapp(c))
					}
				}
				data[m[1]] = list
			}
		case "account":
			data["syncStatus"] = d.sync
			for _, m := range aliasPattern.FindAllStringSubmatch(ask.Query, -1) {
				nonce, found := d.accounts[m[2]]
				if data[m[1]] = nil; found && d.sync == "SYNCED" {
					n := strconv.Itoa(int(nonce))
					data[m[1]] = dict{"nonce": n, "inferredNonce": n, "balance": dict{"total": "5000000000", "liquid": d.liquid}}
				}
			}
		case "sendZkapp":
			d.bodies = append(d.bodies, string(body))
			switch d.refusal {
			case "":
				data["sendZkapp"] = dict{"zkapp": dict{"hash": hashOf(string(ask.Variables.Input.ZkappCommand))}}
			case "lost":
				w.WriteHeader(http.StatusTeapot)
				return
			default:
				fail(d.refusal, false)
			}
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (d *daemon) header(b Block) map[string]any {
	return map[string]any{"stateHash": b.StateHash, "protocolState": map[string]any{
		"previousStateHash": b.PreviousStateHash, "consensusState": map[string]any{
			"blockHeight": strconv.Itoa(int(b.Height)), "slotSinceGenesis": strconv.Itoa(int(b.Slot)),
			"epoch": strconv.Itoa(int(b.Epoch)), "slot": strconv.Itoa(int(b.EpochSlot)),
		},
	}}
}

func (d *daemon) zkapp(c Command) map[string]any {
	var reasons []map[string]any
	for _, f := range c.Failures {
		reasons = append(reasons, map[string]any{"index": strconv.Itoa(f.Index), "failures": f.Reasons})
	}
	var until any
	switch {
	case c.ValidUntil > 0:
		until = strconv.Itoa(int(c.ValidUntil))
	case c.Nonce%2 == 1:
		until = "4294967295" // the other way to say that nothing limits it
	}
	return map[string]any{"hash": c.Hash, "failureReason": reasons, "zkappCommand": map[string]any{
		"memo": c.Memo, "feePayer": map[string]any{"body": map[string]any{
			"publicKey": c.Payer, "fee": strconv.FormatUint(c.Fee, 10), "nonce": strconv.Itoa(int(c.Nonce)), "validUntil": until,
		}},
	}}
}
